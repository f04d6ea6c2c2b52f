"""Encoding of eth_simulateV1 requests and responses, for the service and the Python client.

A contract must not be able to distinguish a simulation from the transaction, so both send the same.

https://ethereum.github.io/execution-apis/api-documentation/ (eth_simulateV1)
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from quietswap.domain.address import Address
from quietswap.domain.quote.wallet_effects import EventLog, is_effect, parse_log, wallet_word
from quietswap.domain.simulation.revert_reason import reason

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


class MalformedSimulation(ValueError):
    """The node's result breaks its format. It permits no conclusion."""


_BLOCKS = msgspec.json.Decoder(list[_BlockWire])
_LOGS = msgspec.json.Decoder(list[_LogWire])
_QUANTITY = re.compile(r"0x(?:0|[1-9a-fA-F][0-9a-fA-F]{0,63})", re.ASCII)


class SimulatedCall(msgspec.Struct, frozen=True):
    """Result of one simulated call. `number` is the first returned word, None after a revert.

    `gas` is maxUsedGas (the peak, before refunds) if the node returns it, else gasUsed; `gas_used`
    is after refunds. `reason` is the reason of a revert, "" without one. `logs` are not decoded. A
    quote makes some 20; a frozen dataclass takes six times as long to make.
    """

    number: int | None
    gas: int
    gas_used: int
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


def blocks_params(
    blocks: Sequence[object], tag: str, *, validation: bool, transfers: bool
) -> tuple[dict[str, object], str]:
    """Return the parameters of a simulation of consecutive `blocks` on block `tag`.

    `validation`: check fees and balances as in a real block; without it, gas price and base fee may
    be 0. `transfers`: log ETH transfers too.
    """
    options = {"blockStateCalls": blocks, "validation": validation, "traceTransfers": transfers}
    return options, tag


def read_blocks(result: bytes | msgspec.Raw, *counts: int) -> list[tuple[str, list[SimulatedCall]]]:
    """Return number and parent of each block, as one text, and the results of its calls.

    Raises MalformedSimulation.
    """
    blocks = _decoded(_BLOCKS, result)
    if tuple(len(block.calls) for block in blocks) != counts:
        raise MalformedSimulation(f"{METHOD}: another number of results than of calls")
    return [(block.identity, [_simulated(call) for call in block.calls]) for block in blocks]


def logs_about(wallet: Address, logs: Sequence[msgspec.Raw]) -> list[EventLog] | None:
    """Return the transfers and approvals that contain `wallet`; None if they are too many or large.

    Most logs of a swap belong to pools and are skipped without decoding.

    Raises MalformedSimulation.
    """
    word = wallet_word(wallet).encode()
    found = [raw for log in logs if word in (raw := bytes(log).lower())]
    if len(found) > _MOST_LOGS or max(map(len, found), default=0) > _LARGEST_LOG:
        return None
    try:
        wires = _decoded(_LOGS, b"[" + b",".join(found) + b"]")
        return [parse_log(w.address, w.topics, w.data) for w in wires if is_effect(w.topics)]
    except ValueError as error:
        raise MalformedSimulation(f"{METHOD}: a log: {error}") from error


def _simulated(wire: _CallWire) -> SimulatedCall:
    returned, used = _octets(wire.return_data), _quantity(wire.gas_used)
    peak = used if wire.max_used_gas is None else _quantity(wire.max_used_gas)
    if wire.status == "0x1":
        number = int.from_bytes(returned[:32]) if len(returned) >= 32 else None
        return SimulatedCall(number, peak, used, "", wire.logs)
    if wire.status != "0x0":
        raise MalformedSimulation("a status is 0x0 or 0x1")
    return SimulatedCall(None, peak, used, _reason(wire.error, returned))


def _reason(error: _ErrorWire | None, returned: bytes) -> str:
    """Geth returns the revert data in the error, other nodes in the returned bytes."""
    if error is None:
        return reason(returned)
    data = _octets(error.data) if isinstance(error.data, str) else b""
    return reason(data or returned, error.message)


def _decoded(decoder: msgspec.json.Decoder[Any], text: bytes | msgspec.Raw) -> Any:
    try:
        return decoder.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise MalformedSimulation("the node returned an unexpected structure") from error


def _octets(text: str) -> bytes:
    try:
        if text.startswith("0x"):
            return bytes.fromhex(text[2:])
    except ValueError:
        pass
    raise MalformedSimulation("not hex data")


def _quantity(text: str) -> int:
    if not _QUANTITY.fullmatch(text):
        raise MalformedSimulation("not a hex quantity")
    return int(text, 16)
