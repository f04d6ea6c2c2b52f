"""0x Swap API v2, `GET /swap/allowance-holder/quote` and `/price`; https://0x.org/docs/0x-swap-api.

Needs `0x-api-key` and `0x-version: v2`. Uses the best of all routes and quotes 15 basis points
less, its fee. `issues` reports a missing balance or allowance of the wallet.
"""

import secrets
from typing import Any

from quietswap.chain.address import Address
from quietswap.sandbox.contracts.pools import BY_ADDRESS
from quietswap.sandbox.http_server import Answer, HttpRequest, HttpResponse, json_reply
from quietswap.sandbox.venues.market import best
from quietswap.sandbox.venues.quote_engine import (
    BadParameter,
    PriceQuote,
    QueryParams,
    RejectReason,
    Venue,
    less,
)

_QUOTE, _PRICE = "/swap/allowance-holder/quote", "/swap/allowance-holder/price"
ZERO = Address("0x" + "0" * 40)
_FEE_BPS = 15
_NO_TAX = {"buyTaxBps": "0", "sellTaxBps": "0", "transferTaxBps": "0"}
_MISSES = {
    RejectReason.UNKNOWN_TOKEN: (400, "TOKEN_NOT_SUPPORTED", "Token is not supported"),
    RejectReason.RATE_LIMITED: (429, "RATE_LIMITED", "Rate limit exceeded"),
    RejectReason.REFUSED: (403, "TAKER_NOT_AUTHORIZED_FOR_TRADE", "The taker is not authorized"),
}


class ZeroExVenue(Venue):
    """`handle` serves `/quote`, and `/price`, which needs no taker."""

    name = "zeroex"
    taste = staticmethod(best)

    async def _answer(self, request: HttpRequest, query: QueryParams) -> Answer:
        if request.method != "GET" or request.path not in {_QUOTE, _PRICE}:
            return json_reply({"name": "NOT_FOUND", "message": "no Route matched"}, 404)
        if not request.headers.get("0x-api-key"):
            return _failure(401, "USER_NOT_AUTHORIZED", "The API key is missing or invalid")
        if request.headers.get("0x-version") != "v2":
            raise BadParameter("0x-version", "Invalid")
        if query.text("chainId") != "1":
            raise BadParameter("chainId", "chainId must be 1")
        priced = request.path == _PRICE
        taker = query.address("taker", ZERO if priced else None)
        slippage = query.integer("slippageBps", 0, 10_000, 100)
        offer = await self._desk.asked(query, "sellToken", "buyToken", "sellAmount")
        net = less(offer.promised, _FEE_BPS)
        least = less(net, slippage)
        gas = {"gas": str(offer.route.gas + 60_000)}
        quote = await self._quoted(offer, taker, net, least)
        if priced:
            price = {"gasPrice": str(await self._desk.market.gas_price())}
            return json_reply(quote | gas | price)
        recipient = query.address("recipient", taker)
        data = self._desk.calldata(offer, min_out=least, recipient=recipient)
        return json_reply(quote | {"transaction": await self._desk.transaction(data) | gas})

    def _missed(self, miss: RejectReason) -> Answer:
        if miss is RejectReason.NO_ROUTE:
            return json_reply({"liquidityAvailable": False, "zid": _zid()})
        return _failure(*_MISSES[miss])

    def _invalid(self, request: HttpRequest, error: BadParameter) -> Answer:
        details = [{"field": error.name, "reason": str(error)}]
        return _failure(400, "INPUT_INVALID", "The input is invalid", details)

    async def _quoted(
        self, offer: PriceQuote, taker: Address, net: int, least: int
    ) -> dict[str, Any]:
        sell, buy = offer.route.sell.lower(), offer.route.buy.lower()
        fee = {"amount": str(offer.promised - net), "token": buy, "type": "volume"}
        none = dict.fromkeys(("integratorFee", "integratorFees", "gasFee"))
        gas = offer.route.gas * await self._desk.market.gas_price()
        return {
            "allowanceTarget": self._desk.spender.lower(),
            "blockNumber": str(await self._desk.market.block_number()),
            "buyAmount": str(net),
            "buyToken": buy,
            "fees": none | {"zeroExFee": fee},
            "issues": await self._issues(offer, taker),
            "liquidityAvailable": True,
            "minBuyAmount": str(least),
            "mode": "exact-in",
            "route": _route(offer),
            "sellAmount": str(offer.ask.amount),
            "sellToken": sell,
            "tokenMetadata": {"buyToken": _NO_TAX, "sellToken": _NO_TAX},
            "totalNetworkFee": str(gas),
            "zid": _zid(),
        }

    async def _issues(self, offer: PriceQuote, taker: Address) -> dict[str, Any]:
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


def _route(offer: PriceQuote) -> dict[str, Any]:
    fills = [
        {
            "from": hop.token_in.lower(),
            "to": hop.token_out.lower(),
            "source": "Uniswap_V3" if hop.pool.v3 else "Uniswap_V2",
            "proportionBps": "10000",
        }
        for hop in offer.route.hops
    ]
    path = offer.route.path
    tokens = [{"address": one.lower(), "symbol": BY_ADDRESS[one].symbol} for one in path]
    return {"fills": fills, "tokens": tokens}


def _zid() -> str:
    return "0x" + secrets.token_hex(12)


def _failure(status: int, name: str, message: str, details: Any = ()) -> HttpResponse:
    body = {"name": name, "message": message, "data": {"zid": _zid(), "details": details}}
    return json_reply(body, status)
