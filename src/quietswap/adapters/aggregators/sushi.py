"""Sushi Swap API v7: one call, no key. https://docs.sushi.com/api/swagger"""

from typing import Any

import msgspec

from quietswap.adapters import source_reading as read
from quietswap.adapters.http import HttpClient, HttpReply
from quietswap.domain.address import Address
from quietswap.domain.amounts import format_units, less_slippage
from quietswap.domain.route import Miss, Route, SourceMiss, SwapRequest

NAME = "sushi"
DEFAULT_URL = "https://api.sushi.com"
ROUTERS = (Address("0xAC4c6e212A361c968F1725b4d055b47E63F80b75"),)
"""RedSnwapper."""
NEEDS_KEY = False


class _Token(msgspec.Struct):
    address: Any = None


class _Tx(msgspec.Struct):
    to: Any = None
    data: Any = None
    value: Any = None
    gas: Any = None


class _Answer(msgspec.Struct):
    status: Any = None
    tokens: list[_Token] = []
    tokenFrom: Any = None
    tokenTo: Any = None
    amountIn: Any = None
    assumedAmountOut: Any = None
    priceImpact: Any = None
    gasSpent: Any = None
    tx: _Tx | None = None


class _Failure(msgspec.Struct):
    detail: Any = None


class Sushi:
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
        self._key = {"apiKey": api_key} if api_key else {}

    async def route(self, request: SwapRequest) -> Route:
        """Ask for prices and calldata in one call."""
        reply = await read.fetched(
            self._http.get(
                f"{self._base}/swap/v7/1",
                params={**_query(request, self._client), **self._key},
                timeout_s=self._timeout_s,
            )
        )
        if reply.status != 200:
            raise _classified(reply)
        return _route(request, read.parsed(reply, _Answer))


def _query(request: SwapRequest, client: str) -> dict[str, str]:
    return {
        "tokenIn": request.sell.address,
        "tokenOut": request.buy.address,
        "amount": str(request.sell_amount),
        "maxSlippage": format_units(request.slippage_bps, 4),  # a fraction, never an exponent
        "sender": request.wallet,
        "recipient": request.wallet,
        "referrer": client,
    }


def _route(request: SwapRequest, answer: _Answer) -> Route:
    if answer.status in ("NoWay", "Partial"):
        raise SourceMiss(Miss.NO_ROUTE, f"status {answer.status}")
    if answer.status != "Success" or answer.tx is None:
        raise read.bad("there is neither a route nor a reason")
    if read.amount(answer.amountIn, "amountIn") != request.sell_amount:
        raise read.bad("it sells another amount than asked")
    read.same_token(_token_at(answer, answer.tokenFrom), request.sell.address, "tokenFrom")
    read.same_token(_token_at(answer, answer.tokenTo), request.buy.address, "tokenTo")
    promised = read.amount(answer.assumedAmountOut, "assumedAmountOut")
    impact = read.decimal(answer.priceImpact)
    target = read.address(answer.tx.to, "tx.to")
    return Route(
        source=NAME,
        dex=NAME,
        target=target,
        spender=target,
        value=read.wei(answer.tx.value, "tx.value"),  # absent when a token is sold
        data=read.hexdata(answer.tx.data),
        path=read.path(
            [token.address for token in answer.tokens], request.sell.address, request.buy.address
        ),
        buy_amount=promised,
        min_buy_amount=less_slippage(promised, request.slippage_bps),
        gas=read.gas(answer.tx.gas) or read.gas(answer.gasSpent),
        impact_percent=None if impact is None else impact * 100,
    )


def _token_at(answer: _Answer, index: Any) -> Any:
    """Return the address `tokenFrom` or `tokenTo` points to; None when it points nowhere."""
    if isinstance(index, bool) or not isinstance(index, int):
        return None
    return answer.tokens[index].address if 0 <= index < len(answer.tokens) else None


def _classified(reply: HttpReply) -> SourceMiss:
    if reply.status == 529:
        return SourceMiss(Miss.RATE_LIMITED, "the vendor is overloaded")
    if reply.status not in (400, 404, 422):
        return read.by_status(reply)
    detail = read.words(read.parsed(reply, _Failure).detail)
    if "token" in detail:
        return SourceMiss(Miss.TOKEN_UNKNOWN, "token not known")
    return SourceMiss(Miss.BAD_REPLY, f"refused with status {reply.status}")
