"""0x Swap API v2 over AllowanceHolder: one call, a free key.

https://docs.0x.org/api-reference/openapi-json/swap/allowanceholder-getquote
"""

from typing import Any

import msgspec

from quietswap.rules.quotes.indicative_price import SourcePriceRequest
from quietswap.rules.quotes.quote import NoRoute, NoRouteReason, Route, RouteRequest
from quietswap.rules.quotes.scoring import SourcePrice
from quietswap.rules.vendors.zeroex import VENDOR
from quietswap.service.base.http_client import HttpReply
from quietswap.service.sources import answers as read
from quietswap.service.sources.adapter import HttpAdapter

_QUOTE, _PRICE = "/swap/allowance-holder/quote", "/swap/allowance-holder/price"
_TOKEN_UNKNOWN = (
    *("TOKEN_NOT_SUPPORTED", "BUY_TOKEN_NOT_AUTHORIZED_FOR_TRADE"),
    "SELL_TOKEN_NOT_AUTHORIZED_FOR_TRADE",
)
_REFUSED = (
    *("USER_NOT_AUTHORIZED", "TAKER_NOT_AUTHORIZED_FOR_TRADE", "XSTOCKS_NOT_AUTHORIZED"),
    *("RECIPIENT_NOT_AUTHORIZED_FOR_TRADE", "RECIPIENT_NOT_SUPPORTED"),
)


class _Fill(msgspec.Struct):
    source: Any = None


class _Path(msgspec.Struct):
    fills: list[_Fill] = []
    tokens: list[read.Token] = []


class _Answer(msgspec.Struct):
    liquidityAvailable: Any = None
    allowanceTarget: Any = None
    sellToken: Any = None
    buyToken: Any = None
    sellAmount: Any = None
    buyAmount: Any = None
    minBuyAmount: Any = None
    gas: Any = None
    route: _Path | None = None
    transaction: read.Transaction | None = None


class Adapter(HttpAdapter):
    vendor = VENDOR

    def _auth(self) -> dict[str, str]:
        return {"0x-version": "v2", "0x-api-key": self.api_key or ""}

    async def route(self, request: RouteRequest) -> Route:
        own = {"taker": request.wallet, "slippageBps": str(request.slippage_bps)}  # bps
        answer = await self._answered(_QUOTE, _Answer, _query(request) | own)
        if answer.liquidityAvailable is not False and answer.transaction is None:
            raise read.bad_reply("there is neither a transaction nor a reason")
        _same_swap(request, answer)
        assert answer.transaction
        hops = answer.route or _Path()
        return self._route(
            request,
            dex=hops.fills[0].source if hops.fills else None,
            target=read.address(answer.transaction.to, "transaction.to"),
            spender=read.address(answer.allowanceTarget, "allowanceTarget"),
            value=read.wei(answer.transaction.value, "transaction.value"),
            data=read.hexdata(answer.transaction.data),
            tokens=[token.address for token in hops.tokens],
            buy_amount=read.output(answer.buyAmount, "buyAmount"),
            min_buy_amount=read.output(answer.minBuyAmount, "minBuyAmount"),
            gas=read.gas(answer.transaction.gas),
        )

    async def price(self, request: SourcePriceRequest) -> SourcePrice:
        """Request an indicative price, which does not bind the vendor's makers."""
        answer = await self._answered(_PRICE, _Answer, _query(request))
        _same_swap(request, answer)
        promised = read.output(answer.buyAmount, "buyAmount")
        return SourcePrice(VENDOR.name, promised, read.gas(answer.gas))

    def _refused(self, reply: HttpReply) -> NoRoute:
        if reply.status not in (400, 403, 404, 422):
            return read.no_route_for_status(reply)
        failure = read.parse(reply, read.Failure)
        name = failure.name if isinstance(failure.name, str) else ""
        if name in _TOKEN_UNKNOWN:
            return read.refusal(NoRouteReason.TOKEN_UNKNOWN, name, failure.message)
        if name in _REFUSED or reply.status == 403:
            return NoRoute(NoRouteReason.REFUSED, "the vendor does not serve this key or wallet")
        if b"INSUFFICIENT_ASSET_LIQUIDITY" in reply.body:
            return NoRoute(NoRouteReason.NO_ROUTE, "no liquidity for this amount")
        otherwise = f"refused with status {reply.status}"
        failure_words = (name, failure.message) if failure.message else (name or reply.words(),)
        return read.refusal(None, *failure_words, otherwise=otherwise)


def _query(request: RouteRequest | SourcePriceRequest) -> dict[str, str]:
    return {
        "chainId": "1",
        "sellToken": request.sell.address,
        "buyToken": request.buy.address,
        "sellAmount": str(request.sell_amount),
        "gasPrice": str(request.gas_price_wei),
    }


def _same_swap(request: RouteRequest | SourcePriceRequest, answer: _Answer) -> None:
    if answer.liquidityAvailable is False:
        raise NoRoute(NoRouteReason.NO_ROUTE, "no liquidity available")
    read.same_swap(
        request,
        sellToken=answer.sellToken, buyToken=answer.buyToken, sellAmount=answer.sellAmount,
    )  # fmt: skip
