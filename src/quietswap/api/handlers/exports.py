"""The handlers of accounting: statistics, and the export of a wallet's orders."""

from quietswap.api.handlers.request import AuthenticatedRequest
from quietswap.api.request_parsing import parse_requests, parse_times
from quietswap.api.responses.exports import WRITERS
from quietswap.api.responses.statistics import order_stats_response
from quietswap.api.responses.streamed import StreamedAnswer
from quietswap.api.use_cases import UseCases
from quietswap.contract.exports import FORMATS, OrderExportQuery
from quietswap.contract.statistics import OrderStatsEnvelope, OrderStatsQuery
from quietswap.domain.order.export import ExportFilter


async def order_stats(use_cases: UseCases, request: AuthenticatedRequest) -> OrderStatsEnvelope:
    """GET /api/v1/mev/stats."""
    query = request.query_values(OrderStatsQuery)
    days = parse_requests.parse_int(query, OrderStatsQuery, "days")
    found = await use_cases.order_statistics(request.key, days)
    return OrderStatsEnvelope(ok=True, data=order_stats_response(found))


async def order_export(use_cases: UseCases, request: AuthenticatedRequest) -> StreamedAnswer:
    """GET /api/v1/mev/orders/user/:userAddress/export."""
    wallet = parse_requests.parse_wallet(request.path_params["userAddress"])
    query = request.query_values(OrderExportQuery)
    form = parse_requests.parse_choice(query, "format", FORMATS)
    since_ms, until_ms = parse_times.parse_range(query, use_cases.now_ms())
    wanted = ExportFilter(since_ms, until_ms, request.key.client_id, wallet)
    write, media_type = WRITERS[form]
    chunks = write(use_cases.export_orders(wanted))
    return StreamedAnswer(media_type, f"orders-{wallet}.{form}", chunks)
