"""Encoding of eth_simulateV1 requests and responses, for the service and the Python client.

A contract must not be able to distinguish a simulation from the transaction, so both send the same.

https://ethereum.github.io/execution-apis/api-documentation/ (eth_simulateV1)
"""

from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from quietswap.rules.chain.node_reads import NodeLog
from quietswap.rules.chain.rpc_wire import (
    Json,
    MalformedResult,
    NodeCall,
    Result,
    RpcCall,
    hex_bytes,
    quantity,
    returned_data,
    value,
)
from quietswap.rules.foreign_text import masked, printable
from quietswap.rules.safety.wallet_effects import EventLog, is_effect, parse_log, wallet_word
from quietswap.rules.tx.address import Address

_ERROR = bytes.fromhex("08c379a0")
_PANIC = bytes.fromhex("4e487b71")
_LONGEST = 120
NO_REASON = "reverts without a reason"


def reason(data: bytes, message: str = "") -> str:
    """Return the reason in revert `data`, else the node's `message`, at most 120 characters.

    Decodes `Error(string)` and `Panic(uint256)` of Solidity
    (https://docs.soliditylang.org/en/latest/control-structures.html#revert). Another selector is
    shown as a custom error. The contract is not trusted: only printable ASCII is returned.
    """
    if data[:4] == _ERROR and (text := printable(_string(data[4:]), _LONGEST)):
        return text
    if data[:4] == _PANIC and len(data) >= 36:
        return f"panic 0x{int.from_bytes(data[4:36]):02x}"[:_LONGEST]
    if len(data) >= 4 and data[:4] != _ERROR:
        return f"custom error 0x{data[:4].hex()}"
    return printable(masked(message).encode(), _LONGEST) or NO_REASON


def _string(data: bytes) -> bytes:
    length = int.from_bytes(data[32:64])
    return data[64 : 64 + min(length, _LONGEST)]


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


class SimulatedCall(msgspec.Struct, frozen=True):
    """Result of one simulated call. `number` is the first returned word, None after a revert.

    `gas` is maxUsedGas (the peak, before refunds) if the node `tells_peak`, else gasUsed;
    `gas_used` is after refunds. `reason` is the reason of a revert, "" without one. `logs` are not
    decoded. A quote makes some 20; a frozen dataclass takes six times as long to make.
    """

    number: int | None
    gas: int
    gas_used: int
    reason: str
    logs: Sequence[msgspec.Raw] = []
    tells_peak: bool = True

    @property
    def succeeded(self) -> bool:
        return not self.reason


def hex_word(number: int) -> str:
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


def blocks_call(
    blocks: Sequence[object], tag: str, *, validation: bool, transfers: bool = False
) -> RpcCall:
    """Return a simulation of consecutive `blocks` on block `tag`.

    `validation`: check fees and balances as in a real block; without it, gas price and base fee may
    be 0. `transfers`: log ETH transfers too.
    """
    options = {"blockStateCalls": blocks, "validation": validation, "traceTransfers": transfers}
    return RpcCall(METHOD, (options, tag))


def simulation_call(
    overrides: Mapping[str, object], calls: Sequence[Mapping[str, object]]
) -> NodeCall[list[SimulatedCall]]:
    """Return a simulation on the latest block, without checks of fees and nonces."""
    blocks = [{"stateOverrides": overrides, "calls": calls}]
    call = blocks_call(blocks, "latest", validation=False)
    return NodeCall(call.method, call.params, partial(_read_calls, len(calls)))


def _read_calls(count: int, raw: Json) -> list[SimulatedCall]:
    return read_blocks(raw, count)[0][1]


def read_blocks(result: Result | bytes, *counts: int) -> list[tuple[str, list[SimulatedCall]]]:
    """Return number and parent of each block, as one text, and the results of its calls.

    Raises NodeUnavailable for an error, MalformedResult for another structure.
    """
    blocks = value(result, list[_BlockWire])
    if tuple([len(block.calls) for block in blocks]) != counts:
        raise MalformedResult(f"{METHOD}: another number of results than of calls")
    return [
        (f"{block.number} after {block.parent_hash}", [_simulated(call) for call in block.calls])
        for block in blocks
    ]


def logs_about(wallet: Address, logs: Sequence[msgspec.Raw]) -> list[EventLog] | None:
    """Return the transfers and approvals that contain `wallet`; None if they are too many or large.

    Most logs of a swap belong to pools and are skipped without decoding. Raises MalformedResult.
    """
    word = wallet_word(wallet).encode()
    mentions = [raw for log in logs if word in (raw := bytes(log).lower())]
    if len(mentions) > _MOST_LOGS or max(map(len, mentions), default=0) > _LARGEST_LOG:
        return None
    try:
        wires = value(b"[" + b",".join(mentions) + b"]", list[NodeLog])
        return [parse_log(w.address, w.topics, w.data) for w in wires if is_effect(w.topics)]
    except ValueError as error:
        raise MalformedResult(f"{METHOD}: a log: {error}") from error


def _simulated(wire: _CallWire) -> SimulatedCall:
    returned, used = hex_bytes(wire.return_data), quantity(wire.gas_used)
    tells_peak = wire.max_used_gas is not None
    peak = used if wire.max_used_gas is None else quantity(wire.max_used_gas)
    if wire.status == "0x1":
        number = int.from_bytes(returned[:32]) if len(returned) >= 32 else None
        return SimulatedCall(number, peak, used, "", wire.logs, tells_peak)
    if wire.status != "0x0":
        raise MalformedResult("a status is 0x0 or 0x1")
    return SimulatedCall(None, peak, used, _reason(wire.error, returned))


def _reason(error: _ErrorWire | None, returned: bytes) -> str:
    """Geth returns the revert data in the error, other nodes in the returned bytes."""
    if error is None:
        return reason(returned)
    data = hex_bytes(returned_data(error.data) or "0x")
    return reason(data or returned, error.message)
