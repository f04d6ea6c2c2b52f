"""Storage overrides with which a wallet seems to hold, and to have approved, what it sells.

Nothing is overridden that the wallet already has, so a wallet that is ready is simulated as it is.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from quietswap.adapters import erc20, slots
from quietswap.adapters.chain_wire import Malformed, octets
from quietswap.adapters.jsonrpc import JsonRpc
from quietswap.adapters.rpc_wire import Call, RpcError, value
from quietswap.adapters.simulation_wire import hex_word, read_calls, simulation_call
from quietswap.adapters.slots import PROBE_OWNER, PROBE_SPENDER, Layout
from quietswap.domain.address import Address
from quietswap.domain.route import SwapRequest
from quietswap.ports.outside import ChainDown, Clock

_LAYOUT_LASTS_S = 3600.0
_UNKNOWN_LASTS_S = 600.0
_LAYOUTS_KEPT = 10_000


class CannotSimulate(Exception):
    """The node does not know eth_simulateV1."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """What the wallet really has of the sell token: its balance, and what each spender may move."""

    balance: int
    allowances: Mapping[Address, int]


@dataclass(frozen=True, slots=True)
class Pretence:
    """What the wallet lacks, and the (slot, word) that supplies it, None where there is none."""

    balance_lacks: bool = False
    balance: tuple[int, int] | None = None
    allowances: Mapping[Address, tuple[int, int] | None] = field(default_factory=dict)

    def obstacle(self, spender: Address) -> str | None:
        """Return why a swap through `spender` cannot be simulated; None when it can."""
        if self.balance_lacks and self.balance is None:
            return "the wallet lacks the sell amount and the token's balance slot is unknown"
        if spender in self.allowances and self.allowances[spender] is None:
            return "the router is not approved and the token's allowance slot is unknown"
        return None

    def words(self, spender: Address) -> dict[int, int]:
        """Return slot → word to override in the sell token for a swap through `spender`."""
        return dict(pair for pair in (self.balance, self.allowances.get(spender)) if pair)


class Pretender:
    """Finds the slots of sell tokens and remembers them for an hour: a proxy may be upgraded.

    That a token has no known slots is believed for ten minutes.
    """

    def __init__(self, rpc: JsonRpc, clock: Clock) -> None:
        self._rpc = rpc
        self._clock = clock
        self._layouts: OrderedDict[Address, tuple[Layout, float]] = OrderedDict()

    async def prepare(self, request: SwapRequest, held: Holdings) -> Pretence:
        """Return what must be overridden. Raises ChainDown and CannotSimulate."""
        amount, owner = request.sell_amount, request.wallet
        unapproved = [s for s, allowed in held.allowances.items() if allowed < amount]
        balance_lacks = held.balance < amount
        if not balance_lacks and not unapproved:
            return Pretence()
        layout = await self._layout(request.sell.address)
        places: list[tuple[int, int] | None] = [None] * (1 + len(unapproved))
        if balance_lacks and layout.balance:
            places[0] = layout.balance.balance(owner), held.balance
        if layout.allowance:
            for i, s in enumerate(unapproved, start=1):
                places[i] = layout.allowance.allowance(owner, s), held.allowances[s]
        balance, *allowances = await self._raised(request.sell.address, places, amount)
        return Pretence(balance_lacks, balance, dict(zip(unapproved, allowances, strict=True)))

    async def _raised(
        self, token: Address, places: Sequence[tuple[int, int] | None], needed: int
    ) -> list[tuple[int, int] | None]:
        """Return (slot, word) for each (slot, current number) so that it reads `needed`."""
        known = [place for place in places if place]
        calls = [Call("eth_getStorageAt", (token, hex_word(slot), "latest")) for slot, _ in known]
        stored = iter([_word(value(r, str)) for r in await self._rpc.batch(calls)])
        raised: list[tuple[int, int] | None] = []
        for place in places:
            lifted = slots.raised(next(stored), place[1], needed) if place else None
            raised.append((place[0], lifted) if place and lifted is not None else None)
        return raised

    async def _layout(self, token: Address) -> Layout:
        found = self._layouts.get(token)
        now = self._clock.monotonic()
        lasts_s = _LAYOUT_LASTS_S if found and found[0].is_known else _UNKNOWN_LASTS_S
        if found is None or now - found[1] >= lasts_s:
            found = await self._probed(token), now
            self._remember(token, *found)
        return found[0]

    def distrust(self, token: Address) -> None:
        """Note that this token does not read back what its layout promised."""
        self._remember(token, Layout(), self._clock.monotonic())

    def _remember(self, token: Address, layout: Layout, at: float) -> None:
        self._layouts[token] = layout, at
        self._layouts.move_to_end(token)
        if len(self._layouts) > _LAYOUTS_KEPT:
            self._layouts.popitem(last=False)

    async def _probed(self, token: Address) -> Layout:
        reads = [erc20.balance_of(PROBE_OWNER), erc20.allowance(PROBE_OWNER, PROBE_SPENDER)]
        call = simulation_call(
            {token: {"stateDiff": {hex_word(s): hex_word(w) for s, w in slots.probe().items()}}},
            [{"to": token, "data": "0x" + data.hex()} for data in reads],
        )
        result = (await self._rpc.batch([call]))[0]
        if isinstance(result, RpcError) and result.is_unsupported:
            raise CannotSimulate
        balance, allowance = read_calls(result, len(reads))
        return slots.identify(balance.number, allowance.number)


def _word(text: str) -> int:
    try:
        return int.from_bytes(octets(text))
    except Malformed as error:
        raise ChainDown(f"eth_getStorageAt: {error}") from error
