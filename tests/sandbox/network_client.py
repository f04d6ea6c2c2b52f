"""A client of a whole sandbox: its node, its relay and its control address."""

from typing import Any

import httpx

from quietswap.sandbox.chain.transactions import Transaction, TransactionFields, sign
from quietswap.sandbox.network import SandboxNetwork

GWEI = 10**9


async def rpc(http: httpx.AsyncClient, url: str, method: str, *params: Any) -> Any:
    """Return the result of one call, or its error object."""
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    answer = (await http.post(url, json=body)).json()
    assert answer["id"] == 7
    return answer["result"] if "result" in answer else answer["error"]


def payment(sandbox: SandboxNetwork, nonce: int = 0, tip: int = 0, value: int = 1) -> Transaction:
    """Return a signed payment of the first wallet to the second."""
    alice, bob = sandbox.wallets[0], sandbox.wallets[1]
    fields = TransactionFields(nonce, bob.address, b"", 21_000, 3 * GWEI, tip, value)
    return sign(fields, alice.private_key)


async def send(http: httpx.AsyncClient, url: str, tx: Transaction) -> Any:
    """Send a transaction to a node or a relay."""
    return await rpc(http, url, "eth_sendRawTransaction", "0x" + tx.raw.hex())


class Control:
    """A client of the control API."""

    def __init__(self, http: httpx.AsyncClient, sandbox: SandboxNetwork) -> None:
        self._http = http
        self._url = sandbox.control_url

    async def __call__(self, method: str, path: str, **body: Any) -> Any:
        reply = await self._http.request(method, self._url + path, json=body or None)
        assert reply.status_code == 200, reply.text
        return reply.json()
