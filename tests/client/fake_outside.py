"""A service and an Ethereum node on one loopback port: real HTTP, scripted answers.

Answers of the service are made by the service's own presenters, so that the client is tried on the
exact wire.
"""

import json
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from eth_utils import keccak

from quietswap.api import present, present_orders
from quietswap.api.errors import envelope, status_of
from quietswap.domain import wrap
from quietswap.domain.address import Address
from quietswap.domain.errors import ApiError
from quietswap.domain.order import Inclusion, Order, Status
from quietswap.domain.order_record import HistoryPage
from quietswap.domain.quote import Operation, SwapQuote
from quietswap.domain.requests import Submitted, WrapAsk, WrapInfo, WrapSubmitted
from quietswap.domain.token import WETH
from tests.api import inside
from tests.api.inside import ROUTER, WALLET, wrap_quote
from tests.orders import NOW_MS, USDC, listed, order, recorded

TX_HASH = "0x" + "ab" * 32
"""Stands in answers for the hash of the bytes that were posted last."""
ETHER = 10**18


@dataclass(frozen=True)
class Asked:
    """One request the service got."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Reply:
    """`body` as JSON, or as it is when it is bytes; None closes the connection without a word."""

    body: Any
    status: int = 200


def kyber_calldata(
    *, minimum: int, to: str = WALLET, amount: int = ETHER, sell: str = WETH, buy: str = USDC
) -> bytes:
    """Return KyberSwap's `swap((target, approveTarget, targetData, description, clientData))`."""
    description = [sell, buy, 0, 0, 0, 0, to, amount, minimum, 0]
    words = [0x20, 0, 0, 0, 5 * 32, 0, *description]
    packed = (int(word, 16) if isinstance(word, str) else word for word in words)
    return bytes.fromhex("e21fd0e9") + b"".join(word.to_bytes(32) for word in packed)


def swap_quote(*, target: str = ROUTER, data: bytes | None = None, **changes: Any) -> SwapQuote:
    """Return the usual quote with calldata that its router would enforce."""
    plain = inside.swap_quote(**changes)
    data = kyber_calldata(minimum=plain.min_buy_amount) if data is None else data
    at = Address(target)
    route = replace(
        plain.route, target=at, spender=at, data=data,
        buy_amount=plain.buy_amount, min_buy_amount=plain.min_buy_amount,
    )  # fmt: skip
    return replace(plain, route=route, params=replace(plain.params, to=at, data=data))


def refused(error: ApiError, operation: str = "") -> Reply:
    """Return what the service answers when it raises `error`."""
    return Reply(envelope(error), status_of(error.code, operation))


def ok(data: Any, **root: Any) -> Reply:
    """Return a success envelope."""
    return Reply({"ok": True, "data": data, **root})


def placed(status: Status, **changes: Any) -> Order:
    """Return an order of the test wallet in `status`."""
    inclusion = None
    if status is Status.CONFIRMED:
        inclusion = Inclusion(19_000_000, "0x" + "cd" * 32, 180_000, 10**9, NOW_MS, True)
    stored = order(status=status, wallet=WALLET, tx_hash=TX_HASH)
    return replace(stored, inclusion=inclusion, **changes)


def wrap_answer(operation: Operation, wei: int) -> dict[str, Any]:
    """Return a wrap quote as the service words it."""
    quote = wrap_quote(WrapAsk(operation=operation, amount=wei, wallet=WALLET))
    data = wrap.calldata(operation, wei)
    return present.wrap_quote(replace(quote, params=replace(quote.params, data=data)))


def _wrapped(body: dict[str, Any]) -> Reply:
    operation = Operation(body["operation"])
    taken = WrapSubmitted(
        order=placed(Status.SUBMITTED),
        operation=operation,
        amount=2 * ETHER,
        sender=WALLET,
        relay_name="Test Relay",
        tracking_url="https://relay.test/tx",
        explorer_url="https://explorer.test/tx",
    )
    return ok({"order": present_orders.wrap_submitted(taken)})


def _submitted() -> Reply:
    taken = Submitted(
        order=placed(Status.SUBMITTED),
        relay_name="Test Relay",
        estimated_execution="about 12 seconds",
        tracking_url="https://relay.test/tx",
        provider_order_id=TX_HASH,
    )
    return ok(present_orders.submitted(taken))


