"""A service and an Ethereum node on one loopback port: real HTTP, scripted answers.

The service's own presenters make its answers, so that the client is tried on the exact wire.
"""

import json
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR, socket
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
from eth_utils import keccak
from msgspec import structs

from quietswap.rules.contract.errors import status_of
from quietswap.rules.errors.base import NotFound, RequestError
from quietswap.rules.operator.inclusion import inclusion_report
from quietswap.rules.orders.order import Inclusion, Order, OrderStatus
from quietswap.rules.orders.order_views import OrderPage
from quietswap.rules.orders.request import SubmittedSwap, SubmittedWrap
from quietswap.rules.quotes.quote import SwapQuote
from quietswap.rules.quotes.request import WrapBalances, WrapQuoteRequest
from quietswap.rules.tokens import erc20
from quietswap.rules.tokens.token import WETH, WrapOperation
from quietswap.rules.tx.address import Address
from quietswap.service.api.json import error_envelope
from quietswap.service.orders.http_statistics import inclusion_response
from tests.api import scripted_use_cases
from tests.api.scripted_tokens import TOKEN_ANSWERS
from tests.api.scripted_use_cases import ROUTER, WALLET, wrap_quote
from tests.client.fake_node import RawAnswer, Swallowed, methods, rpc_answer
from tests.client.fake_usage import usage_answer
from tests.response_json import orders, quotes, wraps
from tests.routers.router_calldata import APART, ENCODERS, OTHER_METHODS, REFUSED_METHODS, ROUTER_OF
from tests.stored_orders import NOW_MS, USDC, listed, order, recorded
from tests.vendors.router import Swap

TX_HASH = "0x" + "ab" * 32
"""Stands in answers for the hash of the bytes that were posted last."""
ETHER = 10**18
MINIMUM = 2_985_000_000
"""What the usual quote enforces."""


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
    """`body` as JSON, or as it is when it is bytes; None closes the connection without a word.

    With `then`, the body has no length: it is sent, `then` is called, and the connection closes.
    """

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    then: Callable[[socket], None] | None = None


def calldata(
    source: str = "kyberswap", *, minimum: int = MINIMUM, to: str = WALLET, amount: int = ETHER,
    sell: str = WETH, buy: str = USDC, **terms: Any,
) -> bytes:  # fmt: skip
    """Return what a router is called with for the usual quote; `source` may be a method, too."""
    swap = Swap(Address(sell), Address(buy), amount, minimum, Address(to), **terms)
    return (ENCODERS | OTHER_METHODS | REFUSED_METHODS | APART)[source](swap)


def swap_quote(*, target: str = ROUTER, data: bytes | None = None, **changes: Any) -> SwapQuote:
    """Return the usual quote with calldata that its router would enforce."""
    plain = scripted_use_cases.swap_quote(**changes)
    source = {ROUTER_OF["velora"]: "velora"}.get(Address(target), "kyberswap")
    data = calldata(source, minimum=plain.min_buy_amount + 1) if data is None else data
    at = Address(target)
    route = structs.replace(
        plain.route, target=at, spender=at, data=data,
        buy_amount=plain.buy_amount, min_buy_amount=plain.min_buy_amount,
    )  # fmt: skip
    return structs.replace(plain, route=route, params=replace(plain.params, to=at, data=data))


def refused(error: RequestError, operation: str = "") -> Reply:
    """Return what the service answers when it raises `error`."""
    return Reply(msgspec.to_builtins(error_envelope(error)), status_of(error.code, operation))


def ok(data: Any, **root: Any) -> Reply:
    """Return a success envelope."""
    return Reply({"ok": True, "data": data, **root})


def placed(status: OrderStatus, **changes: Any) -> Order:
    """Return an order of the test wallet in `status`."""
    inclusion = None
    if status is OrderStatus.CONFIRMED:
        inclusion = Inclusion(19_000_000, "0x" + "cd" * 32, 180_000, 10**9, NOW_MS, True)
    stored = order(status=status, wallet=WALLET, tx_hash=TX_HASH)
    return replace(stored, inclusion=inclusion, **changes)


