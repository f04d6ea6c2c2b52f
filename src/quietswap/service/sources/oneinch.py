"""1inch Swap API 6.1: one call, a key.

https://portal.1inch.dev/documentation/apis/swap/classic-swap/swagger
"""

from typing import Any

import msgspec

from quietswap.rules.amounts import format_units
from quietswap.rules.quotes.indicative_price import SourcePriceRequest
from quietswap.rules.quotes.quote import NoRoute, NoRouteReason, Route, RouteRequest
from quietswap.rules.quotes.scoring import SourcePrice
from quietswap.rules.vendors.oneinch import VENDOR
from quietswap.service.base.http_client import HttpReply
from quietswap.service.sources import answers as read
from quietswap.service.sources.adapter import HttpAdapter


class _Answer(msgspec.Struct):
    dstAmount: Any = None
    gas: Any = None
    srcToken: read.Token | None = None
    dstToken: read.Token | None = None
    tx: read.Transaction | None = None


class Adapter(HttpAdapter):
    vendor = VENDOR
    slippage_bps = (0, 5000)

    def _auth(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.api_key or ''}"}

    async def route(self, request: RouteRequest) -> Route:
        own = {
            "from": request.wallet,
            "origin": request.wallet,
            "slippage": format_units(request.slippage_bps, 2),  # percent
            "disableEstimate": "true",  # without it, a wallet without an allowance gets an error
            "allowPartialFill": "false",
            "compatibility": "true",  # excludes `unoswap`, which is safe for some pools only
            "includeTokensInfo": "true",
        }
        answer = await self._answered("/swap/v6.1/1/swap", _Answer, _query(request) | own)
        if answer.tx is None:
            raise read.bad_reply("there is no transaction")
        _same_tokens(request, answer)
        return self._route(
            request,
            buy_amount=read.output(answer.dstAmount, "dstAmount"),
            target=read.address(answer.tx.to, "tx.to"),
            value=read.wei(answer.tx.value, "tx.value"),
            data=read.hexdata(answer.tx.data),
            gas=read.gas(answer.tx.gas),  # 0, meaning unknown, with disableEstimate
        )

    async def price(self, request: SourcePriceRequest) -> SourcePrice:
        query = _query(request) | {"includeTokensInfo": "true", "includeGas": "true"}
        answer = await self._answered("/swap/v6.1/1/quote", _Answer, query)
        _same_tokens(request, answer)
        promised = read.output(answer.dstAmount, "dstAmount")
        return SourcePrice(VENDOR.name, promised, read.gas(answer.gas))

    def _refused(self, reply: HttpReply) -> NoRoute:
        if reply.status not in (400, 404):
            return read.no_route_for_status(reply)
        failure = read.parse(reply, read.Failure)
        words, sentence = read.words(failure.error, failure.description), failure.description
        if "insufficient liquidity" in words:
            return read.refusal(NoRouteReason.NO_ROUTE, sentence or failure.error)
        if "cannot sync token" in words or "token not found" in words:
            return read.refusal(NoRouteReason.TOKEN_UNKNOWN, sentence or failure.error)
        return read.refusal(None, sentence, otherwise=f"refused with status {reply.status}")


def _query(request: RouteRequest | SourcePriceRequest) -> dict[str, str]:
    amount = str(request.sell_amount)
    return {"src": request.sell.address, "dst": request.buy.address, "amount": amount}


def _same_tokens(request: RouteRequest | SourcePriceRequest, answer: _Answer) -> None:
    sold, bought = answer.srcToken or read.Token(), answer.dstToken or read.Token()
    read.same_token(sold.address, request.sell.address, "srcToken")
    read.same_token(bought.address, request.buy.address, "dstToken")
