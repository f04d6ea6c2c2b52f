"""The judgement of a tried swap, for the service and the Python client.

A swap is good if it succeeds, takes no more than the sell amount from the wallet, moves and
approves nothing else of it, and delivers the minimum to it, also after a fee on transfer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from quietswap.rules.chain.records import SimulationResult
from quietswap.rules.quotes.transfer_fee_measurement import lost
from quietswap.rules.safety.wallet_effects import SwapBounds, arrived, broken_rule
from quietswap.rules.trial import codec
from quietswap.rules.trial.swap_trial import RanTrial, SwapTrial

GAS_MULTIPLE_HALVES, MODEST_GAS = 7, 500_000
"""Limits up to 3.5 times the gas used, or of up to 500 000, are accepted."""


@dataclass(frozen=True, slots=True)
class WalletBefore:
    """Before the swap, in smallest units: balances of the wallet, and what the router may move.

    None for a number that the token does not tell.
    """

    sell: int | None
    buy: int | None
    allowance: int | None


class Fault(Enum):
    """Why a tried swap must not be signed or sent."""

    UNKNOWN = auto()
    """It could not be simulated: `SimulationResult.reason`."""
    REVERTS = auto()
    BREAKS_A_RULE = auto()
    """It does something to the wallet that it must not do: `SimulationResult.broken`."""
    SHORT = auto()
    """It delivers less than the minimum."""


def fault(result: SimulationResult, min_buy_amount: int) -> Fault | None:
    """Return the first fault of a tried swap; None if it keeps its terms."""
    if result.succeeded is None:
        return Fault.UNKNOWN
    if not result.succeeded:
        return Fault.REVERTS
    if result.broken is not None:
        return Fault.BREAKS_A_RULE
    if result.received is None or result.received < min_buy_amount:
        return Fault.SHORT
    return None


def exceeds_gas(limit: int, peak: int) -> bool:
    """Return whether a signed gas limit is far above the `peak` of the gas used, before refunds.

    It could cost much more than the trial. The service sets up to 2.5 times the peak. A node that
    tells only the gas after refunds shows a peak that is a fifth too small (EIP-3529), from
    Amsterdam on more: see `enough_gas`. Small limits do not justify a second simulation.
    """
    return limit > max(peak * GAS_MULTIPLE_HALVES // 2, MODEST_GAS)


def enough_gas(limit: int) -> int:
    """Return the gas with which a swap succeeds as well, if `limit` is far above its peak.

    It is for a node that tells no peak, from Amsterdam on: the gas of storage that is set and
    cleared again is needed, and given back in full (EIP-8037). A balance that a route leaves as it
    was is such storage, so a route of four steps shows less than half of what it needs. A contract
    may refuse to run with less gas, as it may use more of it: the fee is that of the limit then,
    which is shown and bounded before it is signed.
    """
    return limit * 2 // GAS_MULTIPLE_HALVES


def delivered(
    swap: codec.SimulatedCall, before: int | None, after: int | None, unwrapped: int = 0
) -> SimulationResult:
    """Return whether the swap succeeded, and what the wallet gained of the buy token by it.

    `before` and `after` are its balances of the token, None if the token does not tell them.
    `unwrapped` is what the same transaction turned into ETH again. What it gained may be negative.
    """
    if not swap.succeeded:
        return SimulationResult(False, reason=swap.reason)
    if before is None or after is None:
        return SimulationResult(None, reason="the buy token does not tell the wallet's balance")
    gained = after - before + unwrapped
    return SimulationResult(True, gained, swap.gas, gas_used=swap.gas_used)


def judged(trial: SwapTrial, ran: RanTrial, before: WalletBefore) -> SimulationResult:
    """Return the result of a swap and of the views after it. Raises MalformedResult.

    The minimum is judged by `fault`, the gas limit by the caller.
    """
    swap = ran.swap
    sell, buy, *others = ran.views
    if swap.succeeded and sell.number is None:
        return SimulationResult(None, reason="the sell token does not tell the wallet's balance")
    result = delivered(swap, before.buy, buy.number, trial.unwrapped)
    if result.received is None:
        return result
    if trial.is_batched:
        *others, left, mode = others
        unbatched = _unbatched(left, mode)
        if unbatched is not None:
            return replace(result, broken=unbatched)
    logs = codec.logs_about(trial.wallet, swap.logs)
    if logs is None:
        unread = "its logs about the wallet are too many or too large to be read"
        return replace(result, broken=unread)
    allowance = trial.sell_amount if trial.is_batched else before.allowance or 0
    broken = broken_rule(
        logs,
        SwapBounds(
            trial.wallet,
            trial.router,
            trial.sell_token,
            trial.sell_amount,
            allowance,
            trial.wrapped,
            trial.unwrapped,
        ),
        balance_before=before.sell,
        balance_after=sell.number,
    )
    if broken is not None or trial.payer is None:
        return replace(result, broken=broken)
    missing = arrived(logs, trial.wallet, trial.buy_token) - max(result.received, 0)
    fee = _transfer_fee(trial.min_buy_amount, buy.number, others, missing)
    return replace(result, broken=fee, takes_fee=fee is not None)


def _unbatched(left: codec.SimulatedCall, mode: codec.SimulatedCall) -> str | None:
    """Return the rule that the code of a delegated wallet breaks, or None."""
    if mode.number != 1:
        return "the wallet's code does not support the mode of the batch"
    return f"it leaves the router an allowance of {left.number}" if left.number != 0 else None


def _transfer_fee(
    sent: int, held: int | None, steps: Sequence[codec.SimulatedCall], missing: int
) -> str | None:
    """Return the reason if the buy token takes a transfer fee, which the router does not detect.

    The wallet, which `held` the token after the swap, received less than the logs of the swap show
    (`missing`), or less than the probe sent.
    """
    _, _, back, _, collected = steps
    rule = "and this router's minimum holds only before it"
    if missing > 0:
        return f"{missing} of the buy token were taken as a fee on transfer, {rule}"
    unknown = held is None or any(not step.succeeded for step in steps)
    if unknown or back.number is None or collected.number is None:
        return f"the buy token's fee on transfer cannot be measured, {rule}"
    gone = lost(sent, held or 0, back.number, collected.number)
    if gone > 0:
        return f"the buy token takes a fee on transfer ({gone} of {sent}), {rule}"
    return None
