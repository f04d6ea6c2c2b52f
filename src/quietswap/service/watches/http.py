"""The operations of watches."""

from typing import Any

from quietswap.rules.contract import watches as contract
from quietswap.rules.contract.request_limits import DEADLINE_END
from quietswap.rules.errors.clients import WatchNotFound
from quietswap.rules.errors.requests import InvalidParameter
from quietswap.rules.quotes.request import IndicativePriceRequest
from quietswap.rules.watches import WatchCondition, WatchRequest
from quietswap.service.api.operation import ApiRequest, operation
from quietswap.service.api.parsing import requests
from quietswap.service.api.parsing.query import shown
from quietswap.service.watches.watch_response import watch_response


def parse_watch(body: dict[str, Any]) -> WatchRequest:
    """Return what is waited for.

    Raises InvalidTokenAddress, NativeEthNotSupported, InvalidAmount and InvalidParameter.
    """
    sell, buy, sold = requests.parse_swap_amounts(body)
    bought = requests.parse_amount(body, "buyAmount")
    condition = requests.parse_choice(body, "condition", tuple(WatchCondition))
    swap = IndicativePriceRequest(sell, buy, sold, only_own=True)
    return WatchRequest(swap, bought, WatchCondition(condition), _deadline(body))


def _deadline(body: dict[str, Any]) -> int | None:
    deadline = body.get("deadline")
    if deadline is None:
        return None
    if not 0 < deadline < DEADLINE_END:
        reason = "it must be a time in Unix seconds, not in milliseconds"
        raise InvalidParameter(parameter="deadline", provided=shown(str(deadline)), reason=reason)
    return int(deadline)


@operation(
    "POST /api/v1/watches",
    "MISSING_PARAMETER INVALID_TOKEN_ADDRESS NATIVE_ETH_NOT_SUPPORTED INVALID_AMOUNT "
    "INVALID_PARAMETER TOKEN_NOT_SUPPORTED WATCH_LIMIT_REACHED SERVICE_UNAVAILABLE",
    body=contract.WatchCreateBody,
)
async def watch_create(request: ApiRequest) -> contract.WatchEnvelope:
    """Wait for a price, and be told by an event; nothing is signed."""
    watch = await request.use.watches.create(request.key, parse_watch(request.body))
    return contract.WatchEnvelope(ok=True, data=watch_response(watch))


@operation(
    "GET /api/v1/watches", "INVALID_PARAMETER SERVICE_UNAVAILABLE", query=contract.WatchesQuery
)
async def watch_list(request: ApiRequest) -> contract.WatchListEnvelope:
    """Your watches, newest first."""
    query = request.query_values(contract.WatchesQuery)
    limit = requests.parse_int(query, contract.WatchesQuery, "limit")
    offset = requests.parse_int(query, contract.WatchesQuery, "offset")
    watches = await request.use.watches.list(request.key, limit, offset)
    data = contract.WatchListResponse(watches=tuple(map(watch_response, watches)))
    return contract.WatchListEnvelope(ok=True, data=data)


@operation(
    "DELETE /api/v1/watches/{watchId}",
    "WATCH_NOT_FOUND SERVICE_UNAVAILABLE",
    path_params=contract.WatchPath,
)
async def watch_delete(request: ApiRequest) -> contract.WatchDeletedEnvelope:
    """Delete a watch. An event that was told stays."""
    watch_id = request.path_params["watchId"]
    if not requests.ID.fullmatch(watch_id):
        raise WatchNotFound
    await request.use.watches.delete(request.key, watch_id)
    data = contract.DeletedWatchResponse(id=watch_id, deleted=True)
    return contract.WatchDeletedEnvelope(ok=True, data=data)
