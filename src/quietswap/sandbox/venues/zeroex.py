"""0x Swap API v2, `GET /swap/allowance-holder/quote`; https://0x.org/docs/0x-swap-api.

Needs `0x-api-key` and `0x-version: v2`. Takes the best of all routes and keeps 15 basis points:
they are off its promise. A wallet without balance or allowance is told so under `issues`.
"""

import secrets
from typing import Any

from quietswap.domain.address import Address
from quietswap.sandbox.faults import FaultBoard
from quietswap.sandbox.tokens import BY_ADDRESS
from quietswap.sandbox.venues.desk import BadParameter, Desk, Miss, Missed, Offer, Query, less
from quietswap.sandbox.venues.market import Market, best
from quietswap.sandbox.web import Answer, Reply, Request, json_reply

NAME = "zeroex"
_PATH = "/swap/allowance-holder/quote"
_FEE_BPS = 15
_NO_TAX = {"buyTaxBps": "0", "sellTaxBps": "0", "transferTaxBps": "0"}
_MISSES = {
    Miss.UNKNOWN_TOKEN: (400, "TOKEN_NOT_SUPPORTED", "Token is not supported"),
    Miss.RATE_LIMITED: (429, "RATE_LIMITED", "Rate limit exceeded"),
    Miss.REFUSED: (403, "TAKER_NOT_AUTHORIZED_FOR_TRADE", "The taker is not authorized"),
}


class ZeroEx:
    """`handle` serves the call."""

    def __init__(self, market: Market, board: FaultBoard) -> None:
        self._desk = Desk(NAME, market, board, best)

    async def handle(self, request: Request) -> Answer:
        """Answer one request."""
        if (request.method, request.path) != ("GET", _PATH):
            return json_reply({"name": "NOT_FOUND", "message": "no Route matched"}, 404)
        if not request.headers.get("0x-api-key"):
            return _failure(401, "USER_NOT_AUTHORIZED", "The API key is missing or invalid")
        if request.headers.get("0x-version") != "v2":
            return _failure(400, "INPUT_INVALID", "The input is invalid", "0x-version", "Invalid")
        try:
            return json_reply(await self._quote(Query(request.query)))
        except Missed as error:
            if error.miss is Miss.NO_ROUTE:
                return json_reply({"liquidityAvailable": False, "zid": _zid()})
            return _failure(*_MISSES[error.miss])
        except BadParameter as error:
            text = "The input is invalid"
            return _failure(400, "INPUT_INVALID", text, error.name, str(error))

    async def _quote(self, query: Query) -> dict[str, Any]:
        if query.text("chainId") != "1":
            raise BadParameter("chainId", "chainId must be 1")
        taker = query.address("taker")
        slippage = query.integer("slippageBps", 0, 10_000, 100)
        sell, buy = query.address("sellToken"), query.address("buyToken")
        offer = await self._desk.offer(self._desk.ask(sell, buy, query.amount("sellAmount")))
        net = less(offer.promised, _FEE_BPS)
        least = less(net, slippage)
        data = self._desk.calldata(
            offer, min_out=least, recipient=query.address("recipient", taker)
        )
        return await self._described(offer, taker, net, least) | {
            "transaction": {
                "to": self._desk.router.lower(),
                "data": data,
                "gas": str(offer.route.gas + 60_000),
                "gasPrice": str(await self._desk.market.gas_price()),
                "value": str(self._desk.value),
            },
            "zid": _zid(),
        }

    async def _described(
        self, offer: Offer, taker: Address, net: int, least: int
    ) -> dict[str, Any]:
        fee = {
            "amount": str(offer.promised - net),
            "token": offer.route.buy.lower(),
            "type": "volume",
        }
        gas = offer.route.gas * await self._desk.market.gas_price()
        return {
            "allowanceTarget": self._desk.spender.lower(),
            "blockNumber": str(await self._desk.market.block_number()),
            "buyAmount": str(net),
            "buyToken": offer.route.buy.lower(),
            "fees": {
                "integratorFee": None,
                "integratorFees": None,
                "zeroExFee": fee,
                "gasFee": None,
            },
            "issues": await self._issues(offer, taker),
            "liquidityAvailable": True,
            "minBuyAmount": str(least),
            "mode": "exact-in",
            "route": _route(offer),
            "sellAmount": str(offer.ask.amount),
            "sellToken": offer.route.sell.lower(),
            "tokenMetadata": {"buyToken": _NO_TAX, "sellToken": _NO_TAX},
            "totalNetworkFee": str(gas),
        }

    async def _issues(self, offer: Offer, taker: Address) -> dict[str, Any]:
        chain, token, amount = self._desk.market.chain, offer.route.sell, offer.ask.amount
        spender = self._desk.spender
        allowance = await chain.allowance(token, taker, spender)
        balance = await chain.token_balance(token, taker)
        short = {"actual": str(allowance), "spender": spender.lower()}
        poor = {"token": token.lower(), "actual": str(balance), "expected": str(amount)}
        return {
            "allowance": short if allowance < amount else None,
            "balance": poor if balance < amount else None,
            "simulationIncomplete": allowance < amount or balance < amount,
            "invalidSourcesPassed": [],
        }


def _route(offer: Offer) -> dict[str, Any]:
    fills = [
        {
            "from": hop.token_in.lower(),
            "to": hop.token_out.lower(),
            "source": "Uniswap_V3" if hop.pool.v3 else "Uniswap_V2",
            "proportionBps": "10000",
        }
        for hop in offer.route.hops
    ]
    tokens = [
        {"address": one.lower(), "symbol": BY_ADDRESS[one].symbol} for one in offer.route.path
    ]
    return {"fills": fills, "tokens": tokens}


def _zid() -> str:
    return "0x" + secrets.token_hex(12)


def _failure(status: int, name: str, message: str, field: str = "", reason: str = "") -> Reply:
    details = [{"field": field, "reason": reason}] if field else []
    body = {"name": name, "message": message, "data": {"zid": _zid(), "details": details}}
    return json_reply(body, status)
