"""The evidence about a tracked order, and the transitions that follow. No I/O and no clock.

Positive evidence is a canonical block: with the order's own transaction, or with another one of
the wallet that has its nonce (a replacement). Missing data is a discrepancy. A discrepancy
decides only if two consecutive blocks confirm it.
"""

from quietswap.rules.chain.pool_reference import Reference
from quietswap.rules.chain.received import Arrival, Refund
from quietswap.rules.chain.records import Receipt
from quietswap.rules.orders.order import (
    Failure,
    FailureCode,
    Inclusion,
    Order,
    OrderEventType,
    OrderKind,
    Transition,
)
from quietswap.rules.orders.tracking import BlockRef, Replacement


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
    place: BlockRef, receipt: Receipt, arrived: Arrival | None, reference: Reference | None
) -> Transition:
    """Return the transition of an order whose receipt is in the canonical block `place`.

    `arrived` is what it brought to the wallet; None for an order that buys nothing.
    """
    inclusion = Inclusion(
        block_number=place.number,
        block_hash=place.hash,
        gas_used=receipt.gas_used,
        effective_gas_price=receipt.effective_gas_price,
        block_time_ms=place.time * 1000,
        succeeded=receipt.succeeded,
        received=arrived.amount if arrived else None,
        received_issue=arrived.issue.value if arrived and arrived.issue else None,
        refund=Refund(),
        reference=reference,
        facts=place.facts,
    )
    evidence = f"block {place.number} {place.hash}"
    if receipt.succeeded:
        return Transition(OrderEventType.INCLUDED, evidence, inclusion=inclusion)
    failure = Failure(FailureCode.REVERTED, f"the transaction reverted in block {place.number}")
    return Transition(OrderEventType.REVERTED, evidence, failure, inclusion)


def replacement_transition(rival: Replacement) -> Transition:
    """Return the transition for a nonce that a known transaction used."""
    evidence = f"block {rival.block.number} {rival.block.hash}: {rival.failure.message}"
    return Transition(OrderEventType.NONCE_TAKEN, evidence, rival.failure)


def nonce_consumed_transition(block: str) -> Transition:
    """Return the transition for a nonce that no transaction of the wallet used; `block` proves it.

    The wallet's own code used it: it created a contract, or was set by an authorization (EIP-7702).
    """
    text = "the wallet's nonce was used by another transaction"
    evidence = (
        f"no receipt, no block since it was posted has a transaction with its nonce, and at block"
        f" {block} the nonce is used"
    )
    failure = Failure(FailureCode.NONCE_CONSUMED, text)
    return Transition(OrderEventType.NONCE_TAKEN, evidence, failure)


def reorg_transition(order: Order) -> Transition:
    """Return the transition that takes a verdict back."""
    was = order.inclusion
    reorganised = f"block {was.block_number} {was.block_hash}" if was else "what took the nonce"
    return Transition(OrderEventType.REORGANISED, f"{reorganised} is no longer canonical")


def expiry_transition(hint: str | None) -> Transition:
    """Return the transition of an expired order; `hint` is the relay's unproven report."""
    text = "not mined in time, and not sent any more; until its nonce is used it may still be mined"
    evidence = f"expired, and the relay was asked to drop it; its status: {hint or 'none'}"
    return Transition(OrderEventType.EXPIRED, evidence, Failure(FailureCode.EXPIRED, text))


def deadline_transition(deadline_s: int, block: BlockRef) -> Transition:
    """Return the transition of an order whose router's deadline was past in `block`."""
    text = (
        "not mined in time: its router's deadline is past, so it can never swap; a block could"
        " hold it only as a revert, which costs gas"
    )
    past = f"of {block.time} is past its deadline {deadline_s}"
    evidence = f"block {block.number} {block.hash} {past}"
    return Transition(OrderEventType.EXPIRED, evidence, Failure(FailureCode.EXPIRED, text))


def new_head_transition(head: int) -> Transition:
    """Return the transition of an accepted order after a new block."""
    return Transition(OrderEventType.NEW_HEAD, f"block {head} came and the relay has it")
