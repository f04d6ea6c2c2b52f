"""Open orders of a wallet, to keep other transactions of the wallet from using their nonces.

Orders are private. No node counts their nonces, so only the service's history shows them.
"""

from quietswap.client import api_calls
from quietswap.client.errors.flow import QuoteDeclined
from quietswap.client.flows.effects import Flow
from quietswap.client.flows.polling import PollingPolicy, retry_transient
from quietswap.contract.base import TERMINAL
from quietswap.domain.order.order import OrderStatus


def find_open_order(wallet: str, polling: PollingPolicy) -> Flow[str | None]:
    """Return the id of an open order of `wallet`; None if the service reports none.

    Each open status is requested separately, in the order of the transitions. So a long history, or
    a change of status between two requests, cannot hide an open order.
    """
    for status in OrderStatus:
        if status.value in TERMINAL:
            continue
        call = api_calls.order_history(wallet, limit=1, offset=0, status=status.value)
        page = yield from retry_transient(call, polling)
        for item in page.orders:
            if item.status not in TERMINAL:
                return item.order_id
    return None


def require_no_open_order(wallet: str, what: str, polling: PollingPolicy) -> Flow[None]:
    """Refuse `what` while an order is open, because it would use that order's nonce.

    Raises QuoteDeclined.
    """
    found = yield from find_open_order(wallet, polling)
    if found is not None:
        raise QuoteDeclined(
            f"order {found} is open, and {what} would take its nonce and cancel it: wait until it"
            " is decided, or give replace (--replace)"
        )
