"""1inch Swap API v6.1, `GET /swap/v6.1/1/swap` and `/quote`.

https://portal.1inch.dev/documentation/apis/swap/classic-swap. Needs `Authorization: Bearer KEY`.
Uses the best of all routes and keeps 10 basis points. Without `disableEstimate=true` it requires
balance and allowance.
"""

import uuid
from http.client import responses
from typing import Any

from quietswap.chain.address import Address
from quietswap.sandbox.contracts.pools import SandboxToken
from quietswap.sandbox.http_server import Answer, HttpRequest, HttpResponse, json_reply
from quietswap.sandbox.venues.market import best
from quietswap.sandbox.venues.quote_engine import (
    BadParameter,
    PriceQuote,
    QueryParams,
    RejectReason,
    Venue,
    described,
    less,
)

_SWAP, _QUOTE = "/swap/v6.1/1/swap", "/swap/v6.1/1/quote"
_FEE_BPS = 10
_MISSES = {
    RejectReason.NO_ROUTE: (400, "insufficient liquidity"),
    RejectReason.UNKNOWN_TOKEN: (400, "cannot sync token"),
    RejectReason.RATE_LIMITED: (429, "The limit of requests per second has been exceeded"),
    RejectReason.REFUSED: (403, "access denied"),
}


class OneInchVenue(Venue):
    """`handle` serves `/swap` and `/quote`."""

    name = "oneinch"
    taste = staticmethod(best)

    async def _answer(self, request: HttpRequest, query: QueryParams) -> Answer:
        if request.method != "GET" or request.path not in {_SWAP, _QUOTE}:
            return json_reply({"statusCode": 404, "error": "Not Found"}, 404)
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            return _failure(401, "invalid api key")
        offer = await self._desk.asked(query, "src", "dst", "amount")
        if request.path == _QUOTE:
            return json_reply(_quoted(offer, query))
        return await self._swap(offer, query)

    def _missed(self, miss: RejectReason) -> Answer:
        return _failure(*_MISSES[miss])

    def _invalid(self, request: HttpRequest, error: BadParameter) -> Answer:
        return _failure(400, str(error))

    async def _swap(self, offer: PriceQuote, query: QueryParams) -> HttpResponse:
        wallet = query.address("from")
        query.address("origin")
        slippage = query.decimal("slippage", "0", "50")
        estimates = not query.flag("disableEstimate")
        if estimates and (refusal := await self._refusal(offer, wallet)):
            return refusal
        least = less(less(offer.promised, _FEE_BPS), slippage * 100)
        recipient = query.address("receiver", wallet)
        data = self._desk.calldata(offer, min_out=least, recipient=recipient)
        own = {"from": wallet.lower(), "gas": offer.route.gas if estimates else 0}
        return json_reply(_quoted(offer, query) | {"tx": await self._desk.transaction(data) | own})

    async def _refusal(self, offer: PriceQuote, wallet: Address) -> HttpResponse | None:
        chain, token, amount = self._desk.market.chain, offer.route.sell, offer.ask.amount
        if (balance := await chain.token_balance(token, wallet)) < amount:
            return _failure(400, f"Not enough balance. Amount: {amount}. Balance: {balance}")
        allowance = await chain.allowance(token, wallet, self._desk.router)
        if allowance < amount:
            text = f"Not enough allowance. Amount: {amount}. Allowance: {allowance}."
            return _failure(400, f"{text} Spender: {self._desk.router.lower()}")
        return None


def _quoted(offer: PriceQuote, query: QueryParams) -> dict[str, Any]:
    answer: dict[str, Any] = {"dstAmount": str(less(offer.promised, _FEE_BPS))}
    if query.flag("includeTokensInfo"):
        answer |= {"srcToken": _token(offer.ask.sell), "dstToken": _token(offer.ask.buy)}
    if query.flag("includeProtocols"):
        answer |= {"protocols": _protocols(offer)}
    if query.flag("includeGas"):
        answer |= {"gas": offer.route.gas}
    return answer


def _token(token: SandboxToken) -> dict[str, Any]:
    own = {"address": token.address.lower(), "eip2612": False, "isFoT": False, "tags": ["tokens"]}
    return described(token) | own


def _protocols(offer: PriceQuote) -> list[dict[str, Any]]:
    hops = [
        {
            "part": 100,
            "dst": hop.token_out.lower(),
            "fromTokenId": at,
            "toTokenId": at + 1,
            "protocols": [{"name": "UNISWAP_V3" if hop.pool.v3 else "UNISWAP_V2", "part": 100}],
        }
        for at, hop in enumerate(offer.route.hops)
    ]
    sold = [hop.token_in.lower() for hop in offer.route.hops]
    return [{"token": one, "hops": [hop]} for one, hop in zip(sold, hops, strict=True)]


def _failure(status: int, description: str) -> HttpResponse:
    body = {
        "error": responses[status],
        "description": description,
        "statusCode": status,
        "requestId": str(uuid.uuid4()),
        "meta": [],
    }
    return json_reply(body, status)
