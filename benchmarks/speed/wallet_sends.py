"""The row about eth_sendRawTransaction on a wallet's RPC URL, beside the order endpoint."""

from statistics import median
from urllib.parse import urlsplit

import msgspec
from eth_account import Account
from eth_account.signers.local import LocalAccount

from benchmarks.speed.load import load, post
from benchmarks.speed.row import Goal, Row, Spread, shown
from benchmarks.speed.stage import Served, Stage, ready_to_swap
from benchmarks.speed.submission import fields, quoted_swap, signed_order
from quietswap.service.base.http_client import HttpClient

_KEYS = 0xB0B1_0000
_BATCH = 40
"""Transactions of one measurement, each of its own wallet; an RPC URL takes 50 wallets."""


async def wallet_sends(stage: Stage, rounds: int) -> list[Row]:
    """One client posts an order and sends a raw transaction in turn, so that a busy machine slows
    both. The wallet has gas and fees of its own.

    The relay and the node answer at once. Both figures are whole requests.
    """
    ours = await stage.service("wallet sends")
    accounts = [
        Account.from_key((_KEYS + n).to_bytes(32)) for n in range(2 * _BATCH * (rounds + 1))
    ]
    await ready_to_swap(stage.sandbox, [account.address for account in accounts])
    posts, sends = [], []
    for start in range(0, len(accounts), 2 * _BATCH):
        placing = accounts[start : start + _BATCH]
        sending = accounts[start + _BATCH : start + 2 * _BATCH]
        placed = [(await signed_order(stage, ours, account)).request for account in placing]
        path = await _rpc_path(ours, sending)
        raws = [post(path, ours.key, await _raw(ours, account)) for account in sending]
        turns = [request for pair in zip(placed, raws, strict=True) for request in pair]
        result = await load(ours.service.port, 1, len(turns), turns)
        await _check(ours, sending)
        if start:  # the first round warms everything up
            posts.append(median(result.ms[0::2]))
            sends.append(median(result.ms[1::2]))
    share = Spread.of(sent / posted for sent, posted in zip(sends, posts, strict=True))
    beside = f"{shown(Spread.of(sends), 'ms')}; order endpoint {shown(Spread.of(posts), 'ms')}"
    return [Row("eth_sendRawTransaction: over the order endpoint", share, beside, Goal(1.5, "×"))]


async def _rpc_path(ours: Served, accounts: list[LocalAccount]) -> str:
    """Return the path of a new RPC URL for these wallets."""
    http = HttpClient()
    body = {"wallets": [account.address for account in accounts], "name": "bench"}
    reply = await http.post(
        f"{ours.service.url}/api/v1/mev/rpc",
        msgspec.json.encode(body),
        headers={"x-api-key": ours.key},
        timeout_s=10,
    )
    await http.close()
    return urlsplit(str(reply.json()["data"]["token"]["url"])).path


async def _raw(ours: Served, account: LocalAccount) -> bytes:
    """Return the body of a send; the wallet raises gas and fees, and pays a tip."""
    quote, _ = await quoted_swap(ours, account.address)
    issued = fields(quote)
    raised = {
        "gas": issued["gas"] + 20_000,
        "maxFeePerGas": 2 * issued["maxFeePerGas"],
        "maxPriorityFeePerGas": 10**8,
    }
    raw = account.sign_transaction(issued | raised).raw_transaction.to_0x_hex()
    call = {"jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransaction", "params": [raw]}
    return msgspec.json.encode(call)


async def _check(ours: Served, accounts: list[LocalAccount]) -> None:
    """Raise RuntimeError unless each wallet has its order: a refusal is an HTTP 200 as well."""
    http = HttpClient()
    for account in accounts:
        reply = await http.get(
            f"{ours.service.url}/api/v1/mev/orders/user/{account.address}",
            headers={"x-api-key": ours.key},
            timeout_s=10,
        )
        if reply.json()["data"]["total"] != 1:
            raise RuntimeError("a transaction was refused")
    await http.close()
