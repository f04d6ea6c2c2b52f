"""One good call of each method, and a client of the wallet RPC endpoint."""

import json
from typing import Any

import httpx

from tests.api.scripted_wallet_rpc import HASH, SECRET, WALLET

URL = f"/rpc/{SECRET}"
BLOCK_HASH = "0x" + "0b" * 32
READS: dict[str, list[Any]] = {
    "eth_syncing": [],
    "eth_blockNumber": [],
    "eth_gasPrice": [],
    "eth_maxPriorityFeePerGas": [],
    "eth_getBlockByNumber": ["latest", False],
    "eth_getBlockByHash": [BLOCK_HASH, True],
    "eth_getBalance": [WALLET.lower(), "latest"],
    "eth_getCode": [WALLET, {"blockHash": BLOCK_HASH, "requireCanonical": True}],
    "eth_getStorageAt": [WALLET, "0x0", "0x10"],
    "eth_call": [{"to": WALLET, "data": "0x70a08231"}, "latest"],
    "eth_estimateGas": [{"from": WALLET, "to": WALLET, "value": "0x1"}],
    "eth_feeHistory": ["0x5", "latest", [10, 50.5]],
    "eth_getLogs": [{"address": WALLET, "fromBlock": "0x1", "toBlock": "0x9", "topics": [None]}],
    "eth_getTransactionCount": [WALLET, "latest"],
    "eth_getTransactionByHash": [HASH],
    "eth_getTransactionReceipt": [HASH],
}
LOCAL = {
    "eth_chainId": "0x1",
    "net_version": "1",
    "eth_accounts": [],
}


def request(method: str, params: Any = None, call_id: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": call_id, "method": method, "params": params or []}


async def post(client: httpx.AsyncClient, body: Any, url: str = URL) -> httpx.Response:
    """Post JSON, or bytes as they are."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await client.post(url, content=content, headers={"Content-Type": "application/json"})


async def call(client: httpx.AsyncClient, method: str, *params: Any) -> dict[str, Any]:
    """Return the one answer to one call."""
    answer = await post(client, request(method, list(params)))
    assert answer.status_code == 200
    body: dict[str, Any] = answer.json()
    assert body["jsonrpc"] == "2.0"
    assert body["id"] == 1
    assert ("result" in body) != ("error" in body)
    return body


async def failed(client: httpx.AsyncClient, code: int, method: str, *params: Any) -> dict[str, Any]:
    """Return the error of one call, which has this code."""
    error: dict[str, Any] = (await call(client, method, *params))["error"]
    assert error["code"] == code, error
    return error
