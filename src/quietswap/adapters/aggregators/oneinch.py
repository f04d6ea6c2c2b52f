"""1inch Swap API 6.1: one call, a key.

https://portal.1inch.dev/documentation/apis/swap/classic-swap/swagger
"""

from typing import Any

import msgspec

from quietswap.adapters import source_reading as read
from quietswap.adapters.http import HttpClient, HttpReply
from quietswap.domain.address import Address
from quietswap.domain.amounts import format_units, less_slippage
from quietswap.domain.route import Miss, Route, SourceMiss, SwapRequest

NAME = "oneinch"
DEFAULT_URL = "https://api.1inch.com"
ROUTERS = (Address("0x111111125421cA6dc452d289314280a0f8842A65"),)
"""AggregationRouterV6."""
NEEDS_KEY = True


class _Token(msgspec.Struct):
    address: Any = None


class _Tx(msgspec.Struct):
    to: Any = None
    data: Any = None
    value: Any = None
    gas: Any = None


class _Answer(msgspec.Struct):
    dstAmount: Any = None
    srcToken: _Token | None = None
    dstToken: _Token | None = None
    tx: _Tx | None = None


class _Failure(msgspec.Struct):
    error: Any = None
    description: Any = None


class OneInch:
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
        self._headers = {"authorization": f"Bearer {api_key or ''}"}

    async def route(self, request: SwapRequest) -> Route:
        """Ask for prices and calldata in one call."""
        reply = await read.fetched(
            self._http.get(
                f"{self._base}/swap/v6.1/1/swap",
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
        "src": request.sell.address,
        "dst": request.buy.address,
        "amount": str(request.sell_amount),
        "from": request.wallet,
        "origin": request.wallet,
        "slippage": format_units(request.slippage_bps, 2),  # percent
        "disableEstimate": "true",  # else it fails for a wallet that has not approved yet
        "allowPartialFill": "false",
        "includeTokensInfo": "true",
    }


def _route(request: SwapRequest, answer: _Answer) -> Route:
    if answer.tx is None:
        raise read.bad("there is no transaction")
    if answer.srcToken is not None:
        read.same_token(answer.srcToken.address, request.sell.address, "srcToken")
    if answer.dstToken is not None:
        read.same_token(answer.dstToken.address, request.buy.address, "dstToken")
    promised = read.amount(answer.dstAmount, "dstAmount")
    target = read.address(answer.tx.to, "tx.to")
    return Route(
        source=NAME,
        dex=NAME,
        target=target,
        spender=target,
        value=read.wei(answer.tx.value, "tx.value"),
        data=read.hexdata(answer.tx.data),
        path=(request.sell.address, request.buy.address),
        buy_amount=promised,
        min_buy_amount=less_slippage(promised, request.slippage_bps),
        gas=read.gas(answer.tx.gas),  # 0, meaning unknown, with disableEstimate
        impact_percent=None,  # none given: computed against independent prices
    )


def _classified(reply: HttpReply) -> SourceMiss:
    if reply.status not in (400, 404):
        return read.by_status(reply)
    failure = read.parsed(reply, _Failure)
    words = read.words(failure.error, failure.description)
    if "insufficient liquidity" in words:
        return SourceMiss(Miss.NO_ROUTE, "insufficient liquidity")
    if "cannot sync token" in words or "token not found" in words:
        return SourceMiss(Miss.TOKEN_UNKNOWN, "token not known")
    return SourceMiss(Miss.BAD_REPLY, f"refused with status {reply.status}")
