"""The handlers of accounting: statistics, and the export of a wallet's orders."""

from quietswap.rules.contract.exports import (
    FORMATS,
    ExportedOrder,
    OrderExportQuery,
)
from quietswap.rules.contract.requests import WalletPath
from quietswap.rules.orders.export import ExportFilter
from quietswap.service.api.json import StreamedAnswer
from quietswap.service.api.operation import ApiRequest, operation
from quietswap.service.api.parsing import requests
from quietswap.service.api.parsing.query import parse_range
from quietswap.service.orders.exported_orders import WRITERS

_END = {"csv": ".csv", "json": ".json"} | {
    name: f"-{name}.csv" for name in ("koinly", "cointracking")
}
"""The end of the file's name."""


@operation(
    "GET /api/v1/mev/orders/user/{userAddress}/export",
    "INVALID_ADDRESS INVALID_PARAMETER SERVICE_UNAVAILABLE",
    path_params=WalletPath,
    query=OrderExportQuery,
    rows=ExportedOrder,
)
async def order_export(request: ApiRequest) -> StreamedAnswer:
    """Every order of a wallet as CSV or JSON, oldest first."""
    wallet = requests.parse_wallet(request.path_params["userAddress"])
    query = request.query_values(OrderExportQuery)
    form = requests.parse_choice(query, "format", FORMATS)
    since_ms, until_ms = parse_range(query, request.use.now_ms())
    order_filter = ExportFilter(since_ms, until_ms, request.key.client_id, wallet)
    write, media_type = WRITERS[form]
    headers = (
        (b"content-type", media_type.encode()),
        (b"content-disposition", f'attachment; filename="orders-{wallet}{_END[form]}"'.encode()),
    )
    return StreamedAnswer(headers, write(request.use.export_orders(order_filter)))
