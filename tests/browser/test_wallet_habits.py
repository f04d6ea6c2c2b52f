"""Injected wallets that decline, lie or change in the middle: the page says what happened."""

import json

import pytest

from tests.browser.browser import Browser
from tests.browser.locators import css, role
from tests.browser.steps import (
    ELSEWHERE,
    FAULT,
    OF_ANOTHER,
    PRIVATE,
    STATUS,
    SWAP,
    allowed,
    confirmed,
    connected,
    opened,
    private,
    quoted,
    under_way,
)
from tests.browser.wallets import (
    EarlierWallet,
    HonestWallet,
    LyingWallet,
    RejectingWallet,
    SilentWallet,
    WalletOfTwoAccounts,
    WalletThatOnlySaysAdded,
)
from tests.e2e.conftest import Town
from tests.spec.api_client import ApiClient

pytestmark = pytest.mark.xdist_group("browser")


def test_a_wallet_that_says_added_and_changes_nothing(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = WalletThatOnlySaysAdded(town, allowed(desk))
    page = connected(browser, town, wallet)
    page.click("button", "Set up private connection")
    page.see("Some wallets say that they added it and change nothing.")
    page.see(ELSEWHERE)
    quoted(page)
    assert not page.is_enabled("button", SWAP)
    page.see("Your wallet does not use the private connection yet: see above.")
    # the person sets the URL by hand, as the page says
    url = page.text(["css", "code.url"])
    assert "/rpc/qr_" in url
    wallet.url = url
    page.see(PRIVATE)
    page.wait(role("button", SWAP))
    assert "eth_sendTransaction" not in wallet.asked
    page.close()


def test_a_person_who_declines(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = RejectingWallet(
        town,
        allowed(desk),
        "eth_requestAccounts",
        "wallet_addEthereumChain",
        "eth_sendTransaction",
    )
    page = opened(browser, town, wallet)
    page.click("button", "Connect wallet")
    page.see("You declined the connection in your wallet.", STATUS)
    wallet.declines.remove("eth_requestAccounts")
    page.click("button", "Connect wallet")
    page.click("button", "Set up private connection")
    page.see("You declined the RPC URL in your wallet. Nothing changed.", STATUS)
    wallet.declines.remove("wallet_addEthereumChain")
    page.click("button", "Set up private connection")
    page.see(PRIVATE)
    quoted(page)
    page.click("button", SWAP)
    page.see("You declined it in your wallet. Nothing was sent.", FAULT)
    assert wallet.sent == []
    wallet.declines.clear()
    page.click("button", SWAP)
    page.wait(css(".order[data-kind=swap]"))
    page.close()


def test_a_wallet_on_another_chain(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(town, allowed(desk))
    wallet.chain = "0x89"
    page = connected(browser, town, wallet)
    page.see("Your wallet is on another chain.")
    quoted(page)
    assert not page.is_enabled("button", SWAP)
    page.click("button", "Switch to Ethereum")
    page.see(ELSEWHERE)
    page.click("button", "Set up private connection")
    page.see(PRIVATE)
    # it leaves again and says nothing: the page asks before it lets the wallet sign
    wallet.chain = "0x89"
    page.emit("w", "chainChanged", "0x89")
    page.see("Your wallet is on another chain.")
    assert not page.is_enabled("button", SWAP)
    assert wallet.sent == []
    page.close()


def test_a_wallet_that_changes_account_in_the_middle(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = WalletOfTwoAccounts(town, allowed(desk), allowed(desk))
    page = private(browser, town, wallet)
    quoted(page)
    accounts = wallet.change()  # without an event
    page.click("button", SWAP)
    page.see("Your wallet changed to another account. Nothing was sent.", FAULT)
    page.emit("w", "accountsChanged", accounts)
    page.see("The wallet changed to account", STATUS)
    page.see(OF_ANOTHER)
    assert page.count(role("button", SWAP)) == 0
    page.emit("w", "accountsChanged", [])
    page.see("The wallet disconnected.", STATUS)
    page.wait(role("button", "Connect wallet"))
    assert wallet.sent == []
    page.close()


def test_a_wallet_that_changes_account_and_back(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    """The page goes on with the account that the wallet has, whichever answer comes last."""
    wallet = WalletOfTwoAccounts(town, allowed(desk), allowed(desk))
    page = private(browser, town, wallet)
    both = [account.address.lower() for account in (wallet.second, wallet.account)]
    for accounts in ([[both[0]], [both[1]]], [None, ["0x12"], [both[1]]]):
        events = "".join(f"__emit('w', 'accountsChanged', {json.dumps(one)});" for one in accounts)
        page.call("evaluate", expression=events)
        if None in accounts:
            page.see("The wallet disconnected.", STATUS)
            page.click("button", "Connect wallet")
            page.see(PRIVATE)
        quoted(page)
        page.click("button", SWAP)
        confirmed(page, "swap")
        assert page.attribute(css(".account code"), "title") == wallet.account.address
    page.close()


def test_a_wallet_that_answers_after_another_was_chosen(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    late, chosen = SilentWallet(town, allowed(desk)), HonestWallet(town, allowed(desk))
    late.silent = {"eth_requestAccounts"}
    page = browser.page({"a": late, "b": chosen})
    page.goto(town.facts["baseUrl"] + "/")
    for name in ("A Wallet", "B Wallet"):
        page.click("button", "Connect wallet")
        page.click("button", name)
    page.see("B Wallet", css(".account"))
    late.over.set()
    page.click("button", "Set up private connection")
    page.see(PRIVATE)
    assert page.text(STATUS) == ""
    assert page.attribute(css(".account code"), "title") == chosen.account.address
    page.close()


def test_a_wallet_that_stops_answering(browser: Browser, town: Town, desk: ApiClient) -> None:
    """Nothing is signed meanwhile; and it need not answer what it never answered."""
    wallet = SilentWallet(town, allowed(desk))
    page = private(browser, town, wallet)
    quoted(page)
    wallet.silent = {"eth_accounts"}
    page.click("button", SWAP)
    page.see("Your wallet does not answer. Nothing was sent.", FAULT)
    wallet.silent = {"eth_chainId", "eth_accounts", "eth_call"}
    page.see("Your wallet's RPC URL does not answer.")
    assert not page.count(role("button", SWAP)) or not page.is_enabled("button", SWAP)
    wallet.silent = set()
    page.see(PRIVATE)
    assert wallet.sent == []
    page.click("button", SWAP)
    confirmed(page, "swap")
    wallet.over.set()
    page.close()


def test_a_wallet_that_names_an_earlier_transaction(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = EarlierWallet(town, allowed(desk))
    page = private(browser, town, wallet)
    page.mangle(
        "2026-01-01T00:00:00.000Z", keep="^(?!(createdAt|submittedAt)$)[^=]", only="/mev/orders/"
    )
    kept = "localStorage['quietswap.sent.{}']"
    with desk.no_blocks():
        quoted(page)
        page.click("button", SWAP)
        page.see("which is not the one that it was asked for. Your wallet may have", FAULT)
        page.wait(css(".quote"), "detached")
        under_way(page)
        before = page.call("evaluate", expression=kept.format(wallet.sent[0]))
        quoted(page, "2")
        page.click("button", SWAP)
        page.see("which is not the one that it was asked for. Your wallet may have", FAULT)
        assert page.call("evaluate", expression=kept.format(wallet.sent[0])) == before
    page.close()


def test_a_wallet_that_sends_elsewhere(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = LyingWallet(town, allowed(desk))
    page = private(browser, town, wallet)
    quoted(page)
    page.click("button", SWAP)
    page.see("this service did not get it. Your wallet may have sent it elsewhere", FAULT)
    page.wait(css(".quote"), "detached")  # a fresh quote would take the warning away
    assert "None yet." in page.text()
    page.close()


def test_a_wallet_whose_private_url_goes_away(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HonestWallet(town, allowed(desk))
    page = private(browser, town, wallet)
    quoted(page)
    wallet.url = wallet.public_url  # one click in the wallet does it
    page.see(ELSEWHERE)
    assert not page.is_enabled("button", SWAP)
    assert wallet.sent == []
    page.close()


def test_without_a_wallet_the_page_says_what_to_do(browser: Browser, town: Town) -> None:
    page = opened(browser, town, None)
    page.click("button", "Connect wallet")
    page.see("No wallet was found in this browser.")
    page.close()


def test_a_wallet_whose_url_does_not_answer(browser: Browser, town: Town, desk: ApiClient) -> None:
    """It is not said to be public: nobody knows where it would go."""
    wallet = HonestWallet(town, allowed(desk))
    page = private(browser, town, wallet)
    quoted(page)
    wallet.url = "http://127.0.0.1:9/"
    page.see("Your wallet's RPC URL does not answer.")
    assert ELSEWHERE not in page.text()
    assert not page.is_enabled("button", SWAP)
    page.click("button", "Set up private connection")
    page.see(PRIVATE)
    assert wallet.url.startswith(town.facts["baseUrl"])
    page.close()


def test_a_disconnected_wallet_is_not_asked_again(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HonestWallet(town, allowed(desk))
    page = connected(browser, town, wallet)
    page.click("button", "Disconnect")
    page.see("Disconnected.", STATUS)
    page.wait(role("button", "Connect wallet"))
    desk.until(lambda: "wallet_revokePermissions" in wallet.asked)
    wallet.asked.clear()
    page.reload()
    page.fill("You sell", "1")
    page.see("Indicative")
    assert wallet.asked == []
    page.click("button", "Connect wallet")
    page.see("Private connection")
    page.close()


def test_a_wallet_that_forgot_the_page_is_connected_by_a_click(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HonestWallet(town, allowed(desk))
    page = connected(browser, town, wallet)
    wallet.accounts = list  # type: ignore[method-assign]
    wallet.asked.clear()
    page.reload()
    page.wait(role("button", "Connect wallet"))
    desk.until(lambda: "eth_accounts" in wallet.asked)
    assert "eth_requestAccounts" not in wallet.asked
    assert page.text(STATUS) == ""
    page.close()
