"""State overrides that give a wallet the balance and the allowance of a swap.

Existing balances and allowances that suffice are not overridden.
"""

from collections.abc import Mapping, Sequence

from cachetools import TLRUCache, TTLCache

from quietswap.rules.chain.node_reads import storage_word
from quietswap.rules.chain.records import AccountState
from quietswap.rules.chain.rpc_wire import NodeCall, Result, RpcCall, RpcErrorObject
from quietswap.rules.quotes.quote import RouteRequest
from quietswap.rules.tokens import erc20
from quietswap.rules.trial import codec, next_block
from quietswap.rules.trial.state_override import SlotOverride, StateOverride
from quietswap.rules.trial.storage_slots import (
    PROBE_OWNER,
    PROBE_SPENDER,
    TokenStorageLayout,
    identify,
    raised_slot,
    slot_probe,
)
from quietswap.rules.tx.address import Address
from quietswap.service.base.clock import Clock
from quietswap.service.node.lagging_backends import from_block
from quietswap.service.node.rpc import NodeReads, NodeRpcClient

_LAYOUT_TTL_S = 3600.0
_UNKNOWN_TTL_S = 600.0
_LAYOUTS_CACHED = 10_000
_COVERED_TTL_S = 600.0
"""How long a wallet that needed no override is taken to need none. One that does waits longer."""


class SimulationUnsupported(Exception):
    """The node does not support eth_simulateV1."""


Probe = NodeCall[list[codec.SimulatedCall]]


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
            probe = probe_call(token)
            layout = self.learn(token, probe, (await nodes.batch([probe]))[0])
        return layout

    def known(self, token: Address) -> TokenStorageLayout | None:
        return self._known.get(token)

    def learn(self, token: Address, probe: Probe, result: Result) -> TokenStorageLayout:
        """Keep what the answer to `probe_call` shows. Raises as `of`."""
        if isinstance(result, RpcErrorObject) and result.is_unsupported:
            raise SimulationUnsupported
        balance, allowance = probe.value(result)
        layout = self._known[token] = identify(balance.number, allowance.number)
        return layout


class StateOverrideBuilder:
    def __init__(self, rpc: NodeRpcClient, clock: Clock, below: next_block.RandBelow) -> None:
        self._rpc = rpc
        self._below = below
        self._clock = clock
        self.layouts = StorageLayouts(clock)
        self._covered: TTLCache[tuple[Address, Address], bool]
        self._covered = TTLCache(_LAYOUTS_CACHED, _COVERED_TTL_S, timer=clock.monotonic)

    def reads_ahead(self, request: RouteRequest, spenders: Sequence[Address]) -> list[RpcCall]:
        """Return what `prepare` needs beside the state of the wallet, at the latest block.

        Nothing for a wallet that needed no override lately, or for a token whose layout is unknown.
        """
        token, owner = request.sell.address, request.wallet
        if (owner, token) in self._covered:
            return []
        layout = self.layouts.known(token)
        if layout is None:
            return []
        return [storage_word(token, slot, "latest") for slot in _slots(layout, owner, spenders)]

    async def prepare(
        self, request: RouteRequest, sender: AccountState, tag: str, ahead: Sequence[Result] = ()
    ) -> StateOverride:
        """Return the necessary overrides. Raises NodeUnavailable and SimulationUnsupported.

        `ahead` are the answers to `reads_ahead`, in a batch with `sender`, which is what the wallet
        has at block `tag`: stored words of another block may contain another balance, and the token
        would then not return the overridden number.

        Overridden amounts are random: the exact sell amount would let a contract detect the
        simulation.
        """
        amount, owner = request.sell_amount, request.wallet
        unapproved = [s for s, allowed in sender.allowances.items() if allowed < amount]
        balance_lacks = sender.sell_balance < amount
        token = request.sell.address
        if not balance_lacks and not unapproved:
            self._covered[owner, token] = True
            return StateOverride()
        layout, stored = await self._layout(request, list(sender.allowances), ahead)
        places: list[tuple[int, int] | None] = [None] * (1 + len(unapproved))
        if balance_lacks and layout.balance:
            places[0] = layout.balance.balance(owner), sender.sell_balance
        if layout.allowance:
            for i, s in enumerate(unapproved, start=1):
                places[i] = layout.allowance.allowance(owner, s), sender.allowances[s]
        needed = [next_block.plausible_amount(amount, self._below) for _ in places]
        raised = _raised(places, needed, stored)
        if any(place and not override for place, override in zip(places, raised, strict=True)):
            slots = [place[0] for place in places if place]  # another block came meanwhile
            stored = dict(zip(slots, await self._stored(token, slots, tag), strict=True))
            raised = _raised(places, needed, stored)
        balance, *allowances = raised
        return StateOverride(balance_lacks, balance, dict(zip(unapproved, allowances, strict=True)))

    async def _layout(
        self, request: RouteRequest, spenders: Sequence[Address], ahead: Sequence[Result]
    ) -> tuple[TokenStorageLayout, Mapping[int, int]]:
        """Return the slots of the sell token, and the words in them as far as `ahead` has them."""
        token = request.sell.address
        layout = await self.layouts.of(token, self._rpc)
        slots = _slots(layout, request.wallet, spenders)
        if len(slots) != len(ahead) or any(isinstance(one, RpcErrorObject) for one in ahead):
            return layout, {}
        words = {
            s: storage_word(token, s, "latest").value(r) for s, r in zip(slots, ahead, strict=True)
        }
        return layout, words

    async def _stored(self, token: Address, slots: Sequence[int], tag: str) -> list[int]:
        """Return the words at block `tag`, or at the latest if a node does not have that block."""
        calls = [storage_word(token, slot, tag) for slot in slots]
        results = await self._rpc.batch(calls)
        if tag != "latest" and any(isinstance(result, RpcErrorObject) for result in results):
            results = await from_block(self._rpc, self._clock, int(tag, 16), calls)
            if any(isinstance(result, RpcErrorObject) for result in results):
                return await self._stored(token, slots, "latest")
        return [call.value(result) for call, result in zip(calls, results, strict=True)]


def _raised(
    places: Sequence[tuple[int, int] | None], needed: Sequence[int], stored: Mapping[int, int]
) -> list[SlotOverride | None]:
    """Return the override of each (slot, current number) to the needed number.

    None where the stored word is not known, or does not hold the current number.
    """
    raised: list[SlotOverride | None] = []
    for place, number in zip(places, needed, strict=True):
        word = stored.get(place[0]) if place else None
        lifted = raised_slot(word, place[1], number) if place and word is not None else None
        raised.append(SlotOverride(place[0], lifted, number) if place and lifted else None)
    return raised


def _slots(layout: TokenStorageLayout, owner: Address, spenders: Sequence[Address]) -> list[int]:
    balance = [layout.balance.balance(owner)] if layout.balance else []
    if layout.allowance is None:
        return balance
    return [*balance, *(layout.allowance.allowance(owner, spender) for spender in spenders)]


_PROBES = (erc20.balance_of(PROBE_OWNER), erc20.allowance(PROBE_OWNER, PROBE_SPENDER))


def probe_call(token: Address) -> Probe:
    """Return the simulation that shows where a token stores balances and allowances."""
    probe = {codec.hex_word(slot): codec.hex_word(word) for slot, word in slot_probe().items()}
    return codec.simulation_call(
        {token: {"stateDiff": probe}},
        [{"to": token, "data": "0x" + data.hex(), "gas": hex(codec.VIEW_GAS)} for data in _PROBES],
    )
