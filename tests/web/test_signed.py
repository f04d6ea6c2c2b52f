"""What the page hands to a wallet: what the clients would sign, for each quote of the vectors."""

import json
from pathlib import Path
from typing import Any

import pytest

from quietswap.sandbox.contracts.pools import WETH
from tests.batches import wrong_batches
from tests.stored_orders import USDC
from tests.typescript.test_batched import BATCHES, hostile, quote_of
from tests.typescript.test_vectors import _answer
from tests.web.test_trade import ETH, FORM, LOSS, PARAMS, QUOTE, Fields, run, token

VECTORS = Path(__file__).parents[1] / "vectors" / "quotes.json"
OF_THE_QUOTE = ("the quote has ", "the quote is not safe", "the quote cannot be read")
"""Refusals of the quote by itself. Others need the caller's own node, or conditions of his."""
BESIDE = ("its gas may cost", "the quote has nonce")
"""The page shows the fee, and its wallet chooses the nonce."""
MOST_SLIPPAGE_BPS = 5000
"""The form takes no more."""
Case = dict[str, Any]


def cases() -> list[tuple[Case, Case]]:
    """Return each vector of a swap that the page decides, with its quote."""
    file = json.loads(VECTORS.read_text("utf-8"))
    chosen = []
    for case in file["cases"]:
        reason = (case["expected"] or {}).get("reason", "")
        is_decided = not reason or reason.startswith(OF_THE_QUOTE)
        is_sold = "sell_amount" in case["request"] and "at_least" not in case["request"]
        is_sold &= case["request"].get("slippage_bps", 0) <= MOST_SLIPPAGE_BPS
        is_read = (case["expected"] or {}).get("error") != "UnexpectedResponse"
        if case["flow"] == "swap" and is_decided and is_sold and is_read:
            chosen.append((case, _answer(file["bases"]["swap"], case)))
    return [each for each in chosen if not _is_beside(each[0])]


def _is_beside(case: Case) -> bool:
    return (case["expected"] or {}).get("reason", "").startswith(BESIDE)


def signing(case: Case, quote: Case) -> Fields:
    request = case["request"]
    sold = {"address": request["sell_token"], "decimals": 0, "symbol": "A", "name": "A"}
    bought = {"address": request["buy_token"], "decimals": 0, "symbol": "B", "name": "B"}
    trade = {
        "sell": sold | {"warnings": []}, "buy": bought | {"warnings": []},
        "amount": str(request["sell_amount"]), "quote": quote,
        "slippage": str(request.get("slippage_bps", 50) / 100),
    }  # fmt: skip
    settlers = [each.lower() for each in case["settlers"] if case["node"]]
    if settlers and not int(settlers[0], 16):
        settlers = []  # 0x pauses
    wallet = request["wallet"]
    given = {"trade": trade, "step": "swap", "wallet": wallet, "settlers": settlers}
    return {"call": "sign", "given": given}


def test_the_page_signs_what_the_clients_sign_and_nothing_else() -> None:
    chosen = cases()
    assert len(chosen) > 200
    differing = []
    for (case, quote), made in zip(chosen, run(*(signing(*each) for each in chosen)), strict=True):
        refused = made.get("refused", "")
        if case["expected"] is None:
            is_right = made.get("data") == quote["dexRoute"]["data"]
        else:
            is_right = refused.startswith("This quote may not be signed: ")
            is_right &= "Nothing was sent." in refused
        if not is_right:
            differing.append((case["name"], case["expected"], made))
    assert not differing, f"{len(differing)} of {len(chosen)}: {differing[:3]}"


KINDS = ["", "wrap", "unwrap"]


def batched(kind: str, **changes: Any) -> Fields:
    """Sign the batch of a trade; `changes` are those of the transaction that the service offers."""
    request, _ = BATCHES[kind]
    weth: Fields = {"address": WETH.address, "decimals": 18, "symbol": "WETH", "warnings": []}
    ether = weth | {"symbol": "ETH", "wrapped": weth}
    usdc: Fields = {"address": USDC, "decimals": 6, "symbol": "USDC", "warnings": []}
    sell = {"": weth, "wrap": ether, "unwrap": usdc}[kind]
    trade = {
        "sell": sell, "buy": ether if kind == "unwrap" else usdc, "slippage": "0.5",
        "amount": "1", "quote": quote_of(kind, **changes),
    }  # fmt: skip
    assert request.sell_amount == 10 ** int(sell["decimals"])
    given = {"trade": trade, "step": "batch", "wallet": request.wallet, "settlers": []}
    return {"call": "sign", "given": given}


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_asks_for_no_other_batch_than_the_forms(kind: str) -> None:
    good = BATCHES[kind][1]
    wrong = wrong_batches(good)
    each = [batched(kind, **one.fields | {"value": str(one.value)}) for one in wrong]
    *refused, right = run(*each, batched(kind))
    assert right["data"] == "0x" + good.data.hex()
    taken = [
        one.name
        for one, made in zip(wrong, refused, strict=True)
        if not made.get("refused", "").startswith("This quote may not be signed: ")
    ]
    assert not taken


