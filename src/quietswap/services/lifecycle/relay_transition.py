"""The transition that a relay's response justifies, checked at the order store and the node."""

from quietswap.domain.order.order import Order, Transition
from quietswap.domain.order.relay_response import (
    EarlierSend,
    RelayOutcome,
    RelayResponse,
    answer_transition,
    conflict_transition,
    nonce_used_transition,
)
from quietswap.ports.chain import ChainReader, NodeUnavailable
from quietswap.ports.stores import OrderStore

RELAY_SAID = "relay_said"
"""The event type of a response that changes no status."""


async def transition_for_response(
    answer: RelayResponse,
    order: Order,
    orders: OrderStore,
    chain: ChainReader,
    earlier: EarlierSend,
) -> Transition | None:
    """Return the transition; None if the response decides nothing, or the node cannot tell.

    Raises StoreUnavailable.
    """
    if answer.outcome is RelayOutcome.CONFLICT:
        live = list(await orders.live_nonces(order.wallet))
        has_rival = live.count(order.nonce) > (not order.status.is_terminal)
        return conflict_transition(order, has_rival=has_rival)
    if answer.outcome is not RelayOutcome.NONCE_USED:
        return answer_transition(answer, earlier)
    try:
        receipts = await chain.receipts([order.tx_hash])
        if order.tx_hash not in receipts:
            return None
        if receipts[order.tx_hash] is not None:
            return nonce_used_transition(order, is_mined=True, next_nonce=0)
        used = (await chain.nonces([order.wallet]))[order.wallet]
    except NodeUnavailable:
        return None
    return nonce_used_transition(order, is_mined=False, next_nonce=used)
