"""Errors of nodes, sorted by who is at fault."""

import pytest

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.chain.rpc_wire import NodeCall, RpcErrorObject, number


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        (-32601, "the method eth_simulateV1 does not exist/is not available", "unsupported"),
        (-32600, "Unsupported method: eth_simulateV1", "unsupported"),
        (-32000, "method eth_simulateV1 is not whitelisted", "unsupported"),
        (3, "execution reverted", "verdict"),
        (-32000, "execution reverted: TransferHelper", "verdict"),
        (-32000, "insufficient funds for gas * price + value", "verdict"),
        (-32000, "gas required exceeds allowance (16777216)", "verdict"),
        (-32603, "EVM error MemoryOOG", "verdict"),
        (-32000, "MemoryLimitOOG", "verdict"),
        (-32603, "EVM error OpcodeNotFound", "verdict"),
        (-32000, "gas uint64 overflow", "verdict"),
        (-32000, "invalid opcode: INVALID", "verdict"),
        (-32000, "invalid jump destination", "verdict"),
        (-32000, "execution aborted (timeout = 5s)", "trouble"),
        (-32000, "runtime: out of memory", "trouble"),
        (-32005, "blocked by google's front end", "trouble"),
        (-38013, "intrinsic gas too low", "verdict"),
        (-32000, "header not found", "trouble"),
        (-32000, "historical state is not available", "trouble"),
        (-32005, "daily request count exceeded", "trouble"),
        (-32603, "internal error", "trouble"),
        (-32002, "request timed out", "trouble"),
    ],
)
def test_who_is_at_fault(code: int, message: str, kind: str) -> None:
    error = RpcErrorObject(code, message)
    assert {
        "unsupported": error.is_unsupported,
        "verdict": error.is_verdict,
        "trouble": not (error.is_unsupported or error.is_verdict),
    } == {name: name == kind for name in ("unsupported", "verdict", "trouble")}


NUMBER = NodeCall("eth_blockNumber", (), number)


@pytest.mark.parametrize(
    ("text", "value"),
    [(b'"0x0"', 0), (b'"0x5"', 5), (b'"0x%s"' % (b"f" * 64), 2**256 - 1)],
)
def test_a_quantity(text: bytes, value: int) -> None:
    assert NUMBER.value(text) == value
    assert NUMBER.then(hex).value(text) == hex(value)


@pytest.mark.parametrize(
    "text",
    [
        b'"0x"',
        b'"5"',
        b'"0xg"',
        b'"-0x1"',
        b'" 0x1"',
        b'"0x00"',
        b'"0x05"',
        b'"0x%s"' % (b"0" * 65),
        b"5",
        b"null",
        b"",
    ],
)
def test_what_is_no_quantity(text: bytes) -> None:
    with pytest.raises(NodeUnavailable):
        NUMBER.value(text)


def test_an_error_is_no_value() -> None:
    with pytest.raises(NodeUnavailable, match="error 3: reverted"):
        NUMBER.value(RpcErrorObject(3, "reverted"))
