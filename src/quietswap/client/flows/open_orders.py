"""Open orders of a wallet, to keep other transactions of the wallet from using their nonces.

Orders are private. No node counts their nonces, so only the service's history shows them.
"""

from quietswap.client import api_calls, node_calls
from quietswap.client.errors.flow import QuoteDeclined
from quietswap.client.flows.effects import Flow, perform
from quietswap.client.flows.polling import PollingPolicy, retry_transient
from quietswap.contract.base import TERMINAL
from quietswap.contract.limits import MAX_LIMIT
from quietswap.contract.requests import ANY_KIND
from quietswap.domain.order.order import OrderStatus


def find_open_order(wallet: str, polling: PollingPolicy, *, has_node: bool) -> Flow[str | None]:
    """Return the id of an open order of `wallet`; None if the service reports none.

    Orders of all kinds count, because each has a nonce. One that the caller's node has in a block
    does not: its nonce is used, though the service may wait for more blocks. The service shows the
    orders of the caller's API client only. Each open status is requested separately, in the order
    of the transitions. So a long history, or a change of status between two requests, cannot hide
    an open order.
    """
    for status in OrderStatus:
        if status.value in TERMINAL:
            continue
        call = api_calls.order_history(
            wallet, limit=MAX_LIMIT, offset=0, status=status.value, kind=ANY_KIND
        )
        page = yield from retry_transient(call, polling)
        for item in page.orders:
            if item.status in TERMINAL:
                continue
            if not (has_node and (yield from _is_mined(item.tx_hash))):
                return item.order_id
    return None


def _is_mined(tx_hash: str | None) -> Flow[bool]:
    return tx_hash is not None and (yield from perform(node_calls.receipt(tx_hash))) is not None


def require_no_open_order(
    wallet: str, what: str, polling: PollingPolicy, *, has_node: bool
) -> Flow[None]:
    """Refuse `what` while an order is open, because it could use that order's nonce.

    Raises QuoteDeclined.
    """
    found = yield from find_open_order(wallet, polling, has_node=has_node)
    if found is not None:
        raise QuoteDeclined(
            f"order {found} is open, and {what} could take its nonce and cancel it: wait until it"
            " is decided, or give replace (--replace)"
        )
