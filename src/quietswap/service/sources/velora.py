"""Velora (formerly ParaSwap) Market API 6.2: one call, no key.

https://docs.velora.xyz/api/velora-api/velora-market-api
"""

from typing import Any

import msgspec

from quietswap.rules.quotes.indicative_price import SourcePriceRequest
from quietswap.rules.quotes.quote import NoRoute, NoRouteReason, Route, RouteRequest
from quietswap.rules.quotes.scoring import SourcePrice
from quietswap.rules.vendors.velora import VENDOR
from quietswap.service.base.http_client import HttpReply
from quietswap.service.sources import answers as read
from quietswap.service.sources.adapter import HttpAdapter

_VERSION = "6.2"
_METHODS = ",".join(row.name for row in VENDOR.methods if row.layout)
"""Requested by name, so that the vendor returns no method that would be refused."""

_NO_ROUTE = (
    *("no routes found", "pricingerror", "estimated_loss_greater_than_max_impact"),
    *("rate has changed", "too much slippage on quote", "priceroute", "bad usd price"),
)
"""The second line: the price moved while the vendor computed, or it does not believe its own."""
_TOKEN_UNKNOWN = ("invalid srctoken", "invalid desttoken", "token not found")


class _Exchange(msgspec.Struct):
    exchange: Any = None


class _Swap(msgspec.Struct):
    destToken: Any = None
    swapExchanges: list[_Exchange] = []


class _Leg(msgspec.Struct):
    percent: Any = None
    swaps: list[_Swap] = []


class _PriceRoute(msgspec.Struct):
    srcToken: Any = None
    destToken: Any = None
    srcAmount: Any = None
    destAmount: Any = None
    destAmountAfterFee: Any = None
    partnerFee: Any = None
    gasCost: Any = None
    contractAddress: Any = None
    tokenTransferProxy: Any = None
    bestRoute: list[_Leg] = []


class _Prices(msgspec.Struct):
    priceRoute: _PriceRoute


class _Answer(_Prices):
    txParams: read.Transaction


class Adapter(HttpAdapter):
    vendor = VENDOR
    needs_decimals = True

    def _auth(self) -> dict[str, str]:
        return {"x-api-key": self.api_key} if self.api_key else {}

    async def route(self, request: RouteRequest) -> Route:
        own = {"userAddress": request.wallet, "slippage": str(request.slippage_bps)}  # bps
        answer = await self._answered("/swap", _Answer, _query(request, self.client_name) | own)
        priced, tx = answer.priceRoute, answer.txParams
        _same_swap(request, priced)
        target = read.address(tx.to, "txParams.to")
        named = priced.contractAddress
        if named is not None and target != read.address(named, "contractAddress"):
            raise read.bad_reply("priceRoute.contractAddress differs from txParams.to")
        leg = max(priced.bestRoute, key=lambda leg: read.decimal(leg.percent) or 0, default=_Leg())
        return self._route(
            request,
            dex=next((e.exchange for swap in leg.swaps for e in swap.swapExchanges), None),
            buy_amount=_net(priced),
            target=target,
            spender=read.address(priced.tokenTransferProxy, "tokenTransferProxy"),
            value=read.wei(tx.value, "txParams.value"),
            data=read.hexdata(tx.data),
            tokens=[swap.destToken for swap in leg.swaps],
            gas=read.gas(priced.gasCost),
        )

    async def price(self, request: SourcePriceRequest) -> SourcePrice:
        own = {"excludeRFQ": "true"}  # as /swap does by itself
        query = _query(request, self.client_name) | own
        priced = (await self._answered("/prices", _Prices, query)).priceRoute
        _same_swap(request, priced)
        return SourcePrice(VENDOR.name, _net(priced), read.gas(priced.gasCost))

    def _refused(self, reply: HttpReply) -> NoRoute:
        if reply.status not in (400, 404, 408, 422):
            return read.no_route_for_status(reply)
        failure = read.parse(reply, read.Failure)
        sentence = failure.error, failure.errorType, failure.details
        words = read.words(*sentence)
        if any(text in words for text in _NO_ROUTE):
            return read.refusal(NoRouteReason.NO_ROUTE, *sentence)
        if any(text in words for text in _TOKEN_UNKNOWN):
            return NoRoute(NoRouteReason.TOKEN_UNKNOWN, "token not found")
        if "rate limit" in words:
            return NoRoute(NoRouteReason.RATE_LIMITED, "too many requests")
        if "partner not allowed" in words:
            return NoRoute(
                NoRouteReason.REFUSED, "the vendor does not know our client name as a partner"
            )
        if reply.status == 408 or "timeout" in words:
            return NoRoute(NoRouteReason.TIMED_OUT, "the vendor's own pricing timed out")
        return read.refusal(None, *sentence, otherwise=f"refused with status {reply.status}")


def _query(request: RouteRequest | SourcePriceRequest, client: str) -> dict[str, str]:
    return {
        "srcToken": request.sell.address,
        "srcDecimals": str(request.sell.decimals),
        "destToken": request.buy.address,
        "destDecimals": str(request.buy.decimals),
        "amount": str(request.sell_amount),
        "side": "SELL",
        "network": "1",
        "version": _VERSION,  # the default, 5, has a separate spender
        "partner": client,  # without it, the vendor charges 1 bps
        "maxImpact": "100",  # the service itself limits and reports the impact
        "ignoreBadUsdPrice": "true",
        "includeContractMethods": _METHODS,
    }


def _same_swap(request: RouteRequest | SourcePriceRequest, priced: _PriceRoute) -> None:
    read.same_swap(
        request, srcToken=priced.srcToken, destToken=priced.destToken, srcAmount=priced.srcAmount
    )


def _net(priced: _PriceRoute) -> int:
    """Return the received amount: `destAmount` minus the partner fee, which is in percent."""
    if priced.destAmountAfterFee is not None:
        return read.output(priced.destAmountAfterFee, "destAmountAfterFee")
    gross = read.output(priced.destAmount, "destAmount")
    fee = read.decimal(priced.partnerFee) or 0
    if not 0 <= fee < 100:
        raise read.bad_reply("partnerFee is no percentage")
    return gross - int(gross * fee / 100)
