"""What a relay's answer means for an order: a move with its evidence, or nothing.

The relay never has the last word about the chain: what it says about nonces is checked at the node.
"""

from quietswap.domain.order import Failure, FailureCode, Move, Order, Sighting
from quietswap.ports.outside import Chain, ChainDown, RelayAnswer, RelayOutcome
from quietswap.ports.stores import OrderStore

_ACCEPTED = {
    RelayOutcome.ACCEPTED: "the relay accepted it",
    RelayOutcome.HELD: "the relay already holds it",
}
_REFUSED = {
    RelayOutcome.NO_FUNDS: "the relay says the wallet cannot pay for it",
    RelayOutcome.INVALID: "the relay refused it as invalid",
    RelayOutcome.WOULD_REVERT: "the relay's simulation says it would revert",
}
_UNDECIDED = frozenset({RelayOutcome.BUSY, RelayOutcome.SILENT})


async def move_after(
    answer: RelayAnswer, order: Order, orders: OrderStore, chain: Chain
) -> Move | None:
    """Return the move `answer` calls for; None when it decides nothing.

    Raises StoreDown; a node that is away only leaves it undecided.
    """
    outcome = answer.outcome
    if outcome in _UNDECIDED:
        return None
    if outcome in _ACCEPTED:
        return _accepted(_ACCEPTED[outcome])
    if outcome in _REFUSED:
        text = f"{_REFUSED[outcome]}: {answer.reason}" if answer.reason else _REFUSED[outcome]
        return _dead(Sighting.REFUSED, FailureCode.REFUSED, text)
    if outcome is RelayOutcome.CONFLICT:
        return await _conflict(order, orders)
    if outcome is RelayOutcome.NONCE_USED:
        return await _nonce_used(order, chain)
    text = "the relay could not be reached: nothing was sent"
    return _dead(Sighting.NOT_SENT, FailureCode.NOT_SENT, text)


def _accepted(evidence: str) -> Move:
    return Move(Sighting.RELAY_ACCEPTED, evidence)


def _dead(sighting: Sighting, code: FailureCode, text: str) -> Move:
    return Move(sighting, text, Failure(code, text))


async def _conflict(order: Order, orders: OrderStore) -> Move:
    """Tell these very bytes, held already, from another live order with the same nonce."""
    live = list(await orders.live_nonces(order.wallet))
    if live.count(order.nonce) > (not order.status.is_terminal):
        text = "the relay holds another transaction of this wallet with the same nonce"
        return _dead(Sighting.REFUSED, FailureCode.REFUSED, text)
    return _accepted("the relay holds a transaction with this nonce, and no other is known")


async def _nonce_used(order: Order, chain: Chain) -> Move | None:
    """Ask the node: mined already, taken by another transaction, or is the relay wrong?"""
    try:
        if (await chain.receipts([order.tx_hash]))[order.tx_hash] is not None:
            return _accepted("the relay had it: the node has its receipt")
        latest = (await chain.nonces([order.wallet]))[order.wallet]
    except ChainDown:
        return None
    if latest <= order.nonce:
        return None
    text = "another transaction of the wallet has already used the nonce"
    return _dead(Sighting.REFUSED, FailureCode.REFUSED, text)
