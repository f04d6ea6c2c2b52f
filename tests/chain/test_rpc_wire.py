"""Errors of nodes, sorted by who is at fault."""

import pytest

from quietswap.rules.chain.rpc_wire import RpcErrorObject


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
