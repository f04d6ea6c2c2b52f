"""The table of a trade's states, its one button and its figures, without a browser."""

import atexit
import json
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from quietswap.sandbox.contracts.pools import TOKENS, WETH
from tests.web.test_assets import SOURCES, needs

Fields = Mapping[str, Any]


@cache
def _machine() -> subprocess.Popen[str]:
    """Start the process that has bundled the page's modules. It ends with this one."""
    script = Path(__file__).with_name("machine.mjs")
    process = subprocess.Popen(
        [needs("esbuild"), str(script), str(SOURCES)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    atexit.register(process.communicate)
    return process


def run(*program: Fields) -> list[Any]:
    """Run calls of the page's modules; `machine.mjs` names them."""
    machine = _machine()
    assert machine.stdin is not None
    assert machine.stdout is not None
    machine.stdin.write(json.dumps(program) + "\n")
    machine.stdin.flush()
    answers: list[Any] = json.loads(machine.stdout.readline())
    return answers


def call(name: str, *given: object) -> Fields:
    return {"call": name, "given": given}


def token(name: str, **more: object) -> dict[str, object]:
    known = TOKENS[name]
    names = {"address": known.address, "symbol": name, "name": name}
    return names | {"decimals": known.decimals, "warnings": []} | more


ETH = token("WETH", symbol="ETH", wrapped=token("WETH"))
FORM: Fields = {"sell": token("WETH"), "buy": token("USDC"), "amount": "1.5"}
LOSS = {"level": "none", "bps": 0, "causes": []}
ISSUES = {"allowance": None, "balance": None, "gas": None}
PARAMS = {"gasLimit": "300000", "maxFeePerGas": "2000000000"}
QUOTE: Fields = {
    "loss": LOSS, "issues": ISSUES, "minBuyAmount": "1",
    "mevProtection": {"transactionParams": PARAMS},
}  # fmt: skip
ALLOWANCE: Fields = {"actual": "0", "needed": "1", "spender": "0x"}
WORLD: Fields = {
    "isConnected": True, "privacy": "private", "service": {"node": True, "relay": True},
    "balance": None, "ether": None, "canBatch": False, "isAskedToBatch": False, "isHeld": False,
    "isWrapping": False, "sources": 6, "wallet": "Rabby",
}  # fmt: skip
RICH: Fields = {"balance": "1500940000000000000", "ether": "1500940000000000000"}
QUOTED: Fields = {**FORM, "phase": "quoted", "quote": QUOTE, "seen": QUOTE}


def quote(**more: object) -> Fields:
    return {**QUOTE, **more}


def words(world: Fields, trade: Fields) -> Fields:
    given = {"trade": trade, "world": {**WORLD, **world}}
    # JSON has no undefined: a balance that was not read is left out
    given["world"] = {name: one for name, one in given["world"].items() if one is not None}
    return {"call": "primary", "given": given}


EVENTS = [
    "edit", "price", "ask", "route", "quote", "refuse", "expire", "look", "consent", "conversion",
    "hold", "fault", "separate", "review", "close", "sign", "asks", "signed", "fail", "stray",
    "step", "apart", "last", "swapWrapped", "mined", "ended", "refuted", "follow", "leave",
]  # fmt: skip


def test_every_cell_of_the_table_is_decided() -> None:
    """Whatever comes in whatever phase: the table names the next phase, or nothing changes."""
    [table] = run({"call": "table"})
    events: dict[str, Fields] = {
        "edit": {"form": {"amount": "2"}}, "price": {"turn": 0, "price": {}},
        "route": {"turn": 0, "route": {}}, "refuse": {"turn": 0, "fault": "no"},
        "quote": {"turn": 0, "quote": QUOTE, "until": 9, "isWorse": False},
        "consent": {"consent": "yes"}, "conversion": {"turn": 0, "gasWei": 1},
        "hold": {"turn": 0, "wrap": {}},
        "fault": {"turn": 0, "fault": "no"}, "asks": {"after": ""},
        "sign": {"asked": {"step": "swap", "label": "swap"}},
        "fail": {"fault": "no", "isRefutable": True}, "stray": {"fault": "no"},
        "step": {"orderId": "a", "done": "Approve", "left": ["Swap"]}, "apart": {"fault": ""},
        "last": {"orderId": "a", "fault": ""}, "ended": {"fault": "no"},
        "refuted": {"fault": "no"}, "follow": {"orderId": "a"},
        "swapWrapped": {"sell": token("WETH")},
    }  # fmt: skip
    cells = [(phase, name) for phase in table for name in EVENTS]
    played = run(
        *(
            {
                "call": "play",
                "given": {
                    "trade": {**FORM, "phase": phase, "from": "review", "quote": QUOTE},
                    "events": [{"type": name, **events.get(name, {})}],
                },
            }
            for phase, name in cells
        )
    )
    assert set(EVENTS) >= {name for row in table.values() for name in row}
    for (phase, name), trade in zip(cells, played, strict=True):
        target = table[phase].get(name, phase)
        assert trade["phase"] == ("review" if target == "back" else target), (phase, name)
        if name not in table[phase]:
            assert (trade["turn"], trade["amount"], trade["fault"]) == (0, "1.5", ""), (phase, name)


@pytest.mark.parametrize("phase", ["open", "quoting", "quoted", "review", "waiting"])
def test_an_edit_withdraws_everything_that_was_found(phase: str) -> None:
    before = {**QUOTED, "phase": phase, "turn": 4, "consent": "yes", "routes": [{}], "price": {}}
    edit = {"type": "edit", "form": {"amount": "2"}}
    late = [
        {"type": "quote", "turn": 4, "quote": QUOTE, "until": 1, "isWorse": False},
        {"type": "route", "turn": 4, "route": {}},
        {"type": "price", "turn": 4, "price": {}},
        {"type": "refuse", "turn": 4, "fault": "late"},
    ]
    given = {"trade": before, "events": [edit, {"type": "ask"}, *late]}
    [trade] = run({"call": "play", "given": given})
    assert trade["phase"] == "quoting"
    assert [trade[name] for name in ("quote", "price", "routes", "consent", "fault")] == [
        None, None, [], "", "",
    ]  # fmt: skip


def sign(**more: object) -> list[Fields]:
    asked = {"type": "sign", "asked": {"step": "swap", "label": "swap 1 WETH"}}
    return [asked, {"type": "asks", "after": "2026"}]


def test_steps_that_were_chosen_stay_steps() -> None:
    mined = {"type": "step", "orderId": "a", "done": "Wrap", "left": []}
    wrapped = {"type": "swapWrapped", "sell": token("WETH")}
    asked = {"type": "sign", "asked": {"step": "wrap", "label": "wrap"}}
    trade = {**QUOTED, "sell": ETH, "isSeparate": True}
    [after] = run({"call": "play", "given": {"trade": trade, "events": [asked, mined, wrapped]}})
    assert (after["sell"]["symbol"], after["isSeparate"]) == ("WETH", True)


DECLINED: Fields = {"type": "fail", "fault": "declined", "isRefutable": True}


def test_what_the_wallet_answers_is_told_after_an_edit_too() -> None:
    """The answer belongs to the trade, and not to what is drawn when it comes."""
    edit = {"type": "edit", "form": {"amount": "2"}}
    first, edited, again = run(
        *(
            {"call": "play", "given": {"trade": {**QUOTED, "phase": "review"}, "events": events}}
            for events in (
                [*sign(), DECLINED],
                [*sign(), edit, DECLINED],
                [*sign(), edit, *sign(), DECLINED],
            )
        )
    )
    assert (first["phase"], first["fault"], first["quote"]) == ("review", "declined", QUOTE)
    for trade in (edited, again):
        assert (trade["phase"], trade["fault"], trade["quote"]) == ("open", "declined", None)
    assert first["isRefutable"], "an order that appears later refutes it"
    assert first["after"] == "2026"


def test_a_refusal_that_is_refuted_offers_nothing_again() -> None:
    events = [*sign(), DECLINED, {"type": "refuted", "fault": "it was sent"}]
    [trade] = run(
        {"call": "play", "given": {"trade": {**QUOTED, "phase": "review"}, "events": events}}
    )
    assert (trade["phase"], trade["quote"], trade["fault"]) == ("open", None, "it was sent")
    assert trade["faultOf"] == "stray", "a person asks for the next quote"


def test_a_worse_quote_clears_the_consent_and_needs_a_look() -> None:
    worse = quote(loss={"level": "confirm", "bps": 500, "causes": []})
    came = {"type": "quote", "turn": 0, "quote": worse, "until": 9, "isWorse": True}
    trade, looked = run(
        *(
            {"call": "play", "given": {"trade": {**QUOTED, "consent": "yes"}, "events": events}}
            for events in ([came], [came, {"type": "look"}])
        )
    )
    assert (trade["isWorse"], trade["consent"], trade["seen"]) == (True, "", QUOTE)
    assert (looked["isWorse"], looked["seen"]) == (False, worse)


def test_a_step_that_waits_keeps_the_names_of_those_after_it() -> None:
    signed = [*sign(), {"type": "step", "orderId": "a", "done": "Approve", "left": ["Swap"]}]
    ends = [
        [],
        [{"type": "mined"}],
        [{"type": "ended", "fault": "no"}],
        [{"type": "edit", "form": {}}],
    ]
    trades = run(
        *({"call": "play", "given": {"trade": QUOTED, "events": [*signed, *end]}} for end in ends)
    )
    assert [(trade["done"], trade["left"]) for trade in trades] == [
        (["Approve"], ["Swap"]), (["Approve"], ["Swap"]), ([], []), ([], []),
    ]  # fmt: skip


TYPED = {"level": "type", "bps": 2707, "causes": [{"cause": "price_impact", "bps": 2707}]}
CONFIRMED = {"level": "confirm", "bps": 500, "causes": [{"cause": "slippage", "bps": 500}]}
USDT: Fields = {**QUOTED, "sell": token("USDT"), "amount": "80"}
FEES_OF_ALL = "Not enough ETH for the fees of all steps"
UNAPPROVED = quote(issues={**ISSUES, "allowance": ALLOWANCE})
OLD: Fields = {**ALLOWANCE, "actual": "50000000"}
BUTTONS: Sequence[tuple[Fields, Fields, str, str | None]] = [
    ({"isConnected": False}, FORM, "Connect wallet", "connect"),
    ({"service": None, "privacy": "service away"}, FORM, "Waiting for the service…", None),
    ({"privacy": "other chain"}, FORM, "Switch to Ethereum", "switch"),
    ({"privacy": "checking"}, FORM, "Asking your wallet which RPC URL it uses…", None),
    ({"privacy": "elsewhere"}, QUOTED, "Set up private sending", "set up"),
    ({"privacy": "other session"}, QUOTED, "Set up private sending", "set up"),
    ({"privacy": "no answer"}, QUOTED, "Set up private sending", "set up"),
    ({"service": {"node": True, "relay": False}}, QUOTED, "Waiting for the private relay…", None),
    ({"service": {"node": False, "relay": True}}, QUOTED, "Waiting for the Ethereum node…", None),
    ({"isHeld": True}, QUOTED, "Waiting for what your wallet was asked", None),
    ({}, {**FORM, "buy": None}, "Choose a token", "buy token"),
    ({}, {**FORM, "sell": None}, "Choose a token", "sell token"),
    ({}, {**FORM, "buy": token("WETH")}, "Choose another token", "buy token"),
    ({}, {**FORM, "amount": ""}, "Enter an amount", None),
    ({}, {**FORM, "amount": "1,234"}, "Enter an amount", None),
    ({}, {**QUOTED, "quote": quote(issues={**ISSUES, "balance": {}})}, "Not enough WETH", None),
    ({}, {**QUOTED, "quote": quote(issues={**ISSUES, "gas": {}})},
     "Not enough ETH for the fee", None),
    ({}, {**FORM, "phase": "quoting"}, "Checking sources: 0 of 6", None),
    ({"sources": 0}, {**FORM, "phase": "quoting"}, "Checking sources: 0 simulated", None),
    ({}, {**QUOTED, "isRenewing": True}, "Checking sources: 0 of 6", None),
    ({}, {**FORM, "fault": "no", "faultOf": "quote"}, "Try again", "ask"),
    ({}, {**FORM, "fault": "lost", "faultOf": "stray"}, "Get a new quote", "ask"),
    ({}, {**QUOTED, "isWorse": True}, "Look at the new quote", "look"),
    ({}, {**QUOTED, "quote": quote(loss=CONFIRMED)}, "Confirm the loss to go on", None),
    ({}, {**QUOTED, "quote": quote(loss=TYPED)}, "Type the loss to go on", None),
    ({}, {**QUOTED, "quote": quote(loss=TYPED), "consent": "27"}, "Type the loss to go on", None),
    ({}, {**QUOTED, "quote": quote(loss=TYPED), "consent": "28"}, "Review swap", "review"),
    ({}, {**QUOTED, "quote": UNAPPROVED},
     "Approve exactly 1.5 WETH", "sign"),
    ({}, {**USDT, "quote": quote(issues={**ISSUES, "allowance": OLD})},
     "Step 1 of 3: reset the old 50 USDT", "sign"),
    ({}, {**USDT, "quote": UNAPPROVED, "done": ["Reset"]},
     "Step 2 of 3: approve exactly 80 USDT", "sign"),
    (RICH, {**QUOTED, "sell": ETH, "quote": UNAPPROVED},
     "Step 1 of 3: wrap 1.5 ETH", "sign"),
    (RICH | {"ether": "1500939999999999999"},
     {**QUOTED, "sell": ETH, "quote": UNAPPROVED},
     FEES_OF_ALL, None),
    ({"ether": "759999999999999"}, {**QUOTED, "quote": UNAPPROVED},
     FEES_OF_ALL, None),
    ({"ether": "760000000000000"}, {**QUOTED, "quote": UNAPPROVED},
     "Approve exactly 1.5 WETH", "sign"),
    ({"ether": "599999999999999"}, QUOTED, "Not enough ETH for the fee", None),
    ({}, {**QUOTED, "sell": ETH}, "Reading your balance…", None),
    ({"isWrapping": True}, {**QUOTED, "sell": ETH}, "Your ETH is being wrapped…", None),
    ({}, QUOTED, "Review swap", "review"),
    ({"canBatch": True}, QUOTED, "Review swap in one signature", "review"),
    ({"canBatch": True}, {**QUOTED, "isSeparate": True}, "Review swap", "review"),
    ({"canBatch": True}, {**QUOTED, "sell": token("USDC"), "buy": ETH},
     "Review swap in one signature", "review"),
    (RICH | {"canBatch": True}, {**QUOTED, "sell": ETH, "quote": UNAPPROVED},
     "Review swap in one signature", "review"),
    (RICH | {"canBatch": True, "ether": "1500599999999999999"}, {**QUOTED, "sell": ETH},
     "Not enough ETH for the fee", None),
    (RICH | {"canBatch": True}, {**QUOTED, "sell": ETH, "quote": UNAPPROVED, "isSeparate": True},
     "Step 1 of 3: wrap 1.5 ETH", "sign"),
    (RICH | {"isAskedToBatch": True}, {**QUOTED, "sell": ETH}, "Asking your wallet…", None),
    ({"isAskedToBatch": True}, QUOTED, "Asking your wallet…", None),
    (RICH, {**FORM, "sell": ETH, "buy": token("WETH")}, "Wrap 1.5 ETH", "sign"),
    (RICH, {**FORM, "buy": ETH}, "Unwrap 1.5 WETH", "sign"),
    ({}, {**QUOTED, "phase": "signing"}, "Waiting for your signature…", None),
    ({"privacy": "elsewhere"}, {**QUOTED, "phase": "signing"}, "Waiting for your signature…", None),
]  # fmt: skip


def test_the_one_button_says_the_next_thing_to_do() -> None:
    answers = run(*(words(world, trade) for world, trade, _, _ in BUTTONS))
    for (_, _, expected, act), answer in zip(BUTTONS, answers, strict=True):
        assert (answer["words"], answer.get("act")) == (expected, act)


@pytest.mark.parametrize(
    ("form", "title", "separate", "conversion"),
    [
        ({}, "Approve and swap", ["approve", "swap"], None),
        ({"sell": ETH}, "Wrap, approve and swap", ["wrap", "approve", "swap"], "wrap"),
        ({"sell": token("USDC"), "buy": ETH}, "Approve, swap and unwrap",
         ["approve", "swap", "unwrap"], "unwrap"),
    ],
)  # fmt: skip
def test_a_wallet_that_batches_signs_once_and_any_other_each_step(
    form: Fields, title: str, separate: list[str], conversion: str | None
) -> None:
    trade = {**QUOTED, "quote": UNAPPROVED, **form}
    one, each, asked, state = run(
        {"call": "steps", "given": {"trade": trade, "canBatch": True}},
        {"call": "steps", "given": {"trade": trade, "canBatch": False}},
        call("questionOf", {**trade, "slippage": "0.5"}),
        {"call": "state", "given": {"trade": trade, "world": {**WORLD, "canBatch": True}}},
    )
    assert [(step["name"], step["title"]) for step in one] == [("batch", title)]
    assert [step["name"] for step in each] == separate
    assert asked.get("conversion") == conversion
    assert state == "ready"


def test_figures_are_cut_and_never_rounded_up() -> None:
    figures = {
        ("4489013236", 6): "4,489.01", ("33333333333333333333", 18): "33.3333",
        ("79960112", 6): "79.9601", ("382914000000000", 18): "0.000382",
        ("500000", 6): "0.5", ("1961146200000", 6): "1,961,146", ("0", 6): "0",
        ("1", 18): "< 0.000001", ("999999999", 9): "0.999999",
    }  # fmt: skip
    assert run(*(call("figure", *given) for given in figures)) == [*figures.values()]
    assert run(call("short", "79960112", 6), call("signed", -25), call("usd", 0.004)) == [
        "79.96", "−0.25 %", "< $0.01",
    ]  # fmt: skip
    assert run(call("rate", "1000000000000000000", 18, "2992680000", 6)) == ["2,992.68"]


def test_a_decimal_comma_is_read_in_one_way_only() -> None:
    texts = ("1,5", "0,123", "1,234", "1,000,000", "1.234", ",5", "1,", "12,3456")
    found = run(*(call("parse", text, 18) for text in texts))
    assert [one if one.isdigit() else one.partition(":")[0] for one in found] == [
        "1500000000000000000", "123000000000000000", "1,234 has two readings",
        "An amount has digits and one point or comma, as in 1.5.", "1234000000000000000",
        "500000000000000000", "1000000000000000000", "12345600000000000000",
    ]  # fmt: skip


def order(**more: object) -> Fields:
    return {"status": "cancelled", "executableUntil": None, "kind": "swap", **more}


def test_the_ends_of_a_swap_differ_in_title_and_button() -> None:
    def error(code: str, *, open_: bool = False, **more: object) -> Fields:
        return order(error={"code": code, "message": "why", "mayBeMined": open_, **more})

    ends = [
        (order(status="confirmed"), "You received", "New swap"),
        (error("REVERTED", blockNumber=5) | {"status": "failed"}, "Swap failed", "Get a new quote"),
        (error("USER_CANCELLED"), "Cancelled", "New swap"),
        (error("EXPIRED"), "Expired, nothing was swapped", "Get a new quote"),
        (error("EXPIRED", open_=True), "Expired, but not over", "Cancel swap"),
        (error("REFUSED", open_=True), "Failed, but not over", "Cancel swap"),
        (error("NOT_SENT"), "Not sent", "Get a new quote"),
        (error("NONCE_CONSUMED"), "Cancelled", "Get a new quote"),
    ]
    answers = run(*(call("endOf", given, []) for given, _, _ in ends))
    assert [(one["title"], one["button"]) for one in answers] == [one[1:] for one in ends]
    assert run(call("endOf", order(status="mining"), [])) == [None]


WETH_SOLD: Fields = {
    "fromToken": WETH.address, "toToken": "0x", "amount": "5", "minReturnAmount": "1",
}  # fmt: skip


def stored(name: str, minute: int, kind: str, status: str = "confirmed", **of: str) -> Fields:
    params = {**WETH_SOLD, **of}
    at = f"2026-01-01T10:{minute:02}:00Z"
    return order(orderId=name, kind=kind, status=status, createdAt=at, orderParams=params)


def test_a_wrap_stands_with_the_swap_of_what_it_wrapped() -> None:
    wrap = {"fromToken": "0x", "toToken": WETH.address}
    swap = stored("swap", 9, "swap")
    cases: Sequence[tuple[list[Fields], list[list[str | None]]]] = [
        ([stored("wrap", 5, "wrap", **wrap), swap], [["swap", "wrap"]]),
        ([stored("wrap", 5, "wrap", **wrap, amount="6"), swap], [["swap", None], ["wrap", None]]),
        ([swap, stored("wrap", 10, "wrap", **wrap)], [["wrap", None], ["swap", None]]),
        ([stored("wrap", 5, "wrap", "failed", **wrap), swap], [["swap", None], ["wrap", None]]),
        ([stored("unwrap", 5, "wrap"), swap], [["swap", None], ["unwrap", None]]),
        ([stored("wrap", 5, "wrap", **wrap), swap, stored("again", 20, "swap", nonce="2")],
         [["again", None], ["swap", "wrap"]]),
    ]  # fmt: skip
    answers = run(*({"call": "rows", "given": orders} for orders, _ in cases))
    assert answers == [rows for _, rows in cases]


def test_an_unwrap_is_called_so() -> None:
    """Both are of kind wrap."""
    sold = ("0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE", WETH.address)
    orders = [{"kind": "wrap", "orderParams": {"fromToken": each}} for each in sold]
    assert run(*(call("kindWord", one) for one in orders)) == ["Wrap", "Unwrap"]


def test_the_weth_of_the_table_is_the_real_one() -> None:
    assert TOKENS["WETH"].address == WETH.address
