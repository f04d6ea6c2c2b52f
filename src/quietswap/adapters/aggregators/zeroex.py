"""0x Swap API v2 over AllowanceHolder: one call, a free key.

https://docs.0x.org/api-reference/openapi-json/swap/allowanceholder-getquote
"""

from typing import Any

import msgspec

from quietswap.adapters import source_reading as read
from quietswap.adapters.http import HttpClient, HttpReply
from quietswap.domain.address import Address
from quietswap.domain.route import Miss, Route, SourceMiss, SwapRequest

NAME = "zeroex"
DEFAULT_URL = "https://api.0x.org"
ROUTERS = (Address("0x0000000000001fF3684f28c67538d4D072C22734"),)
"""AllowanceHolder: `to` and spender. Never the Settler behind it."""
NEEDS_KEY = True

_TOKEN_UNKNOWN = frozenset(
    {
        "TOKEN_NOT_SUPPORTED",
        "BUY_TOKEN_NOT_AUTHORIZED_FOR_TRADE",
        "SELL_TOKEN_NOT_AUTHORIZED_FOR_TRADE",
    }
)
_REFUSED = frozenset(
    {
        "USER_NOT_AUTHORIZED",
        "TAKER_NOT_AUTHORIZED_FOR_TRADE",
        "RECIPIENT_NOT_AUTHORIZED_FOR_TRADE",
        "RECIPIENT_NOT_SUPPORTED",
        "XSTOCKS_NOT_AUTHORIZED",
    }
)


class _Fill(msgspec.Struct):
    source: Any = None


class _Token(msgspec.Struct):
    address: Any = None


class _Path(msgspec.Struct):
    fills: list[_Fill] = []
    tokens: list[_Token] = []


class _Transaction(msgspec.Struct):
    to: Any = None
    data: Any = None
    gas: Any = None
    value: Any = None


class _Answer(msgspec.Struct):
    liquidityAvailable: Any = None
    allowanceTarget: Any = None
    sellToken: Any = None
    buyToken: Any = None
    sellAmount: Any = None
    buyAmount: Any = None
    minBuyAmount: Any = None
    route: _Path | None = None
    transaction: _Transaction | None = None


class _Failure(msgspec.Struct):
    name: Any = None


class ZeroEx:
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
        self._headers = {"0x-version": "v2", "0x-api-key": api_key or ""}

    async def route(self, request: SwapRequest) -> Route:
        """Ask for a firm quote in one call."""
        reply = await read.fetched(
            self._http.get(
                f"{self._base}/swap/allowance-holder/quote",
                params=_query(request),
                headers=self._headers,
                timeout_s=self._timeout_s,
            )
        )
        if reply.status != 200:
            raise _classified(reply)
        return _route(request, read.parsed(reply, _Answer))


def _query(request: SwapRequest) -> dict[str, str]:
    return {
        "chainId": "1",
        "sellToken": request.sell.address,
        "buyToken": request.buy.address,
        "sellAmount": str(request.sell_amount),
        "taker": request.wallet,
        "slippageBps": str(request.slippage_bps),  # bps
        "gasPrice": str(request.gas_price_wei),
    }


def _route(request: SwapRequest, answer: _Answer) -> Route:
    if answer.liquidityAvailable is False:
        raise SourceMiss(Miss.NO_ROUTE, "no liquidity available")
    if answer.transaction is None:
        raise read.bad("there is neither a transaction nor a reason")
    read.same_token(answer.sellToken, request.sell.address, "sellToken")
    read.same_token(answer.buyToken, request.buy.address, "buyToken")
    if read.amount(answer.sellAmount, "sellAmount") != request.sell_amount:
        raise read.bad("it sells another amount than asked")
    hops = answer.route or _Path()
    return Route(
        source=NAME,
        dex=read.text(hops.fills[0].source if hops.fills else None, NAME),
        target=read.address(answer.transaction.to, "transaction.to"),
        spender=read.address(answer.allowanceTarget, "allowanceTarget"),
        value=read.wei(answer.transaction.value, "transaction.value"),
        data=read.hexdata(answer.transaction.data),
        path=read.path(
            [token.address for token in hops.tokens], request.sell.address, request.buy.address
        ),
        buy_amount=read.amount(answer.buyAmount, "buyAmount"),
        min_buy_amount=read.amount(answer.minBuyAmount, "minBuyAmount"),
        gas=read.gas(answer.transaction.gas),
        impact_percent=None,  # none given: computed against independent prices
    )


def _classified(reply: HttpReply) -> SourceMiss:
    if reply.status not in (400, 403, 404, 422):
        return read.by_status(reply)
    name = read.parsed(reply, _Failure).name
    name = name if isinstance(name, str) else ""
    if name in _TOKEN_UNKNOWN:
        return SourceMiss(Miss.TOKEN_UNKNOWN, "token not supported")
    if name in _REFUSED or reply.status == 403:
        return SourceMiss(Miss.REFUSED, "the vendor does not serve this key or wallet")
    return SourceMiss(Miss.BAD_REPLY, f"refused with status {reply.status}")
