"""OpenOcean v4: one call; keyless, though the public host often turns servers away.

https://apis.openocean.finance/developer/apis/swap-api/api-v4
"""

from decimal import Decimal
from typing import Any

import msgspec

from quietswap.adapters import source_reading as read
from quietswap.adapters.http import HttpClient, HttpReply
from quietswap.domain.address import Address
from quietswap.domain.amounts import format_units
from quietswap.domain.route import Miss, Route, SourceMiss, SwapRequest

NAME = "openocean"
DEFAULT_URL = "https://open-api.openocean.finance"
ROUTERS = (Address("0x6352a56caadC4F1E25CD6c75970Fa768A3304e64"),)
"""ExchangeV2."""
NEEDS_KEY = False

_TOKEN_UNKNOWN = ("token not", "invalid token", "unknown token", "not support")
_NO_ROUTE = ("no route", "no liquidity", "insufficient liquidity", "no path")


class _Token(msgspec.Struct):
    address: Any = None


class _Dex(msgspec.Struct):
    dexCode: Any = None


class _SubRoute(msgspec.Struct):
    to: Any = None


class _PathRoute(msgspec.Struct):
    subRoutes: list[_SubRoute] = []


class _Path(msgspec.Struct):
    routes: list[_PathRoute] = []


class _Data(msgspec.Struct):
    inToken: _Token | None = None
    outToken: _Token | None = None
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


class OpenOcean:
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
        self._timeout_s = timeout_s
        self._headers = {"apikey": api_key} if api_key else {}

    async def route(self, request: SwapRequest) -> Route:
        """Ask for prices and calldata in one call."""
        reply = await read.fetched(
            self._http.get(
                f"{self._base}/v4/1/swap",
                params=_query(request),
                headers=self._headers,
                timeout_s=self._timeout_s,
            )
        )
        if reply.status != 200:
            raise _refusal(reply)
        answer = read.parsed(reply, _Answer)
        if answer.code != 200 or answer.data is None or answer.data.outAmount in (None, "0", 0):
            raise _classified(answer)
        return _route(request, answer.data)


def _query(request: SwapRequest) -> dict[str, str]:
    return {
        "inTokenAddress": request.sell.address,
        "outTokenAddress": request.buy.address,
        "amountDecimals": str(request.sell_amount),
        "gasPriceDecimals": str(request.gas_price_wei),
        "slippage": format_units(request.slippage_bps, 2),  # percent
        "account": request.wallet,
        "sender": request.wallet,
        "disableRfq": "true",  # RFQ legs expire in seconds, a private relay takes longer
    }


def _route(request: SwapRequest, data: _Data) -> Route:
    if data.inToken is not None:
        read.same_token(data.inToken.address, request.sell.address, "inToken")
    if data.outToken is not None:
        read.same_token(data.outToken.address, request.buy.address, "outToken")
    if read.amount(data.inAmount, "inAmount") != request.sell_amount:
        raise read.bad("it sells another amount than asked")
    target = read.address(data.to, "to")
    minimum = read.amount(data.minOutAmount, "minOutAmount")
    impact = _impact(data.price_impact)
    hops = data.path.routes[0].subRoutes if data.path and data.path.routes else []
    return Route(
        source=NAME,
        dex=read.text(data.dexes[0].dexCode if data.dexes else None, NAME),
        target=target,
        spender=target,
        value=read.wei(data.value, "value"),
        data=read.hexdata(data.data),
        path=read.path([hop.to for hop in hops], request.sell.address, request.buy.address),
        buy_amount=_realistic(read.amount(data.outAmount, "outAmount"), minimum, impact),
        min_buy_amount=minimum,
        gas=read.gas(data.estimatedGas),
        impact_percent=impact,
    )


def _impact(value: Any) -> Decimal | None:
    """Return the loss in percent; the vendor writes it as text, negative: `-0.14%`."""
    number = read.decimal(value.rstrip("% ")) if isinstance(value, str) else read.decimal(value)
    return None if number is None or abs(number) > 100 else -number


def _realistic(out: int, minimum: int, impact: Decimal | None) -> int:
    """Return the promise after price impact, which `outAmount` leaves out; never below the minimum.

    Measured by integrators to be some 10 bps too good otherwise.
    """
    if impact is None or impact <= 0:
        return max(out, minimum)
    return max(out - int(out * impact / 100), minimum)


def _refusal(reply: HttpReply) -> SourceMiss:
    if reply.status in (400, 404, 500) and not reply.body.lstrip().startswith(b"<"):
        return _classified(read.parsed(reply, _Answer))
    return read.by_status(reply)


def _classified(answer: _Answer) -> SourceMiss:
    words = read.words(answer.error, answer.errorMsg)
    if any(text in words for text in _TOKEN_UNKNOWN):
        return SourceMiss(Miss.TOKEN_UNKNOWN, "token not known")
    if answer.code == 200 or any(text in words for text in _NO_ROUTE):
        return SourceMiss(Miss.NO_ROUTE, "no route")
    if answer.code == 429:
        return SourceMiss(Miss.RATE_LIMITED, "too many requests")
    if answer.code == 500:
        return SourceMiss(Miss.UNAVAILABLE, "internal error of the vendor")
    return SourceMiss(Miss.BAD_REPLY, "refused without a known reason")
