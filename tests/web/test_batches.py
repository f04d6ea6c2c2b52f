"""What the page makes of a wallet that batches calls (EIP-5792): capabilities, errors, words."""

import pytest

from tests.web.test_trade import Fields, call, run

MAINNET = "0x1"
SENT: Fields = {"txHash": "0xAB", "status": "submitted"}
MINED: Fields = {**SENT, "status": "confirmed"}
REJECTED = 4001
CANNOT = (4100, 4200, -32601, -32602, 5700, 5710, 5740, 5750, 5760)
"""Codes of a wallet that has no such method, parameter or capability."""
UNKNOWN_ID = 5730


def supports(status: str | None, chain: str = MAINNET) -> Fields:
    return {chain: {"atomic": {"status": status}}}


def test_an_account_that_would_change_its_code_first_batches_nothing() -> None:
    given = [
        (supports("supported"), True), (supports("supported", "0x0"), True),
        (supports("ready"), False), (supports("unsupported"), False), (supports(None), False),
        (supports("supported", "0x89"), False), ({MAINNET: {}}, False), ({}, False), (None, False),
        (supports("ready") | supports("supported", "0x0"), False),
    ]  # fmt: skip
    answers = run(*(call("isAtomic", found, MAINNET) for found, _ in given))
    assert answers == [expected for _, expected in given]


@pytest.mark.parametrize("has", [None, []])
def test_an_error_without_an_order(has: list[Fields] | None) -> None:
    """Only what a wallet answers that has shown nothing, or whose person declined it, is an end."""
    given = dict.fromkeys(CANNOT, "cannot") | {REJECTED: "declined"}
    given |= dict.fromkeys((-32603, -32002, 4900, 4901, 5720, 5730, None), "unknown")
    errors = [{"code": code, "isRejection": code == REJECTED} for code in given]
    assert run(*(call("answerOf", has, error) for error in errors)) == [*given.values()]


def test_an_order_refutes_every_error() -> None:
    codes = (-32603, REJECTED, *CANNOT, None)
    errors = [{"code": code, "isRejection": code == REJECTED} for code in codes]
    assert {*run(*(call("answerOf", [SENT], error) for error in errors))} == {"sent"}


Case = tuple[list[Fields] | None, int, list[str], bool, str]

FATES: list[Case] = [
    # what the service has, the wallet's code and hashes, whether it is refused by now, the end
    (None, 200, ["0xab"], True, "open"),
    ([], 0, [], False, "open"), ([], 0, [], True, "open"), ([], 100, [], True, "open"),
    ([SENT], 0, [], False, "has"), ([SENT], 100, [], True, "has"), ([MINED], 100, [], False, "has"),
    ([MINED], 100, [], True, "over"), ([MINED], 0, [], True, "over"),
    ([], UNKNOWN_ID, [], False, "open"), ([], UNKNOWN_ID, [], True, "not sent"),
    ([SENT], UNKNOWN_ID, [], False, "over"),
    ([], 400, [], False, "not sent"), ([], 500, [], False, "not sent"),
    ([], 599, [], True, "not sent"),
    ([MINED], 200, ["0xab"], False, "over"), ([SENT], 400, [], False, "over"),
    ([], 200, [], True, "it was done, and no order here is it"),
    ([], 600, [], False, "it was done, and no order here is it"),
    ([], 200, ["0xcd"], False, "transaction 0xcd. No order here"),
    ([MINED], 200, ["0xab", "0xcd"], False, "transaction 0xcd. No order here"),
]  # fmt: skip


def test_what_became_of_a_batch() -> None:
    """Without an order, "done" is no end, and neither is a wallet that tells nothing."""
    given = [
        call("fateOf", has, {"code": code, "hashes": hashes}, late)
        for has, code, hashes, late, _ in FATES
    ]
    for (*case, expected), fate in zip(FATES, run(*given), strict=True):
        is_same = expected in fate["wrong"] if isinstance(fate, dict) else fate == expected
        assert is_same, (case, fate)


def test_nobody_goes_on_before_it_is_refused() -> None:
    batch, wrong = {"until": 9_000}, {"wrong": "It was another one."}
    none, early, late, stray = run(
        call("stuckOf", batch, "has", 0),
        call("stuckOf", batch, "open", 1),
        call("stuckOf", batch, "open", 9_000),
        call("stuckOf", batch, wrong, 1),
    )
    assert none is None
    assert not early["mayGoOn"]
    assert "it is refused in 9 s. Until then no other swap is signed." in early["text"]
    assert late["mayGoOn"]
    assert "Look in your wallet and in an explorer" in late["text"]
    assert (stray["mayGoOn"], stray["isWrong"]) == (True, True)
    assert stray["text"].startswith("It was another one. Look in your wallet")
