"""Velora (formerly ParaSwap) Market API 6.2: one call, no key.

https://docs.velora.xyz/api/velora-api/velora-market-api
"""

from typing import Any

import msgspec

from quietswap.adapters import source_reading as read
from quietswap.adapters.http import HttpClient, HttpReply
from quietswap.domain.address import Address
from quietswap.domain.amounts import less_slippage
from quietswap.domain.route import Miss, Route, SourceMiss, SwapRequest

NAME = "velora"
DEFAULT_URL = "https://api.velora.xyz"
ROUTERS = (Address("0x6A000F20005980200259B80c5102003040001068"),)
"""Augustus v6.2: router and spender are one only in this version."""
NEEDS_KEY = False
_VERSION = "6.2"

_NO_ROUTE = ("no routes found", "pricingerror", "estimated_loss_greater_than_max_impact")
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


class _TxParams(msgspec.Struct):
    to: Any = None
    value: Any = None
    data: Any = None


class _Answer(msgspec.Struct):
    priceRoute: _PriceRoute
    txParams: _TxParams


class _Failure(msgspec.Struct):
    error: Any = None
    errorType: Any = None
    details: Any = None


class Velora:
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
        self._headers = {"x-api-key": api_key} if api_key else {}

    async def route(self, request: SwapRequest) -> Route:
        """Ask for prices and calldata in one call."""
        reply = await read.fetched(
            self._http.get(
                f"{self._base}/swap",
                params=_query(request, self._client),
                headers=self._headers,
                timeout_s=self._timeout_s,
            )
        )
        if reply.status != 200:
            raise _classified(reply)
        return _route(request, read.parsed(reply, _Answer))


def _query(request: SwapRequest, client: str) -> dict[str, str]:
    return {
        "srcToken": request.sell.address,
        "srcDecimals": str(request.sell.decimals),
        "destToken": request.buy.address,
        "destDecimals": str(request.buy.decimals),
        "amount": str(request.sell_amount),
        "side": "SELL",
        "network": "1",
        "userAddress": request.wallet,
        "slippage": str(request.slippage_bps),  # bps
        "version": _VERSION,  # the vendor's default, 5, has another spender
        "partner": client,  # without one the vendor takes a fee of 1 bp
        "maxImpact": "100",  # the impact is ours to judge and to show
        "ignoreBadUsdPrice": "true",
    }


def _route(request: SwapRequest, answer: _Answer) -> Route:
    priced, tx = answer.priceRoute, answer.txParams
    read.same_token(priced.srcToken, request.sell.address, "srcToken")
    read.same_token(priced.destToken, request.buy.address, "destToken")
    if read.amount(priced.srcAmount, "srcAmount") != request.sell_amount:
        raise read.bad("it sells another amount than asked")
    target = read.address(tx.to, "txParams.to")
    if priced.contractAddress is not None and target != read.address(
        priced.contractAddress, "contractAddress"
    ):
        raise read.bad("the router of the price is not the router of the transaction")
    promised = _net(priced)
    leg = max(priced.bestRoute, key=lambda leg: read.decimal(leg.percent) or 0, default=_Leg())
    exchange = next((e.exchange for swap in leg.swaps for e in swap.swapExchanges), None)
    return Route(
        source=NAME,
        dex=read.text(exchange, NAME),
        target=target,
        spender=read.address(priced.tokenTransferProxy, "tokenTransferProxy"),
        value=read.wei(tx.value, "txParams.value"),
        data=read.hexdata(tx.data),
        path=read.path(
            [swap.destToken for swap in leg.swaps], request.sell.address, request.buy.address
        ),
        buy_amount=promised,
        min_buy_amount=less_slippage(promised, request.slippage_bps),
        gas=read.gas(priced.gasCost),
        impact_percent=None,  # none given: computed against independent prices
    )


def _net(priced: _PriceRoute) -> int:
    """Return what arrives: `destAmount` is before the partner's fee, written in percent."""
    if priced.destAmountAfterFee is not None:
        return read.amount(priced.destAmountAfterFee, "destAmountAfterFee")
    gross = read.amount(priced.destAmount, "destAmount")
    fee = read.decimal(priced.partnerFee) or 0
    if not 0 <= fee < 100:
        raise read.bad("partnerFee is no percentage")
    return gross - int(gross * fee / 100)


def _classified(reply: HttpReply) -> SourceMiss:
    if reply.status not in (400, 404, 408, 422):
        return read.by_status(reply)
    failure = read.parsed(reply, _Failure)
    words = read.words(failure.error, failure.errorType, failure.details)
    if any(text in words for text in _NO_ROUTE):
        return SourceMiss(Miss.NO_ROUTE, "no routes with enough liquidity")
    if any(text in words for text in _TOKEN_UNKNOWN):
        return SourceMiss(Miss.TOKEN_UNKNOWN, "token not found")
    if "rate limit" in words:
        return SourceMiss(Miss.RATE_LIMITED, "too many requests")
    if "partner not allowed" in words:
        return SourceMiss(Miss.REFUSED, "the vendor does not know our client name as a partner")
    if reply.status == 408 or "timeout" in words:
        return SourceMiss(Miss.TIMED_OUT, "the vendor's own pricing timed out")
    return SourceMiss(Miss.BAD_REPLY, f"refused with status {reply.status}")
