"""Stand-ins for DefiLlama and CoinGecko, with the prices of the sandbox's pools.

https://api-docs.defillama.com (`/prices/current/{coins}`) and
https://docs.coingecko.com/reference/simple-token-price.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from quietswap.domain import address as addresses
from quietswap.sandbox.contracts.tokens import BY_ADDRESS, WETH, SandboxToken
from quietswap.sandbox.faults.active_faults import ActiveFaults
from quietswap.sandbox.venues.market import Market
from quietswap.sandbox.wire.http_server import Answer, HttpRequest, json_reply

_YESTERDAY_S = 86_400
_LLAMA_PATH = "/prices/current/"
_LLAMA_ETH = "coingecko:ethereum"
_GECKO_PATH = "/api/v3/simple/token_price/ethereum"


@dataclass(frozen=True)
class _Quotes:
    """The prices of one source with its active fault."""

    market: Market
    board: ActiveFaults
    name: ClassVar[str]

    def _known(self, texts: Iterable[str]) -> list[tuple[str, SandboxToken]]:
        """Return the known tokens among address texts, each with its text."""
        if self.board.shows(self.name, "absent"):
            return []
        return [(text, token) for text in texts if (token := _token(text))]

    async def _usd(self, token: SandboxToken) -> float:
        """Return the price as a JSON number, as the real APIs do."""
        price = await self.market.usd_price(token)
        return float(price * (2 if self.board.shows(self.name, "2x") else 1))

    def _timestamp(self) -> int:
        """Return the time of the price, in Unix seconds."""
        return int(time.time()) - _YESTERDAY_S * self.board.shows(self.name, "stale")


class DefiLlamaStub(_Quotes):
    """`handle` serves `/prices/current/ethereum:0x…,ethereum:0x…`."""

    name = "defillama"

    async def handle(self, request: HttpRequest) -> Answer:
        """Answer one request. Unknown coins are left out."""
        if request.method != "GET" or not request.path.startswith(_LLAMA_PATH):
            return json_reply({"message": "Not Found"}, 404)
        coins = request.path.removeprefix(_LLAMA_PATH).split(",")
        on_chain = [one.removeprefix("ethereum:") for one in coins if one.startswith("ethereum:")]
        found: dict[str, Any] = {}
        for text, token in self._known(on_chain):
            found[f"ethereum:{text}"] = {"decimals": token.decimals} | await self._coin(token)
        if _LLAMA_ETH in coins and self._known([WETH.address]):
            found[_LLAMA_ETH] = await self._coin(WETH) | {"symbol": "ETH"}
        return json_reply({"coins": found})

    async def _coin(self, token: SandboxToken) -> dict[str, Any]:
        usd, at = await self._usd(token), self._timestamp()
        return {"symbol": token.symbol, "price": usd, "timestamp": at, "confidence": 0.99}


class CoinGeckoStub(_Quotes):
    """`handle` serves `/api/v3/simple/token_price/ethereum`."""

    name = "coingecko"

    async def handle(self, request: HttpRequest) -> Answer:
        """Answer one request. Keys are lower case, and unknown tokens are left out."""
        if (request.method, request.path) != ("GET", _GECKO_PATH):
            return json_reply({"status": {"error_code": 404, "error_message": "Not Found"}}, 404)
        wanted = request.query.get("contract_addresses", "").split(",")
        if request.query.get("vs_currencies", "usd").lower() != "usd":
            return json_reply({})
        dated = request.query.get("include_last_updated_at", "false").lower() == "true"
        found: dict[str, Any] = {}
        for text, token in self._known(wanted):
            when = {"last_updated_at": self._timestamp()} if dated else {}
            found[text.lower()] = {"usd": await self._usd(token)} | when
        return json_reply(found)


def _token(text: str) -> SandboxToken | None:
    try:
        return BY_ADDRESS.get(addresses.from_any_case(text))
    except addresses.BadAddress:
        return None
