"""The request and the answer of eth_simulateV1.

https://ethereum.github.io/execution-apis/api-documentation/ (eth_simulateV1)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from quietswap.adapters.chain_wire import Malformed, octets, quantity
from quietswap.adapters.erc20 import read_uint
from quietswap.adapters.revert_reason import reason
from quietswap.adapters.rpc_wire import Call, Result, value
from quietswap.ports.outside import ChainDown

METHOD = "eth_simulateV1"


class _ErrorWire(msgspec.Struct, frozen=True):
    message: str = ""
    data: object = None


class _CallWire(msgspec.Struct, frozen=True, rename="camel"):
    status: str
    gas_used: str
    return_data: str = "0x"
    max_used_gas: str | None = None
    error: _ErrorWire | None = None


class _BlockWire(msgspec.Struct, frozen=True):
    calls: list[_CallWire]


@dataclass(frozen=True, slots=True)
class Simulated:
    """One simulated call: `number` is the first word it returned, None when it failed.

    `gas` is maxUsedGas (the peak, before refunds) where the node tells it, else gasUsed. `reason`
    says why it failed, "" when it did not.
    """

    number: int | None
    gas: int
    reason: str

    @property
    def succeeded(self) -> bool:
        """Whether it did not revert."""
        return not self.reason


def hex_word(number: int) -> str:
    """Return a storage slot or word as 32 bytes of hex."""
    return f"0x{number:064x}"


def simulation_call(overrides: Mapping[str, object], calls: Sequence[Mapping[str, object]]) -> Call:
    """Return one isolated simulation on top of the latest block, without fee and nonce checks."""
    block = {"stateOverrides": overrides, "calls": calls}
    return Call(METHOD, ({"blockStateCalls": [block], "validation": False}, "latest"))


def read_calls(result: Result, count: int) -> list[Simulated]:
    """Return what became of each of `count` calls. Raises ChainDown."""
    blocks = value(result, list[_BlockWire])
    if len(blocks) != 1 or len(blocks[0].calls) != count:
        raise ChainDown(f"{METHOD}: another number of results than of calls")
    try:
        return [_simulated(call) for call in blocks[0].calls]
    except Malformed as error:
        raise ChainDown(f"{METHOD}: {error}") from error


def _simulated(wire: _CallWire) -> Simulated:
    returned = octets(wire.return_data)
    gas = quantity(wire.max_used_gas or wire.gas_used)
    status = quantity(wire.status)
    if status == 1:
        return Simulated(read_uint(returned), gas, "")
    if status != 0:
        raise Malformed("a status is 0 or 1")
    return Simulated(None, gas, _reason(wire.error, returned))


def _reason(error: _ErrorWire | None, returned: bytes) -> str:
    """Geth puts the revert's data into the error, other nodes into the returned bytes."""
    if error is None:
        return reason(returned)
    data = octets(error.data) if isinstance(error.data, str) else b""
    return reason(data or returned, error.message)
