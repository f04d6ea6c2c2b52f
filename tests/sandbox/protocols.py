"""A valid request to each vendor, and a helper to change it."""

from typing import Any

import httpx
import pytest

from quietswap.sandbox.contracts.abi import WALLETS
from quietswap.sandbox.contracts.pools import USDC, WETH

ALICE = WALLETS[0].address
SELL, BUY, ONE = WETH.address, USDC.address, str(10**18)
Json = dict[str, Any]
Protocol = tuple[str, str, Json, Json]
"""Vendor, path, query and headers."""


class Vendor:
    """One vendor's endpoint with a valid request; `ask` changes it, None removes a parameter."""

    def __init__(self, http: httpx.AsyncClient, url: str, good: Json, headers: Json) -> None:
        self._http, self._url, self._good, self._headers = http, url, good, headers

    async def ask(self, headers: Json | None = None, **changes: Any) -> httpx.Response:
        """Return the answer."""
        changed = {name.rstrip("_"): value for name, value in changes.items()}
        query = {n: v for n, v in (self._good | changed).items() if v is not None}
        sent = self._headers if headers is None else headers
        return await self._http.get(self._url, params=query, headers=sent)


KYBER = ("kyberswap", "/ethereum/api/v1/routes", {
    "tokenIn": SELL, "tokenOut": BUY, "amountIn": ONE, "excludeRFQSources": "true",
}, {})  # fmt: skip
VELORA = ("velora", "/swap", {
    "srcToken": SELL, "destToken": BUY, "srcDecimals": 18, "destDecimals": 6, "amount": ONE,
    "side": "SELL", "network": 1, "userAddress": ALICE, "slippage": 50, "version": "6.2",
    "partner": "me",
}, {})  # fmt: skip
SUSHI = ("sushi", "/swap/v7/1", {
    "tokenIn": SELL, "tokenOut": BUY, "amount": ONE, "maxSlippage": "0.005", "sender": ALICE,
}, {})  # fmt: skip
OPENOCEAN = ("openocean", "/v4/1/swap", {
    "inTokenAddress": SELL, "outTokenAddress": BUY, "amountDecimals": ONE,
    "gasPriceDecimals": "1000000000", "slippage": "0.5", "account": ALICE,
}, {})  # fmt: skip
ZEROEX = ("zeroex", "/swap/allowance-holder/quote", {
    "chainId": 1, "sellToken": SELL, "buyToken": BUY, "sellAmount": ONE, "taker": ALICE,
    "slippageBps": 50,
}, {"0x-api-key": "key", "0x-version": "v2"})  # fmt: skip
ONEINCH = ("oneinch", "/swap/v6.1/1/swap", {
    "src": SELL, "dst": BUY, "amount": ONE, "from": ALICE, "origin": ALICE, "slippage": "0.5",
    "disableEstimate": "true",
}, {"Authorization": "Bearer key"})  # fmt: skip

VELORA_PRICES = ("velora", "/prices", {
    "srcToken": SELL, "destToken": BUY, "srcDecimals": 18, "destDecimals": 6, "amount": ONE,
    "side": "SELL", "network": 1, "version": "6.2", "partner": "me", "excludeRFQ": "true",
}, {})  # fmt: skip
SUSHI_QUOTE = ("sushi", "/quote/v7/1", {
    "tokenIn": SELL, "tokenOut": BUY, "amount": ONE, "maxSlippage": "0.005",
}, {})  # fmt: skip
OPENOCEAN_QUOTE = ("openocean", "/v4/1/quote", {
    "inTokenAddress": SELL, "outTokenAddress": BUY, "amountDecimals": ONE,
    "gasPriceDecimals": "1000000000", "slippage": "1",
}, {})  # fmt: skip
ZEROEX_PRICE = ("zeroex", "/swap/allowance-holder/price", {
    "chainId": 1, "sellToken": SELL, "buyToken": BUY, "sellAmount": ONE,
}, {"0x-api-key": "key", "0x-version": "v2"})  # fmt: skip
ONEINCH_QUOTE = ("oneinch", "/swap/v6.1/1/quote", {
    "src": SELL, "dst": BUY, "amount": ONE, "includeTokensInfo": "true", "includeGas": "true",
}, {"Authorization": "Bearer key"})  # fmt: skip


def speaks(protocol: Protocol) -> pytest.MarkDecorator:
    """Set the fixture `vendor` to the one with `protocol`."""
    return pytest.mark.parametrize("vendor", [protocol], indirect=True, ids=[protocol[0]])
