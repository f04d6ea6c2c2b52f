"""What a quote says of the wallet that is to sign it, over HTTP, on a real chain."""

from eth_account import Account

from quietswap.sandbox.contracts.pools import WETH
from tests.spec.api_client import SOLD, ApiClient


def test_a_wallet_that_is_ready_has_no_issues(desk: ApiClient) -> None:
    account = desk.wallet()
    desk.approve(account, desk.quote(account))
    for _ in range(4):  # another source may win, whose router is not approved yet
        quote = desk.quote(account)
        if quote["issues"]["allowance"] is None:
            break
        desk.approve(account, quote)
    assert quote["issues"] == {"allowance": None, "balance": None, "gas": None}


def test_a_missing_allowance_names_the_router_of_the_quote(desk: ApiClient) -> None:
    account = desk.wallet()
    quote = desk.quote(account)
    target = quote["dexRoute"]["target"]
    assert quote["issues"] == {
        "allowance": {"spender": target, "actual": "0", "needed": str(SOLD)},
        "balance": None,
        "gas": None,
    }
    desk.approve(account, quote, SOLD - 1)
    short = desk.quote(account)
    if short["dexRoute"]["target"] == target:
        assert short["issues"]["allowance"]["actual"] == str(SOLD - 1)


def test_an_empty_wallet_is_quoted_and_told_what_it_lacks(desk: ApiClient) -> None:
    quote = desk.quote(Account.create())
    params = quote["mevProtection"]["transactionParams"]
    locked = int(params["gasLimit"]) * int(params["maxFeePerGas"])
    assert quote["issues"]["balance"] == {
        "token": WETH.address,
        "actual": "0",
        "needed": str(SOLD),
    }
    assert quote["issues"]["gas"] == {"actual": "0", "needed": str(locked)}


def test_a_quote_with_issues_is_refused_for_just_these(desk: ApiClient) -> None:
    account = desk.wallet(tokens=0)
    signed = desk.swap(account)
    assert signed.quote["issues"]["balance"]["actual"] == "0"
    assert desk.submit(signed).json()["error"] == "INSUFFICIENT_BALANCE"
