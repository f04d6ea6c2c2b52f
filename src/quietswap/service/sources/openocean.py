"""OpenOcean v4: one call, no key. The public host often rejects requests from servers.

https://apis.openocean.finance/developer/apis/swap-api/api-v4
"""

from decimal import Decimal
from typing import Any

import msgspec

from quietswap.rules.amounts import format_units
from quietswap.rules.quotes.quote import NoRoute, NoRouteReason, Route, RouteRequest
from quietswap.rules.quotes.scoring import SourcePrice, SourcePriceRequest
from quietswap.rules.vendors.openocean import VENDOR
from quietswap.service.base.http_client import HttpReply
from quietswap.service.sources import answers as read
from quietswap.service.sources.adapter import HttpAdapter

_TOKEN_UNKNOWN = ("token not", "invalid token", "unknown token", "not support")
_NO_ROUTE = ("no route", "no liquidity", "insufficient liquidity", "no path")


class _Dex(msgspec.Struct):
    dexCode: Any = None


class _SubRoute(msgspec.Struct):
    to: Any = None


class _PathRoute(msgspec.Struct):
    subRoutes: list[_SubRoute] = []


class _Path(msgspec.Struct):
    routes: list[_PathRoute] = []


class _Data(msgspec.Struct):
    inToken: read.Token | None = None
    outToken: read.Token | None = None
    inAmount: Any = None
    outAmount: Any = None
    minOutAmount: Any = None
    estimatedGas: Any = None
    to: Any = None
    value: Any = None
    data: Any = None
    price_impact: Any = None
    dexes: list[_Dex] = []
    path: _Path | None = None


class _Answer(msgspec.Struct):
    code: Any = None
    data: _Data | None = None
    error: Any = None
    errorMsg: Any = None


class Adapter(HttpAdapter):
    vendor = VENDOR
    slippage_bps = (5, 5000)

    def _auth(self) -> dict[str, str]:
        return {"apikey": self.api_key} if self.api_key else {}

    async def route(self, request: RouteRequest) -> Route:
        wallet = {"account": request.wallet, "sender": request.wallet}
        slippage = format_units(request.slippage_bps, 2)  # percent
        query = _query(request) | {"slippage": slippage} | wallet
        data = await self._data("/v4/1/swap", query)
        _same_swap(request, data)
        target = read.address(data.to, "to")
        minimum = read.amount(data.minOutAmount, "minOutAmount")
        impact = _impact(data.price_impact)
        hops = data.path.routes[0].subRoutes if data.path and data.path.routes else []
        return self._route(
            request,
            dex=data.dexes[0].dexCode if data.dexes else None,
            target=target,
            value=read.wei(data.value, "value"),
            data=read.hexdata(data.data),
            tokens=[hop.to for hop in hops],
            buy_amount=_realistic(read.amount(data.outAmount, "outAmount"), minimum, impact),
            min_buy_amount=minimum,
            gas=read.gas(data.estimatedGas),
            impact_percent=impact,
        )

    async def price(self, request: SourcePriceRequest) -> SourcePrice:
        data = await self._data("/v4/1/quote", _query(request) | {"slippage": "1"})
        _same_swap(request, data)
        impact = _impact(data.price_impact)
        promised = _realistic(read.amount(data.outAmount, "outAmount"), 1, impact)
        return SourcePrice(VENDOR.name, promised, read.gas(data.estimatedGas), impact)

    async def _data(self, path: str, query: dict[str, str]) -> _Data:
        answer = await self._answered(path, _Answer, query)
        if answer.code != 200 or answer.data is None or answer.data.outAmount in (None, "0", 0):
            raise _classified(answer)
        return answer.data

    def _refused(self, reply: HttpReply) -> NoRoute:
        if reply.status in (400, 404, 500) and not reply.body.lstrip().startswith(b"<"):
            return _classified(read.parse(reply, _Answer))
        return read.no_route_for_status(reply)


def _query(request: RouteRequest | SourcePriceRequest) -> dict[str, str]:
    return {
        "inTokenAddress": request.sell.address,
        "outTokenAddress": request.buy.address,
        "amountDecimals": str(request.sell_amount),
        "gasPriceDecimals": str(request.gas_price_wei),
        "disableRfq": "true",  # RFQ legs expire in seconds; a private relay takes longer
    }


def _same_swap(request: RouteRequest | SourcePriceRequest, data: _Data) -> None:
    read.same_swap(
        request,
        inToken=data.inToken and data.inToken.address,
        outToken=data.outToken and data.outToken.address,
        inAmount=data.inAmount,
    )


def _impact(value: Any) -> Decimal | None:
    """Return the loss in percent. The vendor sends it as negative text, such as `-0.14%`."""
    number = read.decimal(value.rstrip("% ")) if isinstance(value, str) else read.decimal(value)
    return None if number is None or abs(number) > 100 else -number


def _realistic(out: int, minimum: int, impact: Decimal | None) -> int:
    """Return `outAmount` minus the price impact, and at least the minimum.

    `outAmount` does not include the price impact; integrators measured it 10 bps too high.
    """
    if impact is None or impact <= 0:
        return max(out, minimum)
    return max(out - int(out * impact / 100), minimum)


def _classified(answer: _Answer) -> NoRoute:
    sentence = answer.error, answer.errorMsg
    words = read.words(*sentence)
    if any(text in words for text in _TOKEN_UNKNOWN):
        return read.refusal(NoRouteReason.TOKEN_UNKNOWN, *sentence)
    if answer.code == 200 or any(text in words for text in _NO_ROUTE):
        return read.refusal(NoRouteReason.NO_ROUTE, *sentence, otherwise="an answer without data")
    if answer.code == 429:
        return NoRoute(NoRouteReason.RATE_LIMITED, "too many requests")
    if answer.code == 500:
        return NoRoute(NoRouteReason.UNAVAILABLE, "internal error of the vendor")
    return read.refusal(None, *sentence)
