"""The operations of the API: each stands before its handler, in the `http.py` of its folder."""

from quietswap.service.clients import usage
from quietswap.service.events import http as events
from quietswap.service.orders import http as orders
from quietswap.service.orders import http_export as exports
from quietswap.service.orders import http_statistics, http_wrap
from quietswap.service.quoting import http as quotes
from quietswap.service.tokens import http as tokens
from quietswap.service.wallet_rpc import http as rpc
from quietswap.service.watches import http as watches
from quietswap.service.webhooks import http as webhooks

OPERATIONS = (
    orders.order_status,
    quotes.swap_quote,
    quotes.swap_quote_stream,
    orders.swap_order,
    orders.order_cancel,
    orders.order_history,
    exports.order_export,
    http_statistics.order_stats,
    http_statistics.order_inclusion,
    http_wrap.wrap_info,
    http_wrap.wrap_quote,
    http_wrap.wrap_order,
    events.event_stream,
    rpc.rpc_token_create,
    rpc.rpc_token_list,
    rpc.rpc_token_revoke,
    webhooks.webhook_create,
    webhooks.webhook_list,
    webhooks.webhook_status,
    webhooks.webhook_delete,
    webhooks.webhook_test,
    webhooks.webhook_deliveries,
    watches.watch_create,
    watches.watch_list,
    watches.watch_delete,
    tokens.token_price,
    tokens.token_list,
    tokens.token_balances,
    usage.usage,
)
"""In the order in which the documentation lists those of one subject."""
