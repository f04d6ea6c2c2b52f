"""Clients of each vendor, by the vendor's documentation: requests, and fields of the answers."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx

from quietswap.sandbox.contracts.abi import word
from quietswap.sandbox.network import SandboxNetwork

ONE = 10**18


@dataclass(frozen=True)
class Asked:
    """A requested swap: amounts in smallest units, slippage in basis points."""

    sell: str
    buy: str
    amount: int
    wallet: str
    slippage_bps: int = 50


@dataclass(frozen=True)
class Got:
    """The vendor's answer in a common form."""

    promised: int
    to: str
    spender: str
    value: int
    data: bytes

    def _words(self, start: int, *at: int) -> list[int]:
        return [word(self.data[start:], index) for index in at]

    @property
    def minimum_and_recipient(self) -> tuple[int, str]:
        """Read both at the contract's word positions, by selector."""
        selector = self.data[:4].hex()
        if selector == "e21fd0e9":  # Kyber: the description hangs on the fourth word of the struct
            base = self._words(4, 0)[0] // 32
            desc = base + self._words(4, base + 3)[0] // 32
            least, owner = self._words(4, desc + 8, desc + 6)
        elif selector == "90411a32":  # OpenOcean
            desc = self._words(4, 1)[0] // 32
            least, owner = self._words(4, desc + 5, desc + 3)
        elif selector == "2213bc0b":  # 0x: inside the bytes for Settler
            inner = 4 + self._words(4, 4)[0] + 32
            assert self.data[inner : inner + 4].hex() == "1fff991f"
            owner, _, least = self._words(inner + 4, 0, 1, 2)
        else:
            at = {"e3ead59e": (4, 7), "5f3bd1c8": (4, 2), "07ed2379": (6, 4)}[selector]
            least, owner = self._words(4, *at)
        return least, f"0x{owner:040x}"


Ask = Callable[[httpx.AsyncClient, SandboxNetwork, Asked], Awaitable[httpx.Response]]
Read = Callable[[Any], Got]


async def _kyberswap(
    http: httpx.AsyncClient, sandbox: SandboxNetwork, asked: Asked
) -> httpx.Response:
    base = sandbox.venues["kyberswap"] + "/ethereum/api/v1"
    query = {"tokenIn": asked.sell, "tokenOut": asked.buy, "amountIn": str(asked.amount)}
    routes = await http.get(f"{base}/routes", params=query, headers={"x-client-id": "test"})
    if routes.status_code != 200:
        return routes
    body = {
        "routeSummary": routes.json()["data"]["routeSummary"],
        "sender": asked.wallet,
        "recipient": asked.wallet,
        "slippageTolerance": asked.slippage_bps,
    }
    return await http.post(f"{base}/route/build", json=body)


async def _velora(http: httpx.AsyncClient, sandbox: SandboxNetwork, asked: Asked) -> httpx.Response:
    return await http.get(
        sandbox.venues["velora"] + "/swap",
        params={
            "srcToken": asked.sell,
            "destToken": asked.buy,
            "srcDecimals": 18,
            "destDecimals": 6,
            "amount": str(asked.amount),
            "side": "SELL",
            "network": 1,
            "userAddress": asked.wallet,
            "slippage": asked.slippage_bps,
            "version": "6.2",
            "partner": "test",
        },
    )


async def _sushi(http: httpx.AsyncClient, sandbox: SandboxNetwork, asked: Asked) -> httpx.Response:
    query = {
        "tokenIn": asked.sell,
        "tokenOut": asked.buy,
        "amount": str(asked.amount),
        "maxSlippage": f"{asked.slippage_bps / 10_000:.4f}",
        "sender": asked.wallet,
    }
    return await http.get(sandbox.venues["sushi"] + "/swap/v7/1", params=query)


async def _openocean(
    http: httpx.AsyncClient, sandbox: SandboxNetwork, asked: Asked
) -> httpx.Response:
    query = {
        "inTokenAddress": asked.sell,
        "outTokenAddress": asked.buy,
        "amountDecimals": str(asked.amount),
        "gasPriceDecimals": "1000000000",
        "slippage": f"{asked.slippage_bps / 100:.2f}",
        "account": asked.wallet,
    }
    return await http.get(sandbox.venues["openocean"] + "/v4/1/swap", params=query)


async def _zeroex(http: httpx.AsyncClient, sandbox: SandboxNetwork, asked: Asked) -> httpx.Response:
    query = {
        "chainId": "1",
        "sellToken": asked.sell,
        "buyToken": asked.buy,
        "sellAmount": str(asked.amount),
        "taker": asked.wallet,
        "slippageBps": str(asked.slippage_bps),
    }
    headers = {"0x-api-key": "key", "0x-version": "v2"}
    url = sandbox.venues["zeroex"] + "/swap/allowance-holder/quote"
    return await http.get(url, params=query, headers=headers)


async def _oneinch(
    http: httpx.AsyncClient, sandbox: SandboxNetwork, asked: Asked
) -> httpx.Response:
    query = {
        "src": asked.sell,
        "dst": asked.buy,
        "amount": str(asked.amount),
        "from": asked.wallet,
        "origin": asked.wallet,
        "slippage": f"{asked.slippage_bps / 100:.2f}",
        "disableEstimate": "true",
    }
    headers = {"Authorization": "Bearer key"}
    url = sandbox.venues["oneinch"] + "/swap/v6.1/1/swap"
    return await http.get(url, params=query, headers=headers)


def _data(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


def _from_kyberswap(body: Any) -> Got:
    data = body["data"]
    router, value = data["routerAddress"], int(data["transactionValue"])
    return Got(int(data["amountOut"]), router, router, value, _data(data["data"]))


def _from_velora(body: Any) -> Got:
    route, tx = body["priceRoute"], body["txParams"]
    spender = route["tokenTransferProxy"]
    return Got(int(route["destAmount"]), tx["to"], spender, int(tx["value"]), _data(tx["data"]))


def _from_sushi(body: Any) -> Got:
    tx = body["tx"]
    value = int(tx.get("value", "0"))
    return Got(int(body["assumedAmountOut"]), tx["to"], tx["to"], value, _data(tx["data"]))


def _from_openocean(body: Any) -> Got:
    data = body["data"]
    return Got(
        int(data["outAmount"]), data["to"], data["to"], int(data["value"]), _data(data["data"])
    )


def _from_zeroex(body: Any) -> Got:
    tx = body["transaction"]
    spender = body["allowanceTarget"]
    return Got(int(body["buyAmount"]), tx["to"], spender, int(tx["value"]), _data(tx["data"]))


def _from_oneinch(body: Any) -> Got:
    tx = body["tx"]
    return Got(int(body["dstAmount"]), tx["to"], tx["to"], int(tx["value"]), _data(tx["data"]))


VENUE_CLIENTS: dict[str, tuple[Ask, Read]] = {
    "kyberswap": (_kyberswap, _from_kyberswap),
    "velora": (_velora, _from_velora),
    "sushi": (_sushi, _from_sushi),
    "openocean": (_openocean, _from_openocean),
    "zeroex": (_zeroex, _from_zeroex),
    "oneinch": (_oneinch, _from_oneinch),
}
