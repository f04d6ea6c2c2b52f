"""Encoding of eth_simulateV1 requests and responses, for the service and the Python client.

A contract must not be able to distinguish a simulation from the transaction, so both send the same.

https://ethereum.github.io/execution-apis/api-documentation/ (eth_simulateV1)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import msgspec

from quietswap.rules.chain.rpc_wire import (
    MalformedResult,
    Result,
    RpcCall,
    hex_bytes,
    quantity,
    returned_data,
    value,
)
from quietswap.rules.foreign_text import masked, printable
from quietswap.rules.safety.wallet_effects import EventLog, is_effect, parse_log, wallet_word
from quietswap.rules.tx.address import Address, from_any_case

# The block of a simulated swap. It equals the real next block as far as that is predictable.
#
# Block fields of eth_simulateV1: https://ethereum.github.io/execution-apis/api-documentation/. A
# contract reads the same number, base fee, gas limit and block hashes as in the real next block.
# `prevrandao` is random, the time is one slot (12 s) later, coinbase and gas limit are those of
# the latest block.

RandBelow = Callable[[int], int]
"""Returns a random integer from 0 to below its argument, as `secrets.randbelow` does."""

ROOT_NAMES = ("beaconRoot", "parentBeaconBlockRoot")
"""Of the interface, and of Besu."""
SLOT_S = 12
"""Seconds between two blocks of mainnet."""
_ETHER = 10**18

_HASHES = from_any_case("0x0000f90827f1c53a10cb7a02335b175320002935")
"""Stores the hashes of the last blocks (https://eips.ethereum.org/EIPS/eip-2935)."""
_ROOTS = from_any_case("0x000f3df6d732807ef1319fb7b8bb8522d0beac02")
"""Stores the last parent beacon roots (https://eips.ethereum.org/EIPS/eip-4788)."""
_RING = 8191
"""Number of entries of both."""


class ParentBlock(Protocol):
    """The latest block: `time` in Unix seconds, `next_base_fee` in wei per gas.

    None for a field that the node does not return; it then sets that field of the next block.
    """

    @property
    def number(self) -> int: ...
    @property
    def hash(self) -> str: ...
    @property
    def time(self) -> int: ...
    @property
    def next_base_fee(self) -> int: ...
    @property
    def gas_limit(self) -> int | None: ...
    @property
    def coinbase(self) -> Address | None: ...


@dataclass(frozen=True, slots=True)
class NextBlock:
    """The block after `head`, with a random `randao` and parent beacon root `root`.

    `exact`: the simulation runs on `head`, and the node validates fees and balances as in a real
    block. Otherwise it runs on the node's latest block without validation, and the node sets number
    and time. `root_name`: the member of the request that has `root`; None for none. Not all nodes
    know the same one.
    """

    head: ParentBlock
    randao: int
    root: int
    exact: bool = True
    root_name: str | None = ROOT_NAMES[0]

    @classmethod
    def after(cls, head: ParentBlock, below: RandBelow) -> "NextBlock":
        most = 2**256 - 1  # below 2**256 `randbelow` discards half of its draws
        return cls(head, below(most), below(most))

    def other_root(self) -> "NextBlock":
        """Return the form with the next name of the root, in the end with none: for a node that
        refuses members it does not know, as Besu and old Reth do."""
        names = (*ROOT_NAMES, None)
        return replace(self, root_name=names[names.index(self.root_name) + 1])

    def inexact(self) -> "NextBlock":
        """Return the form for a node that does not support the exact one."""
        return replace(self, exact=False, root_name=None)

    @property
    def tag(self) -> str:
        return hex(self.head.number) if self.exact else "latest"

    @property
    def view_fee(self) -> int:
        """Return the fee cap in wei per gas of calls that only read: twice the base fee."""
        return 2 * self.head.next_base_fee

    def overrides(self, later: int = 0) -> dict[str, object]:
        """Return `blockOverrides` of this block, or of the block `later` blocks after it."""
        fields: dict[str, object] = {
            "baseFeePerGas": hex(self.head.next_base_fee),
            "prevRandao": hex_word((self.randao + later) % 2**256),
        }
        if self.head.coinbase is not None:
            fields["feeRecipient"] = self.head.coinbase
        if self.head.gas_limit is not None:
            fields["gasLimit"] = hex(self.head.gas_limit)
        if self.exact:
            fields["number"] = hex(self.head.number + 1 + later)
            fields["time"] = hex(self.head.time + SLOT_S * (1 + later))
        if self.root_name is not None:
            fields[self.root_name] = hex_word((self.root + later) % 2**256)
        return fields

    def history(self) -> dict[Address, dict[str, dict[str, str]]]:
        """Return as state overrides what the system calls at the start of the block write.

        A contract can read it: the hash of the parent (EIP-2935) and the parent beacon root
        (EIP-4788). Some nodes make no such calls in a simulation; others write over this. The
        contracts of the two are no tokens, so a trial overrides nothing else of them.
        """
        if not self.exact:
            return {}
        time = self.head.time + SLOT_S
        written = {
            _HASHES: {self.head.number % _RING: int(self.head.hash, 16)},
            _ROOTS: {time % _RING: time, time % _RING + _RING: self.root},
        }
        return {
            address: {"stateDiff": {hex_word(at): hex_word(word) for at, word in words.items()}}
            for address, words in written.items()
        }


def unused_address(below: RandBelow) -> bytes:
    """Return 20 random bytes: an address that nobody has used."""
    return below(2**160 - 1).to_bytes(20)  # below 2**160 `randbelow` discards half of its draws


def plausible_amount(needed: int, below: RandBelow) -> int:
    """Return a random amount above `needed`, up to five times as much.

    The exact amount, or any constant, would let a contract detect the simulation.
    """
    spread = max(needed, 1000) << below(3)
    return needed + 1 + below(spread)


def plausible_wei(needed: int, below: RandBelow) -> int:
    """Return a random balance in wei above `needed`, by some thousandths of an ETH to some ETH."""
    return needed + _ETHER // 1000 + below(_ETHER // 100 * 10 ** below(3))


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


class NodeLog(msgspec.Struct, frozen=True):
    """One event log as a node sends it."""

    address: str
    topics: tuple[str, ...]
    data: str


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
) -> RpcCall:
    """Return a simulation on the latest block, without checks of fees and nonces."""
    return blocks_call([{"stateOverrides": overrides, "calls": calls}], "latest", validation=False)


