"""KyberSwap Aggregator: two calls, no key.

https://docs.kyberswap.com/kyberswap-solutions/kyberswap-aggregator/aggregator-api-specification/evm-swaps
"""

from decimal import Decimal
from typing import Any, Generic, TypeVar

import msgspec

from quietswap.rules.quotes.indicative_price import SourcePriceRequest
from quietswap.rules.quotes.quote import NoRoute, NoRouteReason, Route, RouteRequest
from quietswap.rules.quotes.scoring import SourcePrice
from quietswap.rules.vendors.kyberswap import VENDOR
from quietswap.service.base.http_client import HttpReply
from quietswap.service.sources import answers as read
from quietswap.service.sources.adapter import HttpAdapter

_MEANING = {
    **dict.fromkeys((4008, 4009, 4010), NoRouteReason.NO_ROUTE),
    **dict.fromkeys((4222, 4227), NoRouteReason.NO_ROUTE),
    4011: NoRouteReason.TOKEN_UNKNOWN,
    **dict.fromkeys((500, 4990), NoRouteReason.UNAVAILABLE),
}
"""4222 and 4227: the price moved between the two calls, or the route cannot be executed now."""
_PAUSE_HEADER = "x-ratelimit-reset-after"
_T = TypeVar("_T")


class _RoutesData(msgspec.Struct):
    routeSummary: msgspec.Raw  # returned unchanged to the vendor, including unknown keys
    routerAddress: Any = None


class _Hop(msgspec.Struct):
    swapAmount: Any = None
    tokenOut: Any = None
    exchange: Any = None


class _Summary(msgspec.Struct):
    tokenIn: Any = None
    tokenOut: Any = None
    amountIn: Any = None
    amountOut: Any = None
    gas: Any = None
    route: list[list[_Hop]] | None = None


class _BuildData(msgspec.Struct):
    amountIn: Any = None
    amountOut: Any = None
    gas: Any = None
    data: Any = None
    routerAddress: Any = None
    transactionValue: Any = None


class _Answer(msgspec.Struct, Generic[_T]):
    code: int = -1
    message: Any = None
    data: _T | None = None


class Adapter(HttpAdapter):
    vendor = VENDOR
    slippage_bps = (0, 2000)

    def _auth(self) -> dict[str, str]:
        key = {"x-api-key": self.api_key} if self.api_key else {}
        return {"x-client-id": self.client_name, **key}

    async def route(self, request: RouteRequest) -> Route:
        """Request a route, then its calldata. `timeout_s` limits each of the two calls."""
        offer = await self._found(self._query(request) | {"origin": request.wallet})
        body = {
            "routeSummary": offer.routeSummary,
            **dict.fromkeys(("sender", "recipient", "origin"), request.wallet),
            "slippageTolerance": request.slippage_bps,  # bps; the vendor's default is 0
            "deadline": request.deadline,
            "source": self.client_name,
        }
        path, packed = "/ethereum/api/v1/route/build", msgspec.json.encode(body)
        built = _data(await self._answered(path, _Answer[_BuildData], body=packed))
        summary = _summary(offer)
        if built is None:
            raise read.bad_reply("there is no built route")
        _same_swap(request, summary, built.amountIn)
        router, named = read.address(built.routerAddress, "routerAddress"), offer.routerAddress
        if named is not None and router != read.address(named, "router"):
            raise read.bad_reply("the router of the route is not the router of the transaction")
        hops = max(summary.route or [[]], key=_share)
        return self._route(
            request,
            buy_amount=read.output(built.amountOut, "amountOut"),
            dex=hops[0].exchange if hops else None,
            target=router,
            value=read.wei(built.transactionValue, "transactionValue"),
            data=read.hexdata(built.data),
            tokens=[hop.tokenOut for hop in hops],
            gas=read.gas(built.gas),
            exchanges=[hop.exchange for path in summary.route or [] for hop in path],
        )

    async def price(self, request: SourcePriceRequest) -> SourcePrice:
        """Request a route without its calldata: half the requests of a quote."""
        summary = _summary(await self._found(self._query(request)))
        _same_swap(request, summary, summary.amountIn)
        promised = read.output(summary.amountOut, "amountOut")
        return SourcePrice(VENDOR.name, promised, read.gas(summary.gas))

    def _query(self, request: RouteRequest | SourcePriceRequest) -> dict[str, str]:
        query = {
            "tokenIn": request.sell.address,
            "tokenOut": request.buy.address,
            "amountIn": str(request.sell_amount),
            "gasInclude": "true",
            "excludeRFQSources": "true",  # RFQ legs expire in seconds; a private relay takes longer
        }
        if self.takes_proprietary_amms:
            return query
        return query | {"excludedSources": ",".join(VENDOR.proprietary_amms)}

    async def _found(self, query: dict[str, str]) -> _RoutesData:
        path = "/ethereum/api/v1/routes"
        data = _data(await self._answered(path, _Answer[_RoutesData], query))
        if data is None:
            raise read.bad_reply("there is no route summary")
        return data

    def _refused(self, reply: HttpReply) -> NoRoute:
        if reply.status in (400, 404, 422):
            return _classified(read.parse(reply, _Answer[Any]))
        miss = read.no_route_for_status(reply)
        if miss.miss is NoRouteReason.RATE_LIMITED and miss.retry_after is None:
            miss.retry_after = read.retry_after_s(reply, _PAUSE_HEADER)
        return miss


def _summary(found: _RoutesData) -> _Summary:
    try:
        return msgspec.json.decode(found.routeSummary, type=_Summary)
    except (msgspec.DecodeError, RecursionError):
        raise read.bad_reply("the route summary has an unexpected structure") from None


def _same_swap(request: RouteRequest | SourcePriceRequest, summary: _Summary, sold: object) -> None:
    read.same_swap(request, tokenIn=summary.tokenIn, tokenOut=summary.tokenOut, amountIn=sold)


def _share(hops: list[_Hop]) -> Decimal:
    """Return the amount that a path sells, to find the largest path."""
    return (read.decimal(hops[0].swapAmount) if hops else None) or Decimal(0)


def _data(answer: _Answer[_T]) -> _T | None:
    if answer.code != 0:
        raise _classified(answer)
    return answer.data


def _classified(failure: _Answer[Any]) -> NoRoute:
    return read.refusal(_MEANING.get(failure.code), failure.message, code=failure.code)
