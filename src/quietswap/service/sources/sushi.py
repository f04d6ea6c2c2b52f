"""Sushi Swap API v7: one call, no key. https://docs.sushi.com/api/swagger"""

from decimal import Decimal
from typing import Any

import msgspec

from quietswap.rules.amounts import format_units
from quietswap.rules.quotes.indicative_price import SourcePriceRequest
from quietswap.rules.quotes.quote import NoRoute, NoRouteReason, Route, RouteRequest
from quietswap.rules.quotes.scoring import SourcePrice
from quietswap.rules.vendors.sushi import VENDOR
from quietswap.service.base.http_client import HttpReply
from quietswap.service.sources import answers as read
from quietswap.service.sources.adapter import HttpAdapter


class _Answer(msgspec.Struct):
    status: Any = None
    tokens: list[read.Token] = []
    tokenFrom: Any = None
    tokenTo: Any = None
    amountIn: Any = None
    assumedAmountOut: Any = None
    priceImpact: Any = None
    gasSpent: Any = None
    tx: read.Transaction | None = None


class Adapter(HttpAdapter):
    vendor = VENDOR
    slippage_bps = (0, 9999)

    async def route(self, request: RouteRequest) -> Route:
        slippage = format_units(request.slippage_bps, 4)  # a fraction without exponent
        own = {"maxSlippage": slippage, "sender": request.wallet, "recipient": request.wallet}
        answer = await self._asked("/swap/v7/1", request, own)
        impact = _checked(request, answer)
        if answer.tx is None:
            raise read.bad_reply("there is neither a route nor a reason")
        return self._route(
            request,
            buy_amount=read.output(answer.assumedAmountOut, "assumedAmountOut"),
            target=read.address(answer.tx.to, "tx.to"),
            value=read.wei(answer.tx.value, "tx.value"),  # absent for a token as input
            data=read.hexdata(answer.tx.data),
            tokens=[token.address for token in answer.tokens],
            gas=read.gas(answer.tx.gas) or read.gas(answer.gasSpent),
            impact_percent=impact,
        )

    async def price(self, request: SourcePriceRequest) -> SourcePrice:
        answer = await self._asked("/quote/v7/1", request, {"maxSlippage": "0.005"})
        impact = _checked(request, answer)
        promised = read.output(answer.assumedAmountOut, "assumedAmountOut")
        return SourcePrice(VENDOR.name, promised, read.gas(answer.gasSpent), impact)

    async def _asked(
        self, path: str, request: RouteRequest | SourcePriceRequest, own: dict[str, str]
    ) -> _Answer:
        own |= {"apiKey": self.api_key} if self.api_key else {}
        query = {
            "tokenIn": request.sell.address,
            "tokenOut": request.buy.address,
            "amount": str(request.sell_amount),
            "referrer": self.client_name,
        }
        return await self._answered(path, _Answer, query | own)

    def _refused(self, reply: HttpReply) -> NoRoute:
        if reply.status == 529:
            return NoRoute(NoRouteReason.RATE_LIMITED, "the vendor is overloaded")
        if reply.status not in (400, 404, 422):
            return read.no_route_for_status(reply)
        detail = read.parse(reply, read.Failure).detail
        if "token" in read.words(detail):
            return read.refusal(NoRouteReason.TOKEN_UNKNOWN, detail)
        return read.refusal(None, detail, otherwise=f"refused with status {reply.status}")


def _checked(request: RouteRequest | SourcePriceRequest, answer: _Answer) -> Decimal | None:
    """Check that the answer is for this swap; return its price impact in percent."""
    if answer.status in ("NoWay", "Partial"):
        raise NoRoute(NoRouteReason.NO_ROUTE, f"status {answer.status}")
    if answer.status != "Success":
        raise read.bad_reply("there is neither a route nor a reason")
    if read.amount(answer.amountIn, "amountIn") != request.sell_amount:
        raise read.bad_reply("it sells another amount than asked")
    read.same_token(_token_at(answer, answer.tokenFrom), request.sell.address, "tokenFrom")
    read.same_token(_token_at(answer, answer.tokenTo), request.buy.address, "tokenTo")
    impact = read.decimal(answer.priceImpact)
    return None if impact is None else impact * 100


def _token_at(answer: _Answer, index: Any) -> Any:
    """Return the address at the index `tokenFrom` or `tokenTo`; None for an invalid index."""
    if isinstance(index, bool) or not isinstance(index, int):
        return None
    return answer.tokens[index].address if 0 <= index < len(answer.tokens) else None
