"""Clients with wallets of their own that go on trading whatever happens to the service."""

import asyncio
import contextlib
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx
from eth_account import Account

from quietswap.sandbox.contracts.abi import Wallet
from quietswap.sandbox.rpc import RpcError
from tests import loopback
from tests.chaos.environment import CampaignEnvironment
from tests.e2e.test_delivery import order_params

_PATIENCE = 60
"""Posts of the same bytes until a client gives up on an answer."""
_PAUSE_S = 0.2
_SLIPPAGES = (1, 5, 50, 200)


@dataclass(slots=True)
class Promised:
    """What clients were told: order id to hash, hashes of wraps, and how often which answer."""

    swaps: dict[str, str] = field(default_factory=dict)
    wraps: set[str] = field(default_factory=set)
    answers: Counter[str] = field(default_factory=Counter)
    cancels: int = 0


class Trader:
    """One wallet: swaps, wraps, unwraps, reposts, and cancels by an empty self-transfer."""

    def __init__(
        self, stage: CampaignEnvironment, wallet: Wallet, promised: Promised, seed: str
    ) -> None:
        self._stage = stage
        self._wallet = wallet
        self._promised = promised
        self._chance = random.Random(seed)
        headers = {"X-API-Key": stage.key}
        self._http = loopback.AsyncClient(base_url=stage.victim.url, headers=headers, timeout=8)
        self.last_nonce: int | None = None

    async def trade(self, over: asyncio.Event) -> None:
        """Go on until `over`; the submission under way is then still seen to its answer."""
        async with self._http:
            while not over.is_set():
                await self._one()
                await asyncio.sleep(self._chance.uniform(0.05, 0.6))

    async def close(self) -> None:
        """Close its connections; `trade` does it by itself."""
        await self._http.aclose()

    async def _one(self) -> None:
        dice = self._chance.random()
        try:
            if dice < 0.6:
                await self.swap()
            elif dice < 0.93:
                await self._wrap()
            else:
                await self.cancel()
        except httpx.TransportError:
            self._promised.answers["quote unanswered"] += 1
            await asyncio.sleep(_PAUSE_S)

    async def swap(self) -> httpx.Response | None:
        """Quote, sign and submit a swap; return the last answer to the bytes, if there was one."""
        tokens = self._stage.sandbox.tokens
        sell, buy = self._chance.choice([("WETH", "USDC"), ("USDC", "WETH")])
        unit = 10**15 if sell == "WETH" else 10**6
        slippage = self._chance.choice(_SLIPPAGES)
        ask = {
            "sellToken": tokens[sell], "buyToken": tokens[buy],
            "sellAmount": str(unit * self._chance.randrange(1, 500)),
            "userAddress": self._wallet.address, "slippageBps": str(slippage),
        }  # fmt: skip
        answer = await self._http.get("/api/v1/quote", params=ask)
        if not self._is_quoted(answer):
            return None
        quote = answer.json()["data"]
        protection = quote["mevProtection"]
        nonce = protection["transactionParams"]["nonce"]
        body = {
            "orderParams": order_params(quote, self._wallet.address, slippage),
            "signedTransaction": self._signed(protection["transactionParams"], nonce),
            "providerMetadata": protection["providerMetadata"],
        }
        last = await self._insist("/api/v1/mev/orders", body)
        if last is not None:
            self._note_swap(last)
        return last

    async def _wrap(self) -> None:
        operation = self._chance.choice(["wrap", "unwrap"])
        amount = f"0.{self._chance.randrange(1, 10**6):06d}"
        ask = {"operation": operation, "amount": amount, "userAddress": self._wallet.address}
        answer = await self._http.post("/api/v1/mev/wrap/quote", json=ask)
        if not self._is_quoted(answer):
            return
        quote = answer.json()["data"]["quote"]
        protection = quote["mevProtection"]
        nonce = await self._nonce() + (self._chance.random() < 0.25)
        body = {
            "signedTransaction": self._signed(protection["transactionParams"], nonce),
            "providerMetadata": protection["providerMetadata"],
            "operation": operation, "amount": amount, "quoteId": quote["quoteId"],
        }  # fmt: skip
        last = await self._insist("/api/v1/mev/wrap/order", body)
        if last is not None and last.status_code == 200:
            self._promised.wraps.add(last.json()["data"]["order"]["txHash"])

    async def cancel(self) -> None:
        """Take the nonce of the last order away, in public, as a wallet's cancel button does."""
        if self.last_nonce is None:
            return
        params = {"to": self._wallet.address, "data": "0x", "value": "0", "gasLimit": "21000"}
        params["maxFeePerGas"] = str(10**11)
        raw = self._signed(params, self.last_nonce, tip=10**9)
        with contextlib.suppress(RpcError):  # the nonce is used by now
            await self._stage.sandbox.chain.send_raw(bytes.fromhex(raw[2:]))
            self._promised.cancels += 1

    async def _insist(self, path: str, body: dict[str, Any]) -> httpx.Response | None:
        """Post until there is an answer, then at times once more, as an impatient wallet does."""
        answer = None
        for _ in range(_PATIENCE):
            try:
                answer = await self._http.post(path, json=body)
            except httpx.TransportError:
                self._promised.answers["order unanswered"] += 1
                await asyncio.sleep(_PAUSE_S)
                continue
            self._count("order", answer)
            if answer.status_code == 200 or self._chance.random() < 0.7:
                break
            await asyncio.sleep(_PAUSE_S)
        return answer

    def _note_swap(self, answer: httpx.Response) -> None:
        if answer.status_code == 200:
            order = answer.json()["data"]["order"]
            self._promised.swaps[order["orderId"]] = order["txHash"]
        elif answer.status_code == 409:
            details = answer.json().get("details") or {}
            if "orderId" in details:
                self._promised.swaps[details["orderId"]] = ""

    def _is_quoted(self, answer: httpx.Response) -> bool:
        self._count("quote", answer)
        return answer.status_code == 200

    def _count(self, what: str, answer: httpx.Response) -> None:
        is_good = answer.status_code == 200
        code = "200" if is_good else answer.json()["error"]
        self._promised.answers[f"{what} {code}"] += 1

    async def _nonce(self) -> int:
        rpc = self._stage.sandbox.chain.rpc
        return int(await rpc.call("eth_getTransactionCount", self._wallet.address, "latest"), 16)

    def _signed(self, params: dict[str, Any], nonce: int, tip: int = 0) -> str:
        self.last_nonce = nonce
        transaction = {
            "to": params["to"], "data": params["data"], "value": int(params["value"]),
            "gas": int(params["gasLimit"]), "maxFeePerGas": int(params["maxFeePerGas"]),
            "maxPriorityFeePerGas": tip, "nonce": nonce, "chainId": 1, "type": 2,
        }  # fmt: skip
        signed = Account.sign_transaction(transaction, self._wallet.private_key)
        raw: str = signed.raw_transaction.to_0x_hex()
        return raw
