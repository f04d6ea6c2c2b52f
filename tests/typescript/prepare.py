"""How a scenario's node and service differ from the usual ones."""

import copy
import json
from collections import Counter
from typing import Any

from quietswap.rules.orders.order import OrderStatus
from quietswap.rules.tokens.token import WETH
from tests.client.fake_chain import FakeChain
from tests.client.fake_node import NodeSays
from tests.client.fake_servers import FakeService, Reply, ok, placed, swap_quote
from tests.client.test_cancel_flow import SWAP_HASH
from tests.response_json import orders, quotes
from tests.stored_orders import USDC, recorded
from tests.typescript.both import Prepare


def says(name: str, *replies: Reply) -> Prepare:
    """The service answers an endpoint with these first."""
    return lambda _, service: service.next(name, *replies)


def node(**changes: Any) -> Prepare:
    """The node is another one."""

    def prepare(chain: FakeChain, _: FakeService) -> None:
        for name, value in changes.items():
            setattr(chain, name, copy.deepcopy(value))

    return prepare


def service(**changes: Any) -> Prepare:
    """The service is another one."""

    def prepare(_: FakeChain, found: FakeService) -> None:
        for name, value in changes.items():
            setattr(found, name, value)

    return prepare


def lies(**hashes: str) -> Prepare:
    return lambda _, found: found.lies.update(hashes)


def busy(code: int, times: int = 1) -> Prepare:
    """The node refuses the first calls of each method for a while."""

    def prepare(chain: FakeChain, _: FakeService) -> None:
        counted = Counter[str]()

        def refusal(method: str) -> NodeSays | None:
            counted[method] += 1
            return NodeSays("slow down", code) if counted[method] <= times else None

        chain.busy = refusal

    return prepare


def after_sending(*methods: str) -> Prepare:
    """The node refuses these calls once it has an approval."""

    def prepare(chain: FakeChain, _: FakeService) -> None:
        chain.busy = lambda method: (
            NodeSays("slow down", 429) if chain.sent and method in methods else None
        )

    return prepare


def indexing(times: int) -> Prepare:
    """The node refuses the first receipts: geth after a start indexes what it has."""

    def prepare(chain: FakeChain, _: FakeService) -> None:
        left = [NodeSays("transaction indexing is in progress", -32000)] * times
        chain.busy = lambda method: (
            left.pop() if left and method == "eth_getTransactionReceipt" else None
        )

    return prepare


def never_mined(_: FakeChain, found: FakeService) -> None:
    found.mines = lambda _: None


def swap_mined(chain: FakeChain, found: FakeService) -> None:
    found.mines = lambda _: chain.mine(SWAP_HASH)


def mined(tx_hash: str) -> Prepare:
    return lambda chain, _: chain.mine(tx_hash)


def history(*hashes: str | None, amount: int = 1, kind: str = "swap") -> Reply:
    """The open orders with these transactions, each of which sells `amount` of WETH."""
    each = [
        {
            "orderId": f"ord_{8 + number}", "status": "pending", "txHash": tx_hash,
            "blockNumber": None, "createdAt": "2027-01-15T08:00:00.000Z", "confirmedAt": None,
            "kind": kind, "summary": {
                "sellToken": WETH, "buyToken": USDC, "sellAmount": str(amount), "buyAmount": "1"
            },
        }
        for number, tx_hash in enumerate(hashes)
    ]  # fmt: skip
    pagination = {"limit": 200, "offset": 0, "returned": len(each)}
    body = {"orders": each, "total": len(each), "hasMore": False, "pagination": pagination}
    return ok(body)


def open_at(nonce: int | None, amount: int = 1, kind: str = "swap") -> Prepare:
    """An order that sells `amount` of WETH is open with this nonce; None: it is not told."""
    status = ok(
        orders.order_status_response(recorded(placed(OrderStatus.MINING, nonce=nonce or 0)))
    )
    if nonce is None:
        del status.body["data"]["nonce"]

    def prepare(_: FakeChain, found: FakeService) -> None:
        found.next("history", history(None, amount=amount, kind=kind))
        found.next("status", copy.deepcopy(status))

    return prepare


def too_deep() -> Reply:
    """A quote whose metadata no client can send back."""
    usual = quoted()
    usual.body["data"]["mevProtection"]["providerMetadata"] = {"levels": 0}
    levels = b"[" * 10**5 + b"]" * 10**5
    return Reply(json.dumps(usual.body).encode().replace(b'"levels": 0', b'"levels": ' + levels))


def quoted(**changes: Any) -> Reply:
    return ok(quotes.swap_quote_response(swap_quote(**changes)))