def wrap_answer(operation: WrapOperation, wei: int) -> dict[str, Any]:
    """Return a wrap quote as the service words it."""
    quote = wrap_quote(WrapQuoteRequest(operation=operation, amount=wei, wallet=WALLET))
    data = erc20.calldata(operation, wei)
    return wraps.wrap_quote_response(replace(quote, params=replace(quote.params, data=data)))


def _wrapped(body: dict[str, Any]) -> Reply:
    operation = WrapOperation(body["operation"])
    taken = SubmittedWrap(
        order=placed(OrderStatus.SUBMITTED),
        operation=operation,
        amount=2 * ETHER,
        sender=WALLET,
        relay_name="Test Relay",
        tracking_url="https://relay.test/tx",
        explorer_url="https://explorer.test/tx",
    )
    return ok({"order": wraps.wrap_order_response(taken)})


def submitted() -> Reply:
    """Return the answer to an accepted swap."""
    taken = SubmittedSwap(
        order=placed(OrderStatus.SUBMITTED),
        relay_name="Test Relay",
        estimated_execution="usually within 1 block, nine of ten within 2 blocks; 3 of 40 orders"
        " expired",
        tracking_url="https://relay.test/tx",
        provider_order_id=TX_HASH,
    )
    return ok(orders.swap_order_response(taken))


