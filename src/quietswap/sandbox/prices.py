"""Stand-ins for DefiLlama and CoinGecko, quoting the prices of the sandbox's pools.

https://api-docs.defillama.com (`/prices/current/{coins}`) and
https://docs.coingecko.com/reference/simple-token-price.
"""

import time
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from quietswap.domain import address as addresses
from quietswap.sandbox.faults import FaultBoard
from quietswap.sandbox.tokens import BY_ADDRESS, WETH, SandboxToken
from quietswap.sandbox.venues.market import Market
from quietswap.sandbox.web import Answer, Request, json_reply

_YESTERDAY_S = 86_400
_LLAMA_PATH = "/prices/current/"
_LLAMA_ETH = "coingecko:ethereum"
_GECKO_PATH = "/api/v3/simple/token_price/ethereum"


class _Quotes:
    """Prices as the fault of one source leaves them."""

    def __init__(self, name: str, market: Market, board: FaultBoard) -> None:
        self._name = name
        self._market = market
        self._board = board

    def known(self, texts: Iterable[str]) -> list[tuple[str, SandboxToken]]:
        """Return the tokens among some address texts, each with the text it was asked by."""
        if self._board.shows(self._name, "absent"):
            return []
        return [(text, token) for text in texts if (token := _token(text))]

    async def usd(self, token: SandboxToken) -> float:
        """Return the price; JSON numbers are what the real ones send."""
        price = await self._market.usd_price(token)
        return float(price * (2 if self._board.shows(self._name, "2x") else Decimal(1)))

    def timestamp(self) -> int:
        """Return when the price was seen, in Unix seconds."""
        is_stale = self._board.shows(self._name, "stale")
        return int(time.time()) - (_YESTERDAY_S if is_stale else 0)


class DefiLlama:
    """`handle` serves `/prices/current/ethereum:0x…,ethereum:0x…`."""

    def __init__(self, market: Market, board: FaultBoard) -> None:
        self._quotes = _Quotes("defillama", market, board)

    async def handle(self, request: Request) -> Answer:
        """Answer one request; a coin it does not know is left out."""
        if request.method != "GET" or not request.path.startswith(_LLAMA_PATH):
            return json_reply({"message": "Not Found"}, 404)
        coins = request.path.removeprefix(_LLAMA_PATH).split(",")
        on_chain = [one.removeprefix("ethereum:") for one in coins if one.startswith("ethereum:")]
        found: dict[str, Any] = {}
        for text, token in self._quotes.known(on_chain):
            found[f"ethereum:{text}"] = {"decimals": token.decimals} | await self._coin(token)
        if _LLAMA_ETH in coins and self._quotes.known([WETH.address]):
            found[_LLAMA_ETH] = await self._coin(WETH) | {"symbol": "ETH"}
        return json_reply({"coins": found})

    async def _coin(self, token: SandboxToken) -> dict[str, Any]:
        return {
            "symbol": token.symbol,
            "price": await self._quotes.usd(token),
            "timestamp": self._quotes.timestamp(),
            "confidence": 0.99,
        }


class CoinGecko:
    """`handle` serves `/api/v3/simple/token_price/ethereum`."""

    def __init__(self, market: Market, board: FaultBoard) -> None:
        self._quotes = _Quotes("coingecko", market, board)

    async def handle(self, request: Request) -> Answer:
        """Answer one request; keys are lower case, and a token it does not know is left out."""
        if (request.method, request.path) != ("GET", _GECKO_PATH):
            return json_reply({"status": {"error_code": 404, "error_message": "Not Found"}}, 404)
        wanted = request.query.get("contract_addresses", "").split(",")
        if request.query.get("vs_currencies", "usd").lower() != "usd":
            return json_reply({})
        dated = request.query.get("include_last_updated_at", "false").lower() == "true"
        found: dict[str, Any] = {}
        for text, token in self._quotes.known(wanted):
            when = {"last_updated_at": self._quotes.timestamp()} if dated else {}
            found[text.lower()] = {"usd": await self._quotes.usd(token)} | when
        return json_reply(found)


def _token(text: str) -> SandboxToken | None:
    try:
        return BY_ADDRESS.get(addresses.from_any_case(text))
    except addresses.BadAddress:
        return None
