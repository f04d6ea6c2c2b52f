"""The simulation of one swap: requests to the node, and the meaning of its responses.

The first block of a payload contains only the swap, with fees and gas limit of the transaction that
would be issued. The second block reads the balances. For a router that compares its own balance
with the minimum, it also measures the transfer fee of the buy token.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from quietswap.rules.chain.records import AccountState, SimulationResult
from quietswap.rules.chain.rpc_wire import Result, RpcCall, RpcErrorObject
from quietswap.rules.quotes.quote import Route, RouteRequest
from quietswap.rules.quotes.transfer_fee_measurement import STEPS, TransferFeeProbe, forwarder, lost
from quietswap.rules.routers.method import Measure
from quietswap.rules.safety.calldata import payer
from quietswap.rules.safety.methods import measure
from quietswap.rules.safety.wallet_effects import SwapBounds, arrived, broken_rule
from quietswap.rules.tokens import erc20
from quietswap.rules.trial import codec
from quietswap.rules.trial.state_override import StateOverride
from quietswap.rules.tx import fees
from quietswap.rules.tx.address import Address

MeasuresItself = Callable[[Route], bool]
"""Returns whether the router of a route compares its own balance with the minimum output. It then
does not detect a fee on the last transfer, to the wallet."""

LimitedRoute = tuple[Route, int]
"""A route, and the gas limit it runs with."""
RanSwap = tuple[SimulationResult, int]
"""The result of a swap and the gas it used, 0 if unknown."""

OTHER_BLOCK = "a new block came during the simulation"

_MOST_VIEWS = 20


def measures_itself(route: Route) -> bool:
    """Return whether the router compares its own balance; True if unknown."""
    return measure(route.target, route.data) is not Measure.RECIPIENT


@dataclass(frozen=True, slots=True)
class BalancesBefore:
    """The wallet's balances before each swap; None if a token does not return them.

    `block` is number and parent of the simulated block, which must be the same in all payloads.
    """

    block: str
    sell: int | None
    buy: int | None
    allowances: Mapping[Address, int | None]


_Frame = tuple[msgspec.Raw, msgspec.Raw, Mapping[Address, dict[str, dict[str, str]]]]


class RouteSimulationCodec:
    """Builds and reads the simulations of one request. `below` returns random numbers."""

    _further = 0
    """Views that a subclass appends to the second block."""
    dearest_view = 0
    """Gas of the dearest view of the two tokens so far."""

    def __init__(
        self,
        request: RouteRequest,
        block: codec.NextBlock,
        sender: AccountState,
        override: StateOverride,
        *,
        below: codec.RandBelow,
        measures_itself: MeasuresItself,
    ) -> None:
        self.block = block
        self.sell = request.sell.address
        self.request = request
        self.sender = sender
        self._eth = sender.eth_balance
        self._spenders = list(sender.allowances)
        self.override = override
        self.below = below
        self.measures_itself = measures_itself
        self._view_fee = self._max_fee(codec.VIEW_GAS)
        self._reader_wei = codec.plausible_wei(_MOST_VIEWS * codec.VIEW_GAS * self._view_fee, below)
        held = erc20.balance_of(request.wallet)
        self._balances = [self._view(self.sell, held), self._view(request.buy.address, held)]
        self._before: dict[codec.NextBlock, msgspec.Raw] = {}
        self._frames: dict[codec.NextBlock, _Frame] = {}

    def obstacle(self, route: Route) -> str | None:
        return self.override.obstacle(route.spender)

    def before_call(self, block: codec.NextBlock) -> RpcCall:
        """Return the simulation that reads both balances and the allowance of each spender."""
        only = self._before.get(block)
        if only is None:
            only = self._before[block] = msgspec.Raw(msgspec.json.encode(self._only(block)))
        return codec.blocks_call([only], block.tag, validation=block.exact)

    def _only(self, block: codec.NextBlock) -> dict[str, object]:
        wallet = self.request.wallet
        words: dict[int, int] = {}
        for spender in self._spenders:
            words |= self.override.words(spender)
        approved = [self._view(self.sell, erc20.allowance(wallet, s)) for s in self._spenders]
        return {
            "blockOverrides": self._frame(block)[0],
            "stateOverrides": self._overrides(words, self._reader_wei),
            "calls": self._balances + approved,
        }

    def swap_call(self, block: codec.NextBlock, route: Route, limit: int) -> RpcCall:
        fee = self._max_fee(limit)
        lacks_wei = self._eth < limit * fee
        wei = codec.plausible_wei(limit * fee, self.below) if lacks_wei else None
        to, data = self._called(route)
        call = codec.call_object(
            self.request.wallet, to, data, value=route.value, gas=limit, max_fee=fee
        )
        overrides, reads, history = self._frame(block)
        state = self._overrides(self.override.words(route.spender), wei)
        for address, fields in history.items():
            state[address] = state.get(address, {}) | fields  # the wallet may be one of the two
        first = {
            "blockOverrides": overrides,
            "stateOverrides": state,
            "calls": [call],
        }
        second = self._probing(block, route) if self.measures_itself(route) else reads
        return codec.blocks_call([first, second], block.tag, validation=block.exact, transfers=True)

    def _called(self, route: Route) -> tuple[Address, bytes]:
        return route.target, route.data

    def _frame(self, block: codec.NextBlock) -> _Frame:
        """Return the common part of all payloads: overrides and second block as JSON, history."""
        frame = self._frames.get(block)
        if frame is None:
            parts = block.overrides(), self._second(block, self._balances)
            first, second = (msgspec.Raw(msgspec.json.encode(part)) for part in parts)
            frame = self._frames[block] = first, second, block.history()
        return frame

    def _second(self, block: codec.NextBlock, calls: Sequence[object]) -> dict[str, object]:
        return {
            "blockOverrides": block.overrides(later=1),
            "stateOverrides": self._overrides({}, self._reader_wei),
            "calls": calls,
        }

    def _probing(self, block: codec.NextBlock, route: Route) -> dict[str, object]:
        """Return the second block, with the measurement of the transfer fee."""
        probe = self._probe(route)
        steps = [self._view(target, data) for target, data in probe.steps()]
        second = self._second(block, [*self._balances, *steps])
        overrides = self._overrides({}, self._reader_wei)
        overrides.setdefault(probe.payer, {})["code"] = "0x" + forwarder(probe.token).hex()
        return second | {"stateOverrides": overrides}

    def _probe(self, route: Route) -> TransferFeeProbe:
        buy = self.request.buy.address
        collector = codec.unused_address(self.below)
        paid_by = payer(route.target, route.data, buy)
        return TransferFeeProbe(self.request.wallet, paid_by, collector, buy, route.min_buy_amount)

    def _view(self, target: Address, data: bytes) -> dict[str, object]:
        fee = self._view_fee
        return codec.call_object(self.request.wallet, target, data, gas=codec.VIEW_GAS, max_fee=fee)

    def _max_fee(self, limit: int) -> int:
        return fees.max_fee_per_gas(
            self.block.head.next_base_fee,
            fees.SWAP_FEE_MULTIPLE,
            gas_limit=limit,
            balance=self._eth,
        )

    def _overrides(
        self, words: Mapping[int, int], wei: int | None
    ) -> dict[Address, dict[str, object]]:
        """Return them by address. The wallet may be the sell token: anybody may ask for that."""
        overrides: dict[Address, dict[str, object]] = {}
        if wei is not None:
            overrides[self.request.wallet] = {"balance": hex(wei)}
        if words:
            state = {codec.hex_word(slot): codec.hex_word(word) for slot, word in words.items()}
            overrides.setdefault(self.sell, {})["stateDiff"] = state
        return overrides

    def read_before(self, result: Result) -> BalancesBefore | str:
        """Return the balances before the swaps, or the reason for none. Raises NodeUnavailable."""
        if isinstance(result, RpcErrorObject):
            return _not_simulated(result)
        [(block, (sell, buy, *allowed))] = codec.read_blocks(result, 2 + len(self._spenders))
        self._note_views((sell, buy, *allowed))
        numbers = [one.number for one in allowed]
        return BalancesBefore(
            block, sell.number, buy.number, dict(zip(self._spenders, numbers, strict=True))
        )

    def read_all(
        self, results: Sequence[Result], before: BalancesBefore, rows: Sequence[LimitedRoute]
    ) -> list[RanSwap]:
        return [
            self._read(result, before, route, limit)
            for result, (route, limit) in zip(results, rows, strict=True)
        ]

    def _read(self, result: Result, before: BalancesBefore, route: Route, limit: int) -> RanSwap:
        if isinstance(result, RpcErrorObject):
            return SimulationResult(None, reason=_not_simulated(result)), 0
        after_count = 2 + self._further + (STEPS if self.measures_itself(route) else 0)
        (block, (swap,)), (_, after) = codec.read_blocks(result, 1, after_count)
        self._note_views(after)
        if block != before.block:
            return SimulationResult(None, reason=OTHER_BLOCK), 0
        held, approved = before.sell or 0, before.allowances[route.spender]
        if min(
            held, self._approved(before, route)
        ) < self.request.sell_amount or not self.override.reads_back(
            route.spender, before.sell, approved
        ):
            reason = "the sell token does not return the balance or allowance of the swap"
            return SimulationResult(None, reason=reason), 0
        if not swap.succeeded:
            reverted = SimulationResult(False, reason=swap.reason, gas_limit=limit, block=block)
            return reverted, swap.gas
        sell, buy = after[0].number, after[1].number
        if before.buy is None or buy is None or sell is None:
            which = "sell" if sell is None else "buy"
            reason = f"the {which} token does not tell the wallet's balance"
            return SimulationResult(None, reason=reason), 0
        received = max(buy - before.buy, 0)
        broken = self._broken(swap, before, route, received, after)
        return SimulationResult(True, received, swap.gas, None, broken, limit, block), swap.gas

    def _note_views(self, views: Iterable[codec.SimulatedCall]) -> None:
        self.dearest_view = max(self.dearest_view, *(view.gas for view in views))

    def _approved(self, before: BalancesBefore, route: Route) -> int:
        """Return what the router may move when the swap begins."""
        return before.allowances[route.spender] or 0

    def _broken(
        self,
        swap: codec.SimulatedCall,
        before: BalancesBefore,
        route: Route,
        received: int,
        after: Sequence[codec.SimulatedCall],
    ) -> str | None:
        """Return the rule that a successful swap breaks for the wallet, or None."""
        wallet = self.request.wallet
        logs = codec.logs_about(wallet, swap.logs)
        if logs is None:
            return "its logs about the wallet are too many or too large to be read"
        approved, amount = self._approved(before, route), self.request.sell_amount
        broken = broken_rule(
            logs,
            SwapBounds(wallet, route.spender, self.sell, amount, approved),
            balance_before=before.sell,
            balance_after=after[0].number,
        )
        if broken is not None or not self.measures_itself(route):
            return broken
        announced = arrived(logs, wallet, self.request.buy.address)
        return _transfer_fee(route.min_buy_amount, after[1:], announced - received)


def _transfer_fee(sent: int, views: Sequence[codec.SimulatedCall], missing: int) -> str | None:
    """Return the reason if the buy token takes a transfer fee, which the router does not detect.

    The wallet received less than the logs of the swap show, or less than the probe sent.
    """
    held, *steps = views
    _, _, back, _, collected = steps
    rule = "and this router's minimum holds only before it"
    if missing > 0:
        return f"{missing} of the buy token were taken as a fee on transfer, {rule}"
    unknown = any(not step.succeeded for step in steps) or held.number is None
    if unknown or back.number is None or collected.number is None:
        return f"the buy token's fee on transfer cannot be measured, {rule}"
    gone = lost(sent, held.number or 0, back.number, collected.number)
    if gone > 0:
        return f"the buy token takes a fee on transfer ({gone} of {sent}), {rule}"
    return None


def _not_simulated(error: RpcErrorObject) -> str:
    return f"not simulated: {error.message}"[:120]