@dataclass
class FakeService:
    """`script` holds answers that come before the default ones, by the last part of the path.

    `mines` is told the hash of each transaction that is posted; `tx_hash` is the last one. Each of
    `approvals` moved the nonce of every quote by one. `lies` holds other hashes, for the answers of
    an endpoint. It has no event stream, as an older release, unless the script has one.
    """

    asked: list[Asked] = field(default_factory=list)
    script: dict[str, deque[Reply]] = field(default_factory=dict)
    quote: Callable[[], dict[str, Any]] = lambda: quotes.swap_quote_response(swap_quote())
    mines: Callable[[str], None] = lambda _: None
    approvals: Callable[[], int] = lambda: 0
    tx_hash: str = TX_HASH
    lies: dict[str, str] = field(default_factory=dict)

    def next(self, name: str, *replies: Reply) -> None:
        """Answer the next requests to endpoint `name` with these."""
        self.script.setdefault(name, deque()).extend(replies)

    def bodies(self, name: str) -> list[Any]:
        """Return the bodies sent to endpoint `name`."""
        return [each.body for each in self.asked if _name(each) == name]

    def reply(self, asked: Asked) -> Reply:
        name = _name(asked)
        if name == "events" and not self.script.get(name):
            return refused(NotFound(path=asked.path))
        self.asked.append(asked)
        if name.endswith("order"):
            self.tx_hash = "0x" + keccak(hexstr=asked.body["signedTransaction"]).hex()
            self.mines(self.tx_hash)
        scripted = self.script.get(name)
        reply = scripted.popleft() if scripted else self._usual(name, asked)
        if isinstance(reply.body, bytes):
            return reply
        if name == "quote" and reply.status == 200:
            reply = Reply(self._counted(reply.body))
        body = json.dumps(reply.body).replace(TX_HASH, self.lies.get(name, self.tx_hash))
        return replace(reply, body=json.loads(body))

    def _counted(self, body: Any) -> Any:
        body = json.loads(json.dumps(body))
        params = body["data"]["mevProtection"]["transactionParams"]
        if params["nonce"] is not None:
            params["nonce"] += self.approvals()
        return body

    def _usual(self, name: str, asked: Asked) -> Reply:
        if name == "quote":
            return ok(self.quote(), timestamp=NOW_MS)
        if name == "order":
            return submitted()
        if name == "status":
            return ok(orders.order_status_response(recorded(placed(OrderStatus.CONFIRMED))))
        if name == "history":
            page = OrderPage(
                (listed(placed(OrderStatus.CONFIRMED)), listed(placed(OrderStatus.FAILED))), 7
            )
            return ok(orders.order_history_response(page, 2, 0))
        if made := TOKEN_ANSWERS.get(name) or {"usage": usage_answer}.get(name):
            return ok(made())
        if name == "inclusion":
            report = inclusion_response(inclusion_report([], 0, 0, NOW_MS))
            return ok(msgspec.to_builtins(report))
        if name == "wrap info":
            held = WrapBalances("Wrapped Ether", "WETH", 5 * ETHER, ETHER // 2)
            return ok(wraps.wrap_info_response(held))
        if name == "wrap quote":
            wei = round(float(asked.body["amount"]) * 10**6) * 10**12
            return ok({"quote": wrap_answer(WrapOperation(asked.body["operation"]), wei)})
        return _wrapped(asked.body)


def _name(asked: Asked) -> str:
    names = {
        "/api/v1/quote": "quote",
        "/api/v1/quote/stream": "quote stream",
        "/api/v1/mev/orders": "order",
        "/api/v1/mev/events": "events",
        "/api/v1/mev/wrap/info": "wrap info",
        "/api/v1/mev/wrap/quote": "wrap quote",
        "/api/v1/mev/wrap/order": "wrap order",
        "/api/v1/mev/usage": "usage",
        "/api/v1/inclusion": "inclusion",
    }
    names |= {path: path.split("/")[3] for path in ("/api/v1/price", "/api/v1/tokens")}
    if "/balances/" in asked.path:
        return "balances"
    return names.get(asked.path) or ("history" if "/user/" in asked.path else "status")


class _Server(ThreadingHTTPServer):
    """Ends its connections with itself: both ends are in this process, which may have 1,024 open
    files where a test uses `select`.
    """

    daemon_threads = True

    def __init__(self, *args: Any) -> None:
        self._connections = set[socket]()
        super().__init__(*args)

    def get_request(self) -> tuple[socket, Any]:
        request, address = super().get_request()
        self._connections.add(request)
        return request, address

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        super().server_close()
        for connection in list(self._connections):
            with suppress(OSError):  # its other end closed it meanwhile
                connection.shutdown(SHUT_RDWR)


class FakeServers:
    """The server: `/rpc/secret` is the node, everything else the service."""

    def __init__(self, service: FakeService, node: Callable[[str, list[Any]], Any]) -> None:
        fake, self.service = self, service
        self.trips: list[list[str]] = []
        """The methods of each request to the node."""

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 65536  # head and body in one packet

            def _answer(self) -> None:
                raw = self.rfile.read(int(self.headers.get("content-length", "0")))
                body = json.loads(raw) if raw else None
                parts = urlsplit(self.path)
                if parts.path == "/rpc/secret":
                    fake.trips.append(methods(body))
                    try:
                        answer = rpc_answer(node, body)
                        answers = answer if isinstance(answer, list) else [answer]
                        code = answers[-1].get("error", {}).get("code")
                        return self._send(Reply(answer, code if code in (429, 503) else 200))
                    except RawAnswer as raw:
                        return self._send(Reply(raw.body))
                    except Swallowed:
                        return self._send(Reply(None))
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked = Asked(self.command, parts.path, dict(parse_qsl(parts.query)), headers, body)
                return self._send(service.reply(asked))

            do_GET = do_POST = do_DELETE = _answer  # noqa: N815

            def _send(self, reply: Reply) -> None:
                if reply.body is None:
                    self.close_connection = True
                    return
                body = reply.body
                sent = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(reply.status)
                if "Content-Type" not in reply.headers:
                    self.send_header("Content-Type", "application/json")
                if reply.then is None:
                    self.send_header("Content-Length", str(len(sent)))
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(sent)
                if reply.then is not None:
                    self.close_connection = True
                    self.wfile.flush()
                    reply.then(self.connection)

            def log_message(self, *_: object) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.rpc_url = f"{self.url}/rpc/secret"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