def read_calls(result: Result, count: int) -> list[SimulatedCall]:
    return read_blocks(result, count)[0][1]


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
    found = [raw for log in logs if word in (raw := bytes(log).lower())]
    if len(found) > _MOST_LOGS or max(map(len, found), default=0) > _LARGEST_LOG:
        return None
    try:
        wires = value(b"[" + b",".join(found) + b"]", list[NodeLog])
        return [parse_log(w.address, w.topics, w.data) for w in wires if is_effect(w.topics)]
    except ValueError as error:
        raise MalformedResult(f"{METHOD}: a log: {error}") from error


def _simulated(wire: _CallWire) -> SimulatedCall:
    returned, used = hex_bytes(wire.return_data), quantity(wire.gas_used)
    peak = used if wire.max_used_gas is None else quantity(wire.max_used_gas)
    if wire.status == "0x1":
        number = int.from_bytes(returned[:32]) if len(returned) >= 32 else None
        return SimulatedCall(number, peak, used, "", wire.logs)
    if wire.status != "0x0":
        raise MalformedResult("a status is 0x0 or 0x1")
    return SimulatedCall(None, peak, used, _reason(wire.error, returned))


def _reason(error: _ErrorWire | None, returned: bytes) -> str:
    """Geth returns the revert data in the error, other nodes in the returned bytes."""
    if error is None:
        return reason(returned)
    data = hex_bytes(returned_data(error.data) or "0x")
    return reason(data or returned, error.message)
