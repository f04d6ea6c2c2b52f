"""State overrides that give a wallet the balance and the allowance of a swap.

Existing balances and allowances that suffice are not overridden.
"""

from collections.abc import Sequence

from cachetools import TLRUCache

from quietswap.rules.chain.records import AccountState
from quietswap.rules.chain.rpc_wire import RpcCall, RpcErrorObject, hex_bytes, value
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


class SimulationUnsupported(Exception):
    """The node does not support eth_simulateV1."""


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
    def __init__(self, rpc: NodeRpcClient, clock: Clock, below: next_block.RandBelow) -> None:
        self._rpc = rpc
        self._below = below
        self._clock = clock
        self._layouts = StorageLayouts(clock)

    async def prepare(self, request: RouteRequest, sender: AccountState, tag: str) -> StateOverride:
        """Return the necessary overrides. Raises NodeUnavailable and SimulationUnsupported.

        `sender` is what the wallet has at block `tag`: stored words of another block may contain
        another balance, and the token would then not return the overridden number.

        Overridden amounts are random: the exact sell amount would let a contract detect the
        simulation.
        """
        amount, owner = request.sell_amount, request.wallet
        unapproved = [s for s, allowed in sender.allowances.items() if allowed < amount]
        balance_lacks = sender.sell_balance < amount
        if not balance_lacks and not unapproved:
            return StateOverride()
        layout = await self._layouts.of(request.sell.address, self._rpc)
        places: list[tuple[int, int] | None] = [None] * (1 + len(unapproved))
        if balance_lacks and layout.balance:
            places[0] = layout.balance.balance(owner), sender.sell_balance
        if layout.allowance:
            for i, s in enumerate(unapproved, start=1):
                places[i] = layout.allowance.allowance(owner, s), sender.allowances[s]
        needed = [next_block.plausible_amount(amount, self._below) for _ in places]
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
            lifted = raised_slot(next(stored), place[1], number) if place else None
            if place is None or lifted is None:
                raised.append(None)
            else:
                raised.append(SlotOverride(place[0], lifted, number))
        return raised

    async def _stored(self, token: Address, slots: Sequence[int], tag: str) -> list[int]:
        """Return the words at block `tag`, or at the latest if a node does not have that block."""
        calls = [RpcCall("eth_getStorageAt", (token, codec.hex_word(slot), tag)) for slot in slots]
        results = await self._rpc.batch(calls)
        if tag != "latest" and any(isinstance(result, RpcErrorObject) for result in results):
            results = await from_block(self._rpc, self._clock, int(tag, 16), calls)
            if any(isinstance(result, RpcErrorObject) for result in results):
                return await self._stored(token, slots, "latest")
        return [_word(value(result, str)) for result in results]


async def _probed(token: Address, nodes: NodeReads) -> TokenStorageLayout:
    reads = [erc20.balance_of(PROBE_OWNER), erc20.allowance(PROBE_OWNER, PROBE_SPENDER)]
    probe = {codec.hex_word(slot): codec.hex_word(word) for slot, word in slot_probe().items()}
    call = codec.simulation_call(
        {token: {"stateDiff": probe}},
        [{"to": token, "data": "0x" + data.hex(), "gas": hex(codec.VIEW_GAS)} for data in reads],
    )
    [result] = await nodes.batch([call])
    if isinstance(result, RpcErrorObject) and result.is_unsupported:
        raise SimulationUnsupported
    balance, allowance = codec.read_calls(result, len(reads))
    return identify(balance.number, allowance.number)


def _word(text: str) -> int:
    return int.from_bytes(hex_bytes(text))
