"""The evidence about a tracked order, and the transitions that follow. No I/O and no clock.

Positive evidence is a canonical block: with the order's own transaction, or with another one of the
wallet that has its nonce (a replacement). Missing data is a discrepancy. A discrepancy decides only
if two consecutive blocks confirm it.
"""

from quietswap.domain.order.order import (
    Failure,
    FailureCode,
    Inclusion,
    Order,
    OrderEventType,
    OrderKind,
    Transition,
)
from quietswap.domain.order.received import Arrival, Refund
from quietswap.domain.tracking.canonical_chain import BlockRef
from quietswap.domain.tracking.rules import Replacement


def replacement_failure(order: Order, tx_hash: str, to: str | None, data_size: int) -> Failure:
    """Return the order's failure if another transaction used its nonce.

    A wallet cancels by a self-transfer without data.
    """
    if to == order.wallet and data_size == 0:
        return Failure(FailureCode.USER_CANCELLED, "the wallet cancelled it by an empty transfer")
    return Failure(FailureCode.REPLACED, f"transaction {tx_hash} of the wallet used its nonce")


def failure_by(winner: Order, loser: Order) -> Failure:
    """Return the failure of `loser` if our order `winner` with the same nonce is in a block."""
    if winner.kind is OrderKind.CANCEL:
        return replacement_failure(loser, winner.tx_hash, winner.wallet, 0)
    return replacement_failure(loser, winner.tx_hash, None, 1)


def inclusion_transition(
    place: BlockRef, succeeded: bool, gas_used: int, price: int, arrived: Arrival | None = None
) -> Transition:
    """Return the transition of an order whose receipt is in the canonical block `place`.

    `arrived` is what it brought to the wallet; None for an order that buys nothing.
    """
    inclusion = Inclusion(
        block_number=place.number,
        block_hash=place.hash,
        gas_used=gas_used,
        effective_gas_price=price,
        block_time_ms=place.time * 1000,
        succeeded=succeeded,
        received=arrived.amount if arrived else None,
        received_issue=arrived.issue.value if arrived and arrived.issue else None,
        refund=Refund(),
    )
    evidence = f"block {place.number} {place.hash}"
    if succeeded:
        return Transition(OrderEventType.INCLUDED, evidence, inclusion=inclusion)
    failure = Failure(FailureCode.REVERTED, f"the transaction reverted in block {place.number}")
    return Transition(OrderEventType.REVERTED, evidence, failure, inclusion)


def replacement_transition(rival: Replacement) -> Transition:
    """Return the transition for a nonce that a known transaction used."""
    evidence = f"block {rival.block.number} {rival.block.hash}: {rival.failure.message}"
    return Transition(OrderEventType.NONCE_TAKEN, evidence, rival.failure)


def nonce_consumed_transition(head: int) -> Transition:
    """Return the transition for a nonce that an unknown transaction used."""
    text = "the wallet's nonce was used by another transaction"
    evidence = f"no receipt and a higher nonce at two blocks in a row, the second {head}"
    return Transition(
        OrderEventType.NONCE_TAKEN, evidence, Failure(FailureCode.NONCE_CONSUMED, text)
    )


def reorg_transition(order: Order) -> Transition:
    """Return the transition that takes a verdict back."""
    was = order.inclusion
    what = f"block {was.block_number} {was.block_hash}" if was else "what took the nonce"
    return Transition(OrderEventType.REORGANISED, f"{what} is no longer canonical")


def expiry_transition(hint: str | None) -> Transition:
    """Return the transition of an expired order; `hint` is the relay's unproven report."""
    text = "not mined in time, and not sent any more; until its nonce is used it may still be mined"
    evidence = f"its time is over, the relay was asked to forget it; {hint or 'it says nothing'}"
    return Transition(OrderEventType.EXPIRED, evidence, Failure(FailureCode.EXPIRED, text))


def new_head_transition(head: int) -> Transition:
    """Return the transition of an accepted order after a new block."""
    return Transition(OrderEventType.NEW_HEAD, f"block {head} came and the relay has it")