@pytest.mark.parametrize(
    ("kind", "changes", "part"),
    [each for each in hostile() if each[2].startswith("another ")],
)
def test_a_refused_batch_names_its_part(kind: str, changes: Fields, part: str) -> None:
    [made] = run(batched(kind, **changes))
    assert part in made["refused"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_calls_are_those_of_the_form_whatever_the_service_calls_them(kind: str) -> None:
    good = BATCHES[kind][1]
    given = batched(kind)["given"]
    lie = {**given["trade"]["quote"], "batch": {"conversion": "unwrap" if kind == "" else None}}
    [calls] = run({"call": "calls", "given": {**given["trade"], "quote": lie}})
    assert [(each["to"], int(each["value"]), each["data"]) for each in calls] == [
        (to, value, "0x" + data.hex()) for to, value, data in good.around(good.calls)
    ]


def test_the_fees_of_all_steps_are_named_as_certain_as_they_are() -> None:
    sold: Fields = {**FORM, "sell": ETH, "quote": QUOTE}
    approval = {"allowance": {"actual": "0", "needed": "1", "spender": "0x"}}
    approving = {**QUOTE, "issues": approval, "loss": LOSS}
    swap = int(PARAMS["gasLimit"]) * int(PARAMS["maxFeePerGas"])
    estimated, quoted, usual, alone = run(
        {"call": "fees", "given": sold},
        {"call": "fees", "given": {**sold, "conversionGasWei": "7"}},
        {"call": "fees", "given": {**sold, "conversionGasWei": "7", "quote": approving}},
        {"call": "fees", "given": {**FORM, "sell": token("WETH"), "quote": QUOTE}},
    )
    assert estimated[1] == "about"
    assert quoted == [str(swap + 7), "at most"]
    assert usual[1] == "usually at most"
    assert alone == [str(swap), "at most"]


THIEF = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
PLAIN: Fields = {
    "chainId": 1, "type": 2, "gasLimit": "50000", "maxFeePerGas": "2000000000",
    "maxPriorityFeePerGas": "0", "nonce": 3, "value": "0", "data": "0x",
}  # fmt: skip
WRAP: Fields = {**PLAIN, "to": WETH.address, "value": "15", "data": "0xd0e30db0"}


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"to": THIEF}, "another contract than WETH"),
        ({"data": "0xdeadbeef"}, "another call"),
        ({"value": "900000000000000000000"}, "another value"),
        ({"maxPriorityFeePerGas": "1"}, "a priority fee"),
    ],
)
def test_a_wrap_that_is_another_transaction_is_not_signed(changes: Fields, fault: str) -> None:
    def converted(params: Fields) -> Fields:
        quote = {"operation": "wrap", "amountWei": "15"}
        quote |= {"mevProtection": {"transactionParams": params}}
        return {"call": "convert", "given": {"quote": quote, "operation": "wrap", "units": "15"}}

    wrong, right = run(converted({**WRAP, **changes}), converted(WRAP))
    assert wrong == {"refused": f"The transaction has {fault}. Nothing was sent."}
    assert (right["to"], right["value"], right.get("nonce")) == (WETH.address, "15", None)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"to": THIEF}, "another receiver than the wallet itself"),
        ({"data": "0xdeadbeef"}, "calldata"),
        ({"value": "1"}, "ETH to be sent along"),
        ({"gasLimit": "20999"}, "a gas limit outside 21000 to 100000"),
        ({"gasLimit": "100001"}, "a gas limit outside 21000 to 100000"),
        ({"nonce": 999}, "nonce 999, not 3 as the order"),
    ],
)
def test_a_cancel_that_is_another_transaction_has_its_fault(changes: Fields, fault: str) -> None:
    wallet = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
    wrong, right = run(
        *(
            {"call": "cancelFaults", "given": [{**PLAIN, "to": wallet, **each}, wallet, 3]}
            for each in (changes, {})
        )
    )
    assert fault in wrong
    assert right == []
