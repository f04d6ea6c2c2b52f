"""State overrides that give a wallet the balance and the allowance of a swap.

Existing balances and allowances that suffice are not overridden.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cachetools import TLRUCache

from quietswap.adapters.ethereum.simulation import storage_slots
from quietswap.adapters.ethereum.simulation.storage_slots import (
    PROBE_OWNER,
    PROBE_SPENDER,
    TokenStorageLayout,
)
from quietswap.adapters.ethereum.simulation.wire import read_calls, simulation_call
from quietswap.adapters.rpc import erc20
from quietswap.adapters.rpc.client import NodeReads, NodeRpcClient
from quietswap.adapters.rpc.ethereum_types import octets
from quietswap.adapters.rpc.wire import RpcCall, RpcErrorObject, value
from quietswap.domain.address import Address
from quietswap.domain.quote.route import RouteRequest
from quietswap.domain.simulation.codec import VIEW_GAS, hex_word
from quietswap.domain.simulation.next_block import RandBelow, plausible_amount
from quietswap.ports.clock import Clock

_LAYOUT_TTL_S = 3600.0
_UNKNOWN_TTL_S = 600.0
_LAYOUTS_CACHED = 10_000


class SimulationUnsupported(Exception):
    """The node does not support eth_simulateV1."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """The wallet's real balance of the sell token, and its allowance for each spender."""

    balance: int
    allowances: Mapping[Address, int]


@dataclass(frozen=True, slots=True)
class SlotOverride:
    """One storage slot, the word written to it, and the number that the token must then return."""

    slot: int
    word: int
    number: int


@dataclass(frozen=True, slots=True)
class StateOverride:
    """The overrides of one simulation; None for a storage slot that is unknown."""

    balance_lacks: bool = False
    balance: SlotOverride | None = None
    allowances: Mapping[Address, SlotOverride | None] = field(default_factory=dict)

    def obstacle(self, spender: Address) -> str | None:
        """Return why a swap through `spender` cannot be simulated; None if it can."""
        if self.balance_lacks and self.balance is None:
            return "the wallet lacks the sell amount and the token's balance slot is unknown"
        if spender in self.allowances and self.allowances[spender] is None:
            return "the router is not approved and the token's allowance slot is unknown"
        return None

    def words(self, spender: Address) -> dict[int, int]:
        """Return slot → word to override in the sell token for a swap through `spender`."""
        overrides = (self.balance, self.allowances.get(spender))
        return {one.slot: one.word for one in overrides if one}

    def reads_back(self, spender: Address, balance: int | None, allowance: int | None) -> bool:
        """Whether the token returns the overridden numbers for a swap through `spender`."""
        pairs = ((self.balance, balance), (self.allowances.get(spender), allowance))
        return all(one is None or one.number == number for one, number in pairs)


class StorageLayouts:
    """Finds the storage slots of tokens.

    They are cached for an hour, because a proxy may be upgraded, and for ten minutes if unknown.
    """

    def __init__(self, clock: Clock) -> None:
        self._known: TLRUCache[Address, TokenStorageLayout] = TLRUCache(
            _LAYOUTS_CACHED,
            lambda _, layout, now: now + (_LAYOUT_TTL_S if layout.is_known else _UNKNOWN_TTL_S),
            timer=clock.monotonic,
        )

    async def of(self, token: Address, nodes: NodeReads) -> TokenStorageLayout:
        """Return the slots of a token, cached. Raises NodeUnavailable and SimulationUnsupported."""
        layout = self._known.get(token)
        if layout is None:
            layout = self._known[token] = await _probed(token, nodes)
        return layout


class StateOverrideBuilder:
    """Builds the state overrides of swaps."""

    def __init__(self, rpc: NodeRpcClient, clock: Clock, below: RandBelow) -> None:
        self._rpc = rpc
        self._below = below
        self._layouts = StorageLayouts(clock)

    async def prepare(self, request: RouteRequest, held: Holdings, tag: str) -> StateOverride:
        """Return the necessary overrides. Raises NodeUnavailable and SimulationUnsupported.

        `held` is what the wallet has at block `tag`: stored words of another block may contain
        another balance, and the token would then not return the overridden number.

        Overridden amounts are random: the exact sell amount would let a contract detect the
        simulation.
        """
        amount, owner = request.sell_amount, request.wallet
        unapproved = [s for s, allowed in held.allowances.items() if allowed < amount]
        balance_lacks = held.balance < amount
        if not balance_lacks and not unapproved:
            return StateOverride()
        layout = await self._layouts.of(request.sell.address, self._rpc)
        places: list[tuple[int, int] | None] = [None] * (1 + len(unapproved))
        if balance_lacks and layout.balance:
            places[0] = layout.balance.balance(owner), held.balance
        if layout.allowance:
            for i, s in enumerate(unapproved, start=1):
                places[i] = layout.allowance.allowance(owner, s), held.allowances[s]
        needed = [plausible_amount(amount, self._below) for _ in places]
        balance, *allowances = await self._raised(request.sell.address, places, needed, tag)
        return StateOverride(balance_lacks, balance, dict(zip(unapproved, allowances, strict=True)))

    async def _raised(
        self,
        token: Address,
        places: Sequence[tuple[int, int] | None],
        needed: Sequence[int],
        tag: str,
    ) -> list[SlotOverride | None]:
        """Return the override of each (slot, current number) to the needed number."""
        stored = iter(await self._stored(token, [place[0] for place in places if place], tag))
        raised: list[SlotOverride | None] = []
        for place, number in zip(places, needed, strict=True):
            lifted = storage_slots.raised(next(stored), place[1], number) if place else None
            if place is None or lifted is None:
                raised.append(None)
            else:
                raised.append(SlotOverride(place[0], lifted, number))
        return raised

    async def _stored(self, token: Address, slots: Sequence[int], tag: str) -> list[int]:
        """Return the words at block `tag`, or at the latest if a node does not have that block."""
        calls = [RpcCall("eth_getStorageAt", (token, hex_word(slot), tag)) for slot in slots]
        results = await self._rpc.batch(calls)
        if tag != "latest" and any(isinstance(result, RpcErrorObject) for result in results):
            return await self._stored(token, slots, "latest")
        return [_word(value(result, str)) for result in results]


async def _probed(token: Address, nodes: NodeReads) -> TokenStorageLayout:
    reads = [erc20.balance_of(PROBE_OWNER), erc20.allowance(PROBE_OWNER, PROBE_SPENDER)]
    probe = {hex_word(slot): hex_word(word) for slot, word in storage_slots.probe().items()}
    call = simulation_call(
        {token: {"stateDiff": probe}},
        [{"to": token, "data": "0x" + data.hex(), "gas": hex(VIEW_GAS)} for data in reads],
    )
    [result] = await nodes.batch([call])
    if isinstance(result, RpcErrorObject) and result.is_unsupported:
        raise SimulationUnsupported
    balance, allowance = read_calls(result, len(reads))
    return storage_slots.identify(balance.number, allowance.number)


def _word(text: str) -> int:
    return int.from_bytes(octets(text))
