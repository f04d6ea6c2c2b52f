"""KyberSwap Aggregator: two calls, no key.

https://docs.kyberswap.com/kyberswap-solutions/kyberswap-aggregator/aggregator-api-specification/evm-swaps
"""

from decimal import Decimal
from typing import Any

import msgspec

from quietswap.adapters import source_reading as read
from quietswap.adapters.http import HttpClient, HttpReply
from quietswap.domain.address import Address
from quietswap.domain.amounts import less_slippage
from quietswap.domain.route import Miss, Route, SourceMiss, SwapRequest

NAME = "kyberswap"
DEFAULT_URL = "https://aggregator-api.kyberswap.com"
ROUTERS = (Address("0x6131B5fae19EA4f9D964eAc0408E4408b66337b5"),)
"""MetaAggregationRouterV2."""
NEEDS_KEY = False

_NO_ROUTE = frozenset({4008, 4009, 4010})
_TOKEN_UNKNOWN = frozenset({4011})
_DOWN = frozenset({500, 4990})
_PAUSE_HEADER = "x-ratelimit-reset-after"


class _RoutesData(msgspec.Struct):
    routeSummary: msgspec.Raw  # sent back verbatim, unknown keys and all
    routerAddress: Any = None


class _Routes(msgspec.Struct):
    code: int = -1
    data: _RoutesData | None = None


class _Hop(msgspec.Struct):
    swapAmount: Any = None
    tokenOut: Any = None
    exchange: Any = None


class _Summary(msgspec.Struct):
    tokenIn: Any = None
    tokenOut: Any = None
    amountIn: Any = None
    route: list[list[_Hop]] | None = None


class _BuildData(msgspec.Struct):
    amountIn: Any = None
    amountOut: Any = None
    gas: Any = None
    data: Any = None
    routerAddress: Any = None
    transactionValue: Any = None


class _Build(msgspec.Struct):
    code: int = -1
    data: _BuildData | None = None


class _Failure(msgspec.Struct):
    code: int = -1


class KyberSwap:
    """Implements quietswap.ports.outside.Aggregator."""

    name = NAME

    def __init__(
        self,
        http: HttpClient,
        *,
        base_url: str = DEFAULT_URL,
        client_name: str = "quietswap",
        timeout_s: float = 3.0,
        api_key: str | None = None,
    ) -> None:
        self._http = http
        self._base = base_url.rstrip("/")
        self._client = client_name
        self._timeout_s = timeout_s
        self._headers = {"x-client-id": client_name, **({"x-api-key": api_key} if api_key else {})}

    async def route(self, request: SwapRequest) -> Route:
        """Find a route, then have its calldata built; `timeout_s` bounds each of the two calls."""
        found = await self._found(request)
        body = _build_body(request, found.routeSummary, self._client)
        reply = await read.fetched(
            self._http.post(
                f"{self._base}/ethereum/api/v1/route/build",
                body,
                headers=self._headers,
                timeout_s=self._timeout_s,
            )
        )
        return _route(request, found, _answered(reply, _Build).data)

    async def _found(self, request: SwapRequest) -> _RoutesData:
        reply = await read.fetched(
            self._http.get(
                f"{self._base}/ethereum/api/v1/routes",
                params=_query(request),
                headers=self._headers,
                timeout_s=self._timeout_s,
            )
        )
        data: _RoutesData | None = _answered(reply, _Routes).data
        if data is None:
            raise read.bad("there is no route summary")
        return data


def _query(request: SwapRequest) -> dict[str, str]:
    return {
        "tokenIn": request.sell.address,
        "tokenOut": request.buy.address,
        "amountIn": str(request.sell_amount),
        "gasInclude": "true",
        "excludeRFQSources": "true",  # RFQ legs expire in seconds, a private relay takes longer
        "origin": request.wallet,
    }


def _build_body(request: SwapRequest, summary: msgspec.Raw, client: str) -> bytes:
    return msgspec.json.encode(
        {
            "routeSummary": summary,
            "sender": request.wallet,
            "recipient": request.wallet,
            "origin": request.wallet,
            "slippageTolerance": request.slippage_bps,  # bps; the vendor's default is 0
            "deadline": request.deadline,
            "source": client,
            "ignoreCappedSlippage": request.slippage_bps > 2000,
        }
    )


def _route(request: SwapRequest, found: _RoutesData, built: _BuildData | None) -> Route:
    try:
        summary = msgspec.json.decode(found.routeSummary, type=_Summary)
    except (msgspec.DecodeError, RecursionError):
        raise read.bad("the route summary has another shape") from None
    if built is None:
        raise read.bad("there is no built route")
    read.same_token(summary.tokenIn, request.sell.address, "tokenIn")
    read.same_token(summary.tokenOut, request.buy.address, "tokenOut")
    if read.amount(built.amountIn, "amountIn") != request.sell_amount:
        raise read.bad("it sells another amount than asked")
    router = read.address(built.routerAddress, "routerAddress")
    if found.routerAddress is not None and router != read.address(found.routerAddress, "router"):
        raise read.bad("the router of the route is not the router of the transaction")
    promised = read.amount(built.amountOut, "amountOut")
    hops = max(summary.route or [[]], key=_share)
    return Route(
        source=NAME,
        dex=read.text(hops[0].exchange if hops else None, NAME),
        target=router,
        spender=router,
        value=read.wei(built.transactionValue, "transactionValue"),
        data=read.hexdata(built.data),
        path=read.path([hop.tokenOut for hop in hops], request.sell.address, request.buy.address),
        buy_amount=promised,
        min_buy_amount=less_slippage(promised, request.slippage_bps),
        gas=read.gas(built.gas),
        impact_percent=None,  # none given: computed against independent prices
    )


def _share(hops: list[_Hop]) -> Decimal:
    """Return how much a path of the route sells, to name the largest."""
    return (read.decimal(hops[0].swapAmount) if hops else None) or Decimal(0)


def _answered(reply: HttpReply, shape: type[Any]) -> Any:
    if reply.status == 200:
        found = read.parsed(reply, shape)
        if found.code == 0:
            return found
        raise _classified(found.code)
    raise _refusal(reply)


def _refusal(reply: HttpReply) -> SourceMiss:
    if reply.status in (400, 404, 422):
        return _classified(read.parsed(reply, _Failure).code)
    miss = read.by_status(reply)
    if miss.miss is Miss.RATE_LIMITED and miss.retry_after is None:
        miss.retry_after = read.pause_s(reply, _PAUSE_HEADER)
    return miss


def _classified(code: int) -> SourceMiss:
    if code in _NO_ROUTE:
        return SourceMiss(Miss.NO_ROUTE, f"no route (code {code})")
    if code in _TOKEN_UNKNOWN:
        return SourceMiss(Miss.TOKEN_UNKNOWN, f"token not found (code {code})")
    if code in _DOWN:
        return SourceMiss(Miss.UNAVAILABLE, f"failure of the vendor's own (code {code})")
    return SourceMiss(Miss.BAD_REPLY, f"error code {code}")
