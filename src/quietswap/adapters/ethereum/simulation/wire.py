"""Encoding of eth_simulateV1 requests and responses.

https://ethereum.github.io/execution-apis/api-documentation/ (eth_simulateV1)
"""

from collections.abc import Mapping, Sequence

import msgspec

from quietswap.adapters.ethereum.simulation.revert_reason import reason
from quietswap.adapters.rpc.erc20 import read_uint
from quietswap.adapters.rpc.ethereum_types import MalformedResult, octets, quantity, read
from quietswap.adapters.rpc.wire import Result, RpcCall, value
from quietswap.domain.address import Address
from quietswap.domain.quote.wallet_effects import EventLog, is_effect, parse_log, wallet_word
from quietswap.ports.chain import NodeUnavailable

METHOD = "eth_simulateV1"
VIEW_GAS = 3_000_000
"""For one view call of a token. A token may use all the gas it gets."""

_MOST_LOGS = 64
_LARGEST_LOG = 20_000
"""In bytes of JSON."""


class _ErrorWire(msgspec.Struct, frozen=True):
    message: str = ""
    data: object = None


class _CallWire(msgspec.Struct, frozen=True, rename="camel"):
    status: str
    gas_used: str
    return_data: str = "0x"
    max_used_gas: str | None = None
    error: _ErrorWire | None = None
    logs: list[msgspec.Raw] = []


class _BlockWire(msgspec.Struct, frozen=True, rename="camel"):
    calls: list[_CallWire]
    number: str = ""
    parent_hash: str = ""

    @property
    def identity(self) -> str:
        return f"{self.number} after {self.parent_hash}"


class _LogWire(msgspec.Struct, frozen=True):
    address: str
    topics: list[str]
    data: str


class SimulatedCall(msgspec.Struct, frozen=True):
    """Result of one simulated call. `number` is the first returned word, None after a revert.

    `gas` is maxUsedGas (the peak, before refunds) if the node returns it, else gasUsed. `reason` is
    the reason of a revert, "" without one. `logs` are not decoded. A quote makes some 20; a
    frozen dataclass takes six times as long to make.
    """

    number: int | None
    gas: int
    reason: str
    logs: Sequence[msgspec.Raw] = []

    @property
    def succeeded(self) -> bool:
        """Whether it did not revert."""
        return not self.reason


def hex_word(number: int) -> str:
    """Return a storage slot or word as 32 bytes of hex."""
    return f"0x{number:064x}"


def call_object(
    sender: Address,
    to: Address,
    data: bytes,
    *,
    gas: int,
    max_fee: int,
    value: int | None = None,
    tip: int = 0,
) -> dict[str, object]:
    """Return an EIP-1559 call object; `gas` in units, fees, priority fee `tip` and value in wei."""
    fields: dict[str, object] = {
        "from": sender,
        "to": to,
        "data": "0x" + data.hex(),
        "gas": hex(gas),
        "maxFeePerGas": hex(max_fee),
        "maxPriorityFeePerGas": hex(tip),
    }
    if value is not None:
        fields["value"] = hex(value)
    return fields


def simulation_call(
    overrides: Mapping[str, object], calls: Sequence[Mapping[str, object]]
) -> RpcCall:
    """Return a simulation on the latest block, without checks of fees and nonces."""
    block = {"stateOverrides": overrides, "calls": calls}
    return RpcCall(METHOD, ({"blockStateCalls": [block], "validation": False}, "latest"))


def blocks_call(
    blocks: Sequence[object], tag: str, *, validation: bool, transfers: bool
) -> RpcCall:
    """Return a simulation of consecutive `blocks` on block `tag`.

    `validation`: check fees and balances as in a real block. `transfers`: log ETH transfers too.
    """
    options = {"blockStateCalls": blocks, "validation": validation, "traceTransfers": transfers}
    return RpcCall(METHOD, (options, tag))


def read_calls(result: Result, count: int) -> list[SimulatedCall]:
    """Return the results of `count` calls of one block. Raises NodeUnavailable."""
    return read_blocks(result, count)[0][1]


def read_blocks(result: Result, *counts: int) -> list[tuple[str, list[SimulatedCall]]]:
    """Return number and parent of each block, as one text, and the results of its calls.

    Raises NodeUnavailable.
    """
    blocks = value(result, list[_BlockWire])
    if tuple(len(block.calls) for block in blocks) != counts:
        raise NodeUnavailable(f"{METHOD}: another number of results than of calls")
    return [(block.identity, [_simulated(call) for call in block.calls]) for block in blocks]


def logs_about(wallet: Address, logs: Sequence[msgspec.Raw]) -> list[EventLog] | None:
    """Return the transfers and approvals that contain `wallet`; None if they are too many or large.

    Most logs of a swap belong to pools and are skipped without decoding. Raises NodeUnavailable.
    """
    word = wallet_word(wallet).encode()
    found = [raw for log in logs if word in (raw := bytes(log).lower())]
    if len(found) > _MOST_LOGS or max(map(len, found), default=0) > _LARGEST_LOG:
        return None
    try:
        wires = read(b"[" + b",".join(found) + b"]", list[_LogWire])
        return [parse_log(w.address, w.topics, w.data) for w in wires if is_effect(w.topics)]
    except ValueError as error:
        raise NodeUnavailable(f"{METHOD}: a log: {error}") from error


def _simulated(wire: _CallWire) -> SimulatedCall:
    returned = octets(wire.return_data)
    gas = quantity(wire.max_used_gas or wire.gas_used)
    if wire.status == "0x1":
        return SimulatedCall(read_uint(returned), gas, "", wire.logs)
    if wire.status != "0x0":
        raise MalformedResult("a status is 0x0 or 0x1")
    return SimulatedCall(None, gas, _reason(wire.error, returned))


def _reason(error: _ErrorWire | None, returned: bytes) -> str:
    """Geth returns the revert data in the error, other nodes in the returned bytes."""
    if error is None:
        return reason(returned)
    data = octets(error.data) if isinstance(error.data, str) else b""
    return reason(data or returned, error.message)
