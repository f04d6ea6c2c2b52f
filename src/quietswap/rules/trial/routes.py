"""The trials of many candidates in one quote: all payloads on the same block, from the same state.

The limit of gas and the fees are those of the transaction that would be issued. What a payload
contains says `swap_trial.py`, and `verdict.py` whether its result is good.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from quietswap.rules.chain.records import AccountState, SimulationResult
from quietswap.rules.chain.rpc_wire import Result, RpcCall, RpcErrorObject
from quietswap.rules.quotes.quote import Route, RouteRequest
from quietswap.rules.safety.calldata import payer
from quietswap.rules.tokens import erc20
from quietswap.rules.trial import codec, next_block, swap_trial, verdict
from quietswap.rules.trial.state_override import StateOverride
from quietswap.rules.trial.swap_trial import StateOverrides, SwapTrial, merged
from quietswap.rules.trial.verdict import WalletBefore
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


def measures_itself(route: Route) -> bool:
    """Return whether the router compares its own balance; True if unknown."""
    return swap_trial.measures_itself(route.target, route.data)


@dataclass(frozen=True, slots=True)
class BalancesBefore:
    """The wallet's balances before each swap; None if a token does not return them.

    `block` is number and parent of the simulated block, which must be the same in all payloads.
    """

    block: str
    sell: int | None
    buy: int | None
    allowances: Mapping[Address, int | None]


_Frame = tuple[msgspec.Raw, msgspec.Raw]


class RouteSimulationCodec:
    """Builds and reads the simulations of one request. `below` returns random numbers."""

    dearest_view = 0
    """Gas of the dearest view of the two tokens so far."""

    def __init__(
        self,
        request: RouteRequest,
        block: next_block.NextBlock,
        sender: AccountState,
        override: StateOverride,
        *,
        below: next_block.RandBelow,
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
        self._reader = swap_trial.reader(request.wallet, block, below)
        self._before: dict[next_block.NextBlock, msgspec.Raw] = {}
        self._frames: dict[next_block.NextBlock, _Frame] = {}

    def obstacle(self, route: Route) -> str | None:
        return self.override.obstacle(route.spender)

    def trial(self, route: Route) -> SwapTrial:
        request, target, data = self.request, route.target, route.data
        return SwapTrial(
            wallet=request.wallet,
            router=route.spender,
            sell_token=self.sell,
            sell_amount=request.sell_amount,
            buy_token=request.buy.address,
            min_buy_amount=route.min_buy_amount,
            payer=payer(target, data, request.buy.address) if self.measures_itself(route) else None,
        )

    def before_call(self, block: next_block.NextBlock) -> RpcCall:
        """Return the simulation that reads both balances and the allowance of each spender."""
        only = self._before.get(block)
        if only is None:
            only = self._before[block] = msgspec.Raw(msgspec.json.encode(self._only(block)))
        return swap_trial.views_call(block, only)

    def _only(self, block: next_block.NextBlock) -> dict[str, object]:
        wallet = self.request.wallet
        words: dict[int, int] = {}
        for spender in self._spenders:
            words |= self.override.words(spender)
        balance_call = erc20.balance_of(wallet)
        views = [(self.sell, balance_call), (self.request.buy.address, balance_call)]
        views += [(self.sell, erc20.allowance(wallet, spender)) for spender in self._spenders]
        calls = [swap_trial.view(block, wallet, to, data) for to, data in views]
        state = merged(self._reader, self._written(words))
        return swap_trial.views_block(block, calls, state, later=0)

    def swap_call(self, block: next_block.NextBlock, route: Route, limit: int) -> RpcCall:
        wallet, trial = self.request.wallet, self.trial(route)
        fee = self._max_fee(limit, trial.wrapped)
        wei: StateOverrides = {}
        needed = limit * fee + trial.wrapped
        if self._eth < needed:
            wei = swap_trial.plausible_balance(wallet, needed, self.below)
        to, data = self._call_of(route)
        call = codec.call_object(wallet, to, data, value=route.value, gas=limit, max_fee=fee)
        overrides, reads = self._frame(block, trial)
        state = merged(wei, self._written(self.override.words(route.spender)))
        after = reads if trial.payer is None else self._after(trial, block)
        return swap_trial.trial_call(block, call, after, state, overrides)

    def _call_of(self, route: Route) -> tuple[Address, bytes]:
        return route.target, route.data

    def _frame(self, block: next_block.NextBlock, trial: SwapTrial) -> _Frame:
        """Return the common part of all payloads as JSON: overrides and the block of views."""
        frame = self._frames.get(block)
        if frame is None:
            parts = block.overrides(), self._after(replace(trial, payer=None), block)
            first, second = (msgspec.Raw(msgspec.json.encode(part)) for part in parts)
            frame = self._frames[block] = first, second
        return frame

    def _after(self, trial: SwapTrial, block: next_block.NextBlock) -> dict[str, object]:
        return swap_trial.after_swap(trial, block, self._reader, self.below)

    def _max_fee(self, limit: int, wrapped: int) -> int:
        return fees.max_fee_per_gas(
            self.block.head.next_base_fee,
            fees.SWAP_FEE_MULTIPLE,
            gas_limit=limit,
            balance=self._eth,
            value=wrapped,
        )

    def _written(self, words: Mapping[int, int]) -> StateOverrides:
        """Return the override of storage slots of the sell token."""
        state = {codec.hex_word(slot): codec.hex_word(word) for slot, word in words.items()}
        return {self.sell: {"stateDiff": state}} if state else {}

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
        trial = self.trial(route)
        ran = swap_trial.read_trial(result, trial)
        self._note_views(ran.views)
        if ran.block != before.block:
            return SimulationResult(None, reason=OTHER_BLOCK), 0
        allowance = before.allowances[route.spender]
        lacks = (before.sell or 0) + trial.wrapped < trial.sell_amount
        unapproved = not trial.is_batched and (allowance or 0) < trial.sell_amount
        reads_back = self.override.reads_back(route.spender, before.sell, allowance)
        if lacks or unapproved or not reads_back:
            reason = "the sell token does not return the balance or allowance of the swap"
            return SimulationResult(None, reason=reason), 0
        wallet = WalletBefore(before.sell, before.buy, allowance)
        judged = verdict.judged(trial, ran, wallet)
        if judged.succeeded is None:
            return judged, 0
        received = None if judged.received is None else max(judged.received, 0)
        return replace(judged, received=received, gas_limit=limit, block=ran.block), ran.swap.gas

    def _note_views(self, views: Iterable[codec.SimulatedCall]) -> None:
        self.dearest_view = max(self.dearest_view, *(view.gas for view in views))


def _not_simulated(error: RpcErrorObject) -> str:
    return f"not simulated: {error.message}"[:120]
