"""Velora (ParaSwap) Market API, `GET /swap`; https://velora.xyz/docs/api-reference/market/swap.

Two traps of the real one are here: without `version=6.2` the answer is for the old router, whose
spender is another contract, and without `partner` one basis point goes to somebody else.
This venue knows V2 pairs only.
"""

import hashlib
import json
from decimal import Decimal
from typing import Any

from quietswap.sandbox.faults import FaultBoard
from quietswap.sandbox.tokens import BY_ADDRESS
from quietswap.sandbox.venues.desk import BadParameter, Desk, Miss, Missed, Offer, Query, Step, less
from quietswap.sandbox.venues.market import Market, Worth, only_v2
from quietswap.sandbox.web import Answer, Reply, Request, json_reply

NAME = "velora"
V5_ROUTER = "0xDEF171Fe48CF0115B1d80b88dc8eAB59176FEe57"
V5_SPENDER = "0x216b4b4ba9f3e719726886d34a177484278bfcae"
_V5_SELECTOR = "0xa94e78ef"
_ANONYMOUS_FEE_BPS = 1
_MISSES = {
    Miss.NO_ROUTE: (400, "No routes found with enough liquidity"),
    Miss.UNKNOWN_TOKEN: (400, "Invalid destToken"),
    Miss.RATE_LIMITED: (429, "Rate limited"),
    Miss.REFUSED: (403, "Forbidden"),
}


class Velora:
    """`handle` serves the call."""

    def __init__(self, market: Market, board: FaultBoard) -> None:
        self._desk = Desk(NAME, market, board, only_v2)

    async def handle(self, request: Request) -> Answer:
        """Answer one request."""
        if (request.method, request.path) != ("GET", "/swap"):
            return Reply(404, b"Not Found", "text/plain")
        try:
            return await self._swap(Query(request.query))
        except Missed as error:
            status, text = _MISSES[error.miss]
            return json_reply({"error": text}, status)
        except BadParameter as error:
            if error.name in {"srcToken", "destToken"}:
                return json_reply({"error": f"Invalid {error.name}"}, 400)
            return json_reply({"errorType": "InvalidInput", "details": str(error)}, 400)

    async def _swap(self, query: Query) -> Reply:
        if query.text("network", "1") != "1":
            return json_reply(
                {"errorType": "UnsupportedChain", "details": "Unsupported chain"}, 422
            )
        if query.text("side", "SELL") != "SELL":
            raise BadParameter("side", "only SELL is answered here")
        wallet = query.address("userAddress")
        sell, buy = query.address("srcToken"), query.address("destToken")
        offer = await self._desk.offer(self._desk.ask(sell, buy, query.amount("amount")))
        is_v6 = query.text("version", "5") == "6.2"
        route = await self._price_route(offer, query, is_v6=is_v6)
        most = query.decimal("maxImpact", "0", "100", "15")
        impact = _impact_percent(route)
        if impact > most:
            text = "ESTIMATED_LOSS_GREATER_THAN_MAX_IMPACT"
            return json_reply({"error": text, "value": f"{impact:.2f}%", "priceRoute": route}, 400)
        least = less(offer.promised, query.integer("slippage", 0, 10_000, 0))
        data = self._desk.calldata(
            offer,
            min_out=least,
            recipient=query.address("receiver", wallet),
            fee_bps=_fee_bps(query),
        )
        transaction = {
            "from": wallet,
            "to": self._desk.router.lower() if is_v6 else V5_ROUTER,
            "value": str(self._desk.value),
            "data": data if is_v6 else _V5_SELECTOR + data[10:],
            "gasPrice": str(await self._desk.market.gas_price()),
            "chainId": 1,
        }
        return json_reply({"priceRoute": route, "txParams": transaction})

    async def _price_route(self, offer: Offer, query: Query, *, is_v6: bool) -> dict[str, Any]:
        market = self._desk.market
        worth = await market.worth(offer.route, offer.ask.amount, offer.promised)
        fee = _fee_bps(query)
        legs = [_leg(step) for step in await self._desk.steps(offer)]
        route: dict[str, Any] = {
            "blockNumber": await market.block_number(),
            "network": 1,
            "srcToken": offer.route.sell.lower(),
            "srcDecimals": query.integer("srcDecimals", 0, 255, 18),
            "srcAmount": str(offer.ask.amount),
            "destToken": offer.route.buy.lower(),
            "destDecimals": query.integer("destDecimals", 0, 255, 18),
            "destAmount": str(offer.promised),
            "bestRoute": [{"percent": 100, "swaps": legs}],
            "side": "SELL",
            "version": "6.2" if is_v6 else "5",
            "contractAddress": self._desk.router.lower() if is_v6 else V5_ROUTER,
            "tokenTransferProxy": self._desk.spender.lower() if is_v6 else V5_SPENDER,
            "contractMethod": "swapExactAmountIn" if is_v6 else "multiSwap",
            "partnerFee": fee / 100,
            "partner": query.text("partner", "anon"),
            "maxImpactReached": False,
        } | _usd(offer, worth)
        if fee:
            route["destAmountAfterFee"] = str(less(offer.promised, fee))
        text = json.dumps(route, sort_keys=True).encode()
        return route | {"hmac": hashlib.sha1(text, usedforsecurity=False).hexdigest()}


def _leg(step: Step) -> dict[str, Any]:
    sell, buy = BY_ADDRESS[step.hop.token_in], BY_ADDRESS[step.hop.token_out]
    return {
        "srcToken": sell.address.lower(),
        "srcDecimals": sell.decimals,
        "destToken": buy.address.lower(),
        "destDecimals": buy.decimals,
        "swapExchanges": [_exchange(step)],
    }


def _exchange(step: Step) -> dict[str, Any]:
    pool = step.hop.pool.address.lower()
    return {
        "exchange": "UniswapV2",
        "srcAmount": str(step.amount_in),
        "destAmount": str(step.amount_out),
        "percent": 100,
        "poolAddresses": [pool],
        "poolIdentifiers": [f"UniswapV2_{pool}"],
        "data": {"gasUSD": "0"},
    }


def _usd(offer: Offer, worth: Worth) -> dict[str, str]:
    return {
        "gasCost": str(offer.route.gas),
        "gasCostUSD": f"{worth.gas_usd:.6f}",
        "srcUSD": f"{worth.in_usd:.10f}",
        "destUSD": f"{worth.out_usd:.10f}",
    }


def _impact_percent(route: dict[str, Any]) -> Decimal:
    before, after = Decimal(route["srcUSD"]), Decimal(route["destUSD"])
    return (1 - after / before) * 100 if before else Decimal(0)


def _fee_bps(query: Query) -> int:
    return _ANONYMOUS_FEE_BPS if query.text("partner", "anon") == "anon" else 0
