"""Every row of the table of send answers, and everything else: silence."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietswap.service.base.http_client import HttpReply
from quietswap.service.relays.answers import RelayOutcome
from quietswap.service.relays.classify_response import classify_response

HASH = "0x" + "ab" * 32


def outcome(body: Any, status: int = 200) -> RelayOutcome:
    """Return how a body is classified; JSON unless it is bytes."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return classify_response(HttpReply(status, raw, {})).outcome


def refusal(message: str, code: int = -32000) -> dict[str, Any]:
    """Return a JSON-RPC error body."""
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": message}}


@pytest.mark.parametrize("result", [HASH, "0x" + "AB" * 32, "0x" + "00" * 32, 200])
def test_a_hash_or_titans_number_is_an_acceptance(result: Any) -> None:
    assert outcome({"jsonrpc": "2.0", "id": 1, "result": result}) is RelayOutcome.ACCEPTED
    assert outcome({"result": result}) is RelayOutcome.ACCEPTED


@pytest.mark.parametrize(
    "result", ["", "0x", HASH[:-1], HASH + "0", "ok", 201, 0, True, None, [HASH], {"hash": HASH}]
)
def test_any_other_result_says_nothing(result: Any) -> None:
    assert outcome({"jsonrpc": "2.0", "id": 1, "result": result}) is RelayOutcome.UNKNOWN


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("already known", RelayOutcome.ALREADY_KNOWN),
        ("ALREADY KNOWN", RelayOutcome.ALREADY_KNOWN),
        ("known transaction: 0xab", RelayOutcome.ALREADY_KNOWN),
        ("Transaction with the same hash was already imported.", RelayOutcome.ALREADY_KNOWN),
        ("unknown transaction type", RelayOutcome.UNKNOWN),
        ("replacement transaction underpriced", RelayOutcome.CONFLICT),
        ("nonce too low: next nonce 8, tx nonce 7", RelayOutcome.NONCE_USED),
        ("err: nonce too low: address 0x1", RelayOutcome.NONCE_USED),
        ("insufficient funds for gas * price + value: balance 1", RelayOutcome.INSUFFICIENT_FUNDS),
        ("in-flight transaction limit reached for delegated accounts", RelayOutcome.BUSY),
        ("txpool is full", RelayOutcome.NOT_TAKEN),
        ("execution reverted", RelayOutcome.WOULD_REVERT),
        ("execution reverted: already known", RelayOutcome.WOULD_REVERT),
        ("execution reverted: nonce too low", RelayOutcome.WOULD_REVERT),
        ("bundle simulation failed", RelayOutcome.WOULD_REVERT),
        ("intrinsic gas too low: gas 1, minimum needed 21000", RelayOutcome.INVALID),
        ("exceeds block gas limit", RelayOutcome.INVALID),
        ("transaction gas limit too high (cap: 16777216)", RelayOutcome.INVALID),
        ("transaction underpriced", RelayOutcome.INVALID),
        ("transaction underpriced: gas tip cap 0, minimum needed 1", RelayOutcome.INVALID),
        (
            "insufficient gas for floor data gas cost: gas 37100, minimum needed 61000",
            RelayOutcome.INVALID,
        ),
        ("max priority fee per gas higher than max fee per gas", RelayOutcome.INVALID),
        ("tip above fee cap", RelayOutcome.INVALID),
        ("invalid sender", RelayOutcome.INVALID),
        ("invalid chain id for signer", RelayOutcome.INVALID),
        ("only replay-protected (EIP-155) transactions allowed over RPC", RelayOutcome.INVALID),
        ("rlp: value size exceeds available input length", RelayOutcome.INVALID),
        ("transaction type not supported", RelayOutcome.INVALID),
        ("nonce too high", RelayOutcome.UNKNOWN),
        ("max fee per gas less than block base fee", RelayOutcome.UNKNOWN),
        ("internal error", RelayOutcome.UNKNOWN),
        ("rate limited", RelayOutcome.NOT_TAKEN),
        ("", RelayOutcome.UNKNOWN),
    ],
)
def test_the_words_of_an_error(message: str, expected: RelayOutcome) -> None:
    assert outcome(refusal(message)) is expected
    assert outcome(refusal(message), status=400) is expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (1000, RelayOutcome.ALREADY_KNOWN),
        (3, RelayOutcome.WOULD_REVERT),
        (-38010, RelayOutcome.NONCE_USED),
        (-38013, RelayOutcome.INVALID),
        (-38014, RelayOutcome.INSUFFICIENT_FUNDS),
        (-38015, RelayOutcome.INVALID),
        (-32603, RelayOutcome.UNKNOWN),
    ],
)
def test_the_codes_of_an_error_without_known_words(code: int, expected: RelayOutcome) -> None:
    assert outcome(refusal("something else", code)) is expected


def test_a_revert_code_outweighs_the_contracts_own_words() -> None:
    assert outcome(refusal("already known", 3)) is RelayOutcome.WOULD_REVERT


@pytest.mark.parametrize("status", [301, 302, 500, 502, 503, 504, 520])
@pytest.mark.parametrize("body", [{"result": HASH}, refusal("invalid sender"), b"<html>1015"])
def test_a_failing_status_says_nothing_whatever_the_body(status: int, body: Any) -> None:
    assert outcome(body, status) is RelayOutcome.UNKNOWN


def test_an_acceptance_under_a_client_error_says_nothing() -> None:
    assert outcome({"result": HASH}, 400) is RelayOutcome.UNKNOWN


@pytest.mark.parametrize(
    "body",
    [
        b"", b"null", b"[]", b'"ok"', b"<html>error code: 1015</html>", b"{", b"\xff\xfe",
        b"[" * 100_000, b'{"result": "' + b"0" * 1000 + b'"}', b'{"error": "nonce too low"}',
        b'{"error": {"message": 5}}', b'{"error": {}}', b"{}",
        json.dumps({"result": HASH} | refusal("already known")).encode(),
    ],
)  # fmt: skip
def test_what_is_not_a_json_rpc_answer_says_nothing(body: bytes) -> None:
    assert outcome(body) is RelayOutcome.UNKNOWN


@given(noise=st.binary(max_size=300), status=st.integers(100, 599))
def test_noise_says_nothing(noise: bytes, status: int) -> None:
    assert outcome(noise, status) in {RelayOutcome.UNKNOWN, RelayOutcome.NOT_TAKEN}


@given(message=st.text(max_size=200))
def test_a_reason_is_never_the_relays_own_text(message: str) -> None:
    secret = f"{message} nonce too low for key-123456"
    answer = classify_response(HttpReply(200, json.dumps(refusal(secret)).encode(), {}))
    assert "key-123456" not in answer.reason