@dataclass
class FakeService:
    """`script` holds answers that come before the default ones, by the last part of the path.

    `mines` is told the hash of each transaction that is posted; `tx_hash` is the last one. `lies`
    holds other hashes, for the answers of an endpoint.
    """

    asked: list[Asked] = field(default_factory=list)
    script: dict[str, deque[Reply]] = field(default_factory=dict)
    quote: Callable[[], dict[str, Any]] = lambda: present.swap_quote(swap_quote())
    mines: Callable[[str], None] = lambda _: None
    tx_hash: str = TX_HASH
    lies: dict[str, str] = field(default_factory=dict)

    def next(self, name: str, *replies: Reply) -> None:
        """Answer the next requests to endpoint `name` with these."""
        self.script.setdefault(name, deque()).extend(replies)

    def bodies(self, name: str) -> list[Any]:
        """Return the bodies sent to endpoint `name`."""
        return [each.body for each in self.asked if _name(each) == name]

    def reply(self, asked: Asked) -> Reply:
        self.asked.append(asked)
        name = _name(asked)
        if name.endswith("order"):
            self.tx_hash = "0x" + keccak(hexstr=asked.body["signedTransaction"]).hex()
            self.mines(self.tx_hash)
        scripted = self.script.get(name)
        reply = scripted.popleft() if scripted else self._usual(name, asked)
        if isinstance(reply.body, bytes):
            return reply
        body = json.dumps(reply.body).replace(TX_HASH, self.lies.get(name, self.tx_hash))
        return replace(reply, body=json.loads(body))

    def _usual(self, name: str, asked: Asked) -> Reply:
        if name == "quote":
            return ok(self.quote(), timestamp=NOW_MS)
        if name == "order":
            return _submitted()
        if name == "status":
            return ok(present_orders.order_status(recorded(placed(Status.CONFIRMED))))
        if name == "history":
            page = HistoryPage((listed(placed(Status.CONFIRMED)), listed(placed(Status.FAILED))), 7)
            return ok(present_orders.history(page, 2, 0))
        if name == "wrap info":
            return ok(present.wrap_info(WrapInfo("Wrapped Ether", "WETH", 5 * ETHER, ETHER // 2)))
        if name == "wrap quote":
            wei = round(float(asked.body["amount"]) * 10**6) * 10**12
            return ok({"quote": wrap_answer(Operation(asked.body["operation"]), wei)})
        return _wrapped(asked.body)


def _name(asked: Asked) -> str:
    names = {
        "/api/v1/quote": "quote",
        "/api/v1/mev/orders": "order",
        "/api/v1/mev/wrap/info": "wrap info",
        "/api/v1/mev/wrap/quote": "wrap quote",
        "/api/v1/mev/wrap/order": "wrap order",
    }
    return names.get(asked.path) or ("history" if "/user/" in asked.path else "status")


class Outside:
    """The server: `/rpc/secret` is the node, everything else the service."""

    def __init__(self, service: FakeService, node: Callable[[str, list[Any]], Any]) -> None:
        self.service = service

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 65536  # head and body in one packet

            def _answer(self) -> None:
                raw = self.rfile.read(int(self.headers.get("content-length", "0")))
                body = json.loads(raw) if raw else None
                parts = urlsplit(self.path)
                if parts.path == "/rpc/secret":
                    try:
                        return self._send(Reply(_rpc(node, body)))
                    except Swallowed:
                        return self._send(Reply(None))
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked = Asked(self.command, parts.path, dict(parse_qsl(parts.query)), headers, body)
                return self._send(service.reply(asked))

            do_GET = do_POST = _answer  # noqa: N815

            def _send(self, reply: Reply) -> None:
                if reply.body is None:
                    self.close_connection = True
                    return
                body = reply.body
                sent = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(reply.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.rpc_url = f"{self.url}/rpc/secret"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _rpc(node: Callable[[str, list[Any]], Any], body: Any) -> Any:
    head = {"jsonrpc": "2.0", "id": body["id"]}
    try:
        return {**head, "result": node(body["method"], body["params"])}
    except NodeSays as error:
        return {**head, "error": {"code": 3, "message": str(error)}}


class NodeSays(Exception):
    """Raise it in a node to send a JSON-RPC error."""


class Swallowed(Exception):
    """Raise it in a node to close the connection without an answer."""
