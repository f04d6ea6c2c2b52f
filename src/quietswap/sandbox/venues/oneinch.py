"""1inch Swap API v6.1, `GET /swap/v6.1/1/swap` and `/quote`.

https://portal.1inch.dev/documentation/apis/swap/classic-swap. Needs `Authorization: Bearer KEY`.
Takes the best of all routes and keeps 10 basis points. Without `disableEstimate=true` it insists
on balance and allowance.
"""

import uuid
from typing import Any

from quietswap.domain.address import Address
from quietswap.sandbox.faults import FaultBoard
from quietswap.sandbox.tokens import SandboxToken
from quietswap.sandbox.venues.desk import BadParameter, Desk, Miss, Missed, Offer, Query, less
from quietswap.sandbox.venues.market import Market, best
from quietswap.sandbox.web import Answer, Reply, Request, json_reply

NAME = "oneinch"
_SWAP, _QUOTE = "/swap/v6.1/1/swap", "/swap/v6.1/1/quote"
_FEE_BPS = 10
_MISSES = {
    Miss.NO_ROUTE: (400, "insufficient liquidity"),
    Miss.UNKNOWN_TOKEN: (400, "cannot sync token"),
    Miss.RATE_LIMITED: (429, "The limit of requests per second has been exceeded"),
    Miss.REFUSED: (403, "access denied"),
}
_ERRORS = {400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 429: "Too Many Requests"}


class OneInch:
    """`handle` serves the two calls."""

    def __init__(self, market: Market, board: FaultBoard) -> None:
        self._desk = Desk(NAME, market, board, best)

    async def handle(self, request: Request) -> Answer:
        """Answer one request."""
        if request.method != "GET" or request.path not in {_SWAP, _QUOTE}:
            return json_reply({"statusCode": 404, "error": "Not Found"}, 404)
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            return _failure(401, "invalid api key")
        query = Query(request.query)
        try:
            offer = await self._offer(query)
            if request.path == _QUOTE:
                return json_reply(self._quoted(offer, query))
            return await self._swap(offer, query)
        except Missed as error:
            return _failure(*_MISSES[error.miss])
        except BadParameter as error:
            return _failure(400, str(error))

    async def _offer(self, query: Query) -> Offer:
        sell, buy = query.address("src"), query.address("dst")
        return await self._desk.offer(self._desk.ask(sell, buy, query.amount("amount")))

    async def _swap(self, offer: Offer, query: Query) -> Reply:
        wallet = query.address("from")
        query.address("origin")
        slippage = query.decimal("slippage", "0", "50")
        estimates = query.text("disableEstimate", "false") != "true"
        if estimates and (refusal := await self._refusal(offer, wallet)):
            return refusal
        least = less(less(offer.promised, _FEE_BPS), slippage * 100)
        data = self._desk.calldata(
            offer, min_out=least, recipient=query.address("receiver", wallet)
        )
        transaction = {
            "from": wallet.lower(),
            "to": self._desk.router.lower(),
            "data": data,
            "value": str(self._desk.value),
            "gas": offer.route.gas if estimates else 0,
            "gasPrice": str(await self._desk.market.gas_price()),
        }
        return json_reply(self._quoted(offer, query) | {"tx": transaction})

    def _quoted(self, offer: Offer, query: Query) -> dict[str, Any]:
        answer: dict[str, Any] = {"dstAmount": str(less(offer.promised, _FEE_BPS))}
        if query.text("includeTokensInfo", "false") == "true":
            answer |= {"srcToken": _token(offer.ask.sell), "dstToken": _token(offer.ask.buy)}
        if query.text("includeProtocols", "false") == "true":
            answer |= {"protocols": _protocols(offer)}
        if query.text("includeGas", "false") == "true":
            answer |= {"gas": offer.route.gas}
        return answer

    async def _refusal(self, offer: Offer, wallet: Address) -> Reply | None:
        chain, token, amount = self._desk.market.chain, offer.route.sell, offer.ask.amount
        if (balance := await chain.token_balance(token, wallet)) < amount:
            return _failure(400, f"Not enough balance. Amount: {amount}. Balance: {balance}")
        allowance = await chain.allowance(token, wallet, self._desk.router)
        if allowance < amount:
            text = f"Not enough allowance. Amount: {amount}. Allowance: {allowance}."
            return _failure(400, f"{text} Spender: {self._desk.router.lower()}")
        return None


def _token(token: SandboxToken) -> dict[str, Any]:
    return {
        "address": token.address.lower(),
        "symbol": token.symbol,
        "name": token.symbol,
        "decimals": token.decimals,
        "eip2612": False,
        "isFoT": False,
        "tags": ["tokens"],
    }


def _protocols(offer: Offer) -> list[dict[str, Any]]:
    return [
        {
            "token": hop.token_in.lower(),
            "hops": [
                {
                    "part": 100,
                    "dst": hop.token_out.lower(),
                    "fromTokenId": at,
                    "toTokenId": at + 1,
                    "protocols": [
                        {"name": "UNISWAP_V3" if hop.pool.v3 else "UNISWAP_V2", "part": 100}
                    ],
                }
            ],
        }
        for at, hop in enumerate(offer.route.hops)
    ]


def _failure(status: int, description: str) -> Reply:
    body = {
        "error": _ERRORS[status],
        "description": description,
        "statusCode": status,
        "requestId": str(uuid.uuid4()),
        "meta": [],
    }
    return json_reply(body, status)
