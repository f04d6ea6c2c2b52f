"""The inputs that lead to each error of the HTTP API and of a wallet's RPC URL, sent for real.

`sections` sends them to a running sandbox and returns what was answered.
"""

import itertools
import json
import os
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
from eth_account.signers.local import LocalAccount

from quietswap.sandbox.contracts.pools import DAI, USDC, WETH
from quietswap.sandbox.faults import PARTS, REGISTRY
from tests import forked, keys
from tests.api.wallet_rpc.test_reads import _BAD as BAD_READS
from tests.contract import DOCUMENT
from tests.docs.messages import ABSENT, Said, Sections, json_text
from tests.spec import cancelling
from tests.spec.api_client import SOLD, ApiClient, Signed
from tests.spec.test_errors import without_pools
from tests.spec.test_errors_internal import without_table
from tests.spec.test_errors_submit import legacy
from tests.spec.wire import sign

BACK = {"Content-Type": "application/json"}
WRONG: dict[str, tuple[Any, ...]] = {
    "string": (ABSENT, None, 5, "", "x", "0x1234", "-1", "1e3", "1" * 90),
    "number": (ABSENT, None, "5", -1, 1.5, 10**30),
    "integer": (ABSENT, None, "5", -1, 1.5, 10**30),
    "object": (ABSENT, None, [], "x"),
    "array": (ABSENT, None, {}, ["x"], [5]),
}
IN_QUERY = (ABSENT, "", "x", "-1", "1.5", "1" * 90)
_VENUES = ("kyberswap", "velora", "sushi")
_SLOW = ("hang", "timeout", "delay", "drip", "huge_body", "gzip_bomb")
NATIVE = "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"


def said(answer: httpx.Response) -> str:
    """Return status, code, message and the rest of an answer as the page shows it."""
    found = answer.json()
    body = found[-1] if isinstance(found, list) else found
    if body.get("ok") or "result" in body:
        return ""
    if "jsonrpc" in body:
        error = body["error"]
        more = {name: value for name, value in error.items() if name not in ("code", "message")}
        return "\n".join((f"{error['code']}  {error['message']}", *_members(more)))
    known = ("ok", "error", "message", "timestamp")
    more = {name: value for name, value in body.items() if name not in known}
    return "\n".join((f"{answer.status_code} {body['error']}", body["message"], *_members(more)))


def _members(more: dict[str, Any]) -> Iterator[str]:
    for name, value in more.items():
        if name == "details" and "sources" in value:
            for row in value["sources"]:
                yield f"  {row['source']}: {row['outcome']}, {row.get('reason')}"
            continue
        yield f"{name}: {value if isinstance(value, str) else json_text(value)}"


def changed(body: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    """Return a body with the member at this dotted path set, or removed."""
    first, _, rest = name.partition(".")
    if rest:
        return body | {first: changed(body[first], rest, value)}
    if value is ABSENT:
        return {key: kept for key, kept in body.items() if key != first}
    return body | {first: value}


def written(name: str, value: Any) -> str:
    """Return a change as the page shows it."""
    return f"without {name}" if value is ABSENT else f"{name}: {json_text(value)}"


class Asking:
    """Collects what was sent and answered; each section has an API key of its own."""

    def __init__(self, desk: ApiClient) -> None:
        self.desk, self.api = desk, desk.api
        self.found: Sections = {}
        self.wallets: list[LocalAccount] = []
        self.wallet, self.other = self.new_wallet(), self.new_wallet()

    def new_wallet(self, **more: float) -> LocalAccount:
        """Return a new wallet, which the page calls by its number."""
        self.wallets.append(self.desk.wallet(**more))
        return self.wallets[-1]

    def section(self, title: str, intro: str = "") -> None:
        """Begin a section with a fresh key."""
        self.api = self.desk.api = self.desk.another()
        self.rows: list[Said] = []
        self.found[title] = (intro, self.rows)

    def say(self, sent: str, answer: httpx.Response) -> None:
        """Keep an error; what was accepted is no message."""
        text = said(answer) if "json" in answer.headers["content-type"] else ""
        row = Said(sent, text)
        self.rows.extend([row] * (bool(text) and row not in self.rows))

    def query(self, path: str, base: dict[str, str], more: dict[str, tuple[str, ...]]) -> None:
        """Send each parameter of a GET with wrong values, and those of its own."""
        shape = re.sub(r"/0x\w+", "/{userAddress}", path)
        for parameter in DOCUMENT["paths"][shape]["get"].get("parameters", ()):
            name = parameter["name"]
            if parameter["in"] == "query":
                for value in (*IN_QUERY, *more.get(name, ())):
                    self.say(written(name, value), self._get(path, changed(base, name, value)))
        name = next(iter(more), "limit")
        self.say(f"{name[:-1]}: 1 (misspelt)", self._get(path, base | {name[:-1]: "1"}))
        twice = [*base.items(), (name, "1"), (name, "2")]
        self.say(f"{name} twice", self.api.get(path, params=twice))

    def _get(self, path: str, params: dict[str, str]) -> httpx.Response:
        return self.api.get(path, params=params)

    def body(self, path: str, base: dict[str, Any], schema: str, at: str = "") -> None:
        """Send each member of a body with wrong values; an answer as to `base` says nothing."""
        usual = said(self.api.post(path, json=base))
        properties = DOCUMENT["components"]["schemas"][schema]["properties"]
        for name, about in properties.items():
            for value in WRONG[about.get("type", "object")]:
                answer = self.api.post(path, json=changed(base, at + name, value))
                if said(answer) != usual:
                    self.say(written(at + name, value), answer)
        misspelt = next(iter(properties)) + "s"
        self.say(f"{at + misspelt}: 1 (misspelt)",
                 self.api.post(path, json=changed(base, at + misspelt, 1)))  # fmt: skip

    def changes(self, path: str, base: dict[str, Any], *rows: tuple[str, Any]) -> None:
        """Send a body with each of these changes."""
        for name, value in rows:
            self.say(written(name, value), self.api.post(path, json=changed(base, name, value)))

    def refused_sends(self, rows: dict[str, str], swap: Signed) -> None:
        """Submit one order with each of these signed transactions."""
        for sent, raw in rows.items():
            self.say(f"signedTransaction: {sent}", self.desk.submit(swap, signedTransaction=raw))


def _plain(ask: Asking) -> None:
    api = ask.desk.client
    ask.section("Every request")
    ask.say("GET /api/v1/mev/orders/x without X-API-Key", api(None).get("/api/v1/mev/orders/x"))
    ask.say("GET /api/v1/mev/orders/x, X-API-Key: qs_wrong",
            api("qs_wrong").get("/api/v1/mev/orders/x"))  # fmt: skip
    ask.say("GET /api/v1/qoute", ask.api.get("/api/v1/qoute"))
    ask.say("GET /api/v1/mev/orders", ask.api.get("/api/v1/mev/orders"))
    for sent, answer in {
        "Host: other.example": ask.api.get("/api/v1/qoute", headers={"Host": "other.example"}),
        "Content-Type: text/plain": _post(ask, b"{}", {"Content-Type": "text/plain"}),
        "no Content-Type": _post(ask, b"{}", {}),
        "Content-Encoding: gzip": _post(ask, b"{}", BACK | {"Content-Encoding": "gzip"}),
        "a body of 2 MB": _post(ask, b" " * 2_000_000),
        "no body": _post(ask, b""),
        "[]": _post(ask, b"[]"),
        '{"operation": ': _post(ask, b'{"operation": '),
        "{'operation': 1}": _post(ask, b"{'operation': 1}"),
        '{"operation": NaN}': _post(ask, b'{"operation": NaN}'),
        '{"operation": "\\ud800"}': _post(ask, b'{"operation": "\\ud800"}'),
        "a byte that is no UTF-8": _post(ask, b'{"operation": "\xff"}'),
        "200 arrays in each other": _post(ask, b"[" * 200 + b"]" * 200),
        '{"amount": "1", "amount": "2"}': _post(ask, b'{"amount": "1", "amount": "2"}'),
    }.items():
        ask.say(f"POST /api/v1/mev/wrap/quote, {sent}", answer)
    for _ in range(300):
        late = ask.api.get("/api/v1/mev/orders/none")
    ask.say("a request more than 300 in one minute", late)


def _post(ask: Asking, body: bytes, headers: dict[str, str] = BACK) -> httpx.Response:
    with ask.desk.client(ask.desk.new_secret()) as apart:  # a body too large ends its connection
        return apart.post("/api/v1/mev/wrap/quote", content=body, headers=headers)


def _reads(ask: Asking) -> None:
    user = ask.wallet.address
    pair = {"sellToken": WETH.address, "buyToken": USDC.address, "sellAmount": str(SOLD)}
    tokens = (WETH.address.lower(), NATIVE, "0x" + "0" * 40, ask.other.address)
    own = {"sellToken": (*tokens, USDC.address), "buyToken": tokens,
           "sellAmount": ("0", "1e18", str(2**256), str(2**250))}  # fmt: skip
    quote = own | {"slippageBps": ("0", "5001"), "chainId": ("137",),
                   "userAddress": (user.lower(), "0x" + "0" * 40)}  # fmt: skip
    times = {"from": ("2027-01-01", "2027-13-01"), "to": ("2020-01-01",)}
    mine = f"/api/v1/mev/orders/user/{user}"
    for path, base, more in (
        ("/api/v1/quote", pair | {"userAddress": user}, quote),
        ("/api/v1/price", pair, own),
        ("/api/v1/mev/wrap/info", {"userAddress": user}, {"userAddress": (user.lower(),)}),
        (mine, {}, {"limit": ("0", "201"), "offset": ("1000000001",), "status": ("done",)}),
        (f"{mine}/export", {"from": "2027-01-01T00:00:00Z"}, times),
        ("/api/v1/mev/stats", {}, {"days": ("0", "400")}),
        ("/api/v1/tokens", {}, {"limit": ("0", "10000")}),
        (f"/api/v1/mev/balances/{user}", {}, {"tokens": (*tokens, ",".join([user] * 200))}),
    ):
        given = "&".join(f"{name}={value}" for name, value in base.items())
        ask.section(f"GET {path}", f"With `{given}` it is answered." if given else "")
        ask.query(path, base, more)
    for kept in ("", "/export"):
        ask.say(f"GET /api/v1/mev/orders/user/0x1234{kept}",
                ask.api.get(f"/api/v1/mev/orders/user/0x1234{kept}"))  # fmt: skip
    ask.section("GET /api/v1/mev/events")
    for name, value in (
        ("after", "x"), ("after", "-1"), ("after", "999999999"), ("userAddress", user.lower()),
        ("orderId", "a b"), ("orderId", ""), ("order", "1"),
    ):  # fmt: skip
        ask.say(written(name, value), ask.api.get("/api/v1/mev/events", params={name: value}))
    ask.section("Ids that do not exist")
    for method, path in (
        ("GET", "orders/ord_x"), ("POST", "orders/ord_x/cancel"), ("DELETE", "rpc/rpc_x"),
        ("GET", "webhooks/x"), ("DELETE", "webhooks/x"), ("POST", "webhooks/x/test"),
    ):  # fmt: skip
        sent = f"{method} /api/v1/mev/{path}"
        ask.say(sent, ask.api.request(method, f"/api/v1/mev/{path}"))


def _bodies(ask: Asking) -> None:
    user = ask.wallet.address
    base: dict[str, Any] = {"operation": "wrap", "amount": "1.5", "userAddress": user}
    ask.section("POST /api/v1/mev/wrap/quote", f"With `{json_text(base)}` it is answered.")
    ask.body("/api/v1/mev/wrap/quote", base, "WrapQuoteBody")
    ask.changes("/api/v1/mev/wrap/quote", base,
                ("amount", "0"), ("amount", "0." + "0" * 18 + "1"), ("amount", "1" + "0" * 60),
                ("userAddress", user.lower()), ("userAddress", "0x" + "0" * 40),
                ("chainId", 137))  # fmt: skip
    base = {"wallets": [user]}
    ask.section("POST /api/v1/mev/rpc", f"With `{json_text(base)}` it is answered.")
    ask.body("/api/v1/mev/rpc", base, "RpcTokenBody")
    for wallets in ([user] * 51, [user.lower()], ["0x" + "0" * 40]):
        ask.changes("/api/v1/mev/rpc", base, ("wallets", wallets))
    base = {"url": "https://hooks.example.com/quietswap"}
    ask.section("POST /api/v1/mev/webhooks", f"With `{json_text(base)}` it is answered.")
    ask.body("/api/v1/mev/webhooks", base, "WebhookCreateBody")
    hosts = "a:b@hooks.example.com", "hooks.example.com:0/", "h" * 2050
    ask.changes("/api/v1/mev/webhooks", base, *(("url", f"https://{host}") for host in hosts))


def _orders(ask: Asking) -> None:
    desk, wallet = ask.desk, ask.wallet
    ask.section("POST /api/v1/mev/orders, its fields",
                "The body is that of a good order; one member is changed.")  # fmt: skip
    swap = desk.swap(wallet)
    desk.approve(wallet, swap.quote, 0)  # the last check refuses what the others let through
    ask.say("nothing changed, before the approval", desk.submit(swap))
    ask.body("/api/v1/mev/orders", swap.body, "SwapOrderBody")
    ask.section("POST /api/v1/mev/orders, orderParams")
    swap = desk.swap(wallet)
    desk.approve(wallet, swap.quote, 0)
    ask.body("/api/v1/mev/orders", swap.body, "SwapOrderParams", "orderParams.")
    ask.changes(
        "/api/v1/mev/orders", swap.body, ("orderParams.deadline", 1_500_000_000),
        ("orderParams.deadline", 1_800_000_000_000), ("orderParams.chainId", 137),
        ("orderParams.minReturnAmount", "1"), ("orderParams.slippageBps", 49),
        ("orderParams.toToken", DAI.address), ("orderParams.userAddress", ask.other.address),
        ("orderParams.dexRoute.target", DAI.address), ("orderParams.dexRoute.data", "0x"),
        ("providerMetadata.tier", 4), ("providerMetadata.provider", "other"),
        ("providerMetadata.mevRelayMetadata.endpoint", "https://other.example"),
    )  # fmt: skip
    ask.section("POST /api/v1/mev/orders, the signed transaction")
    swap = desk.swap(wallet)
    desk.approve(wallet, swap.quote, 0)
    ask.refused_sends(_bad_bytes(swap.raw) | dict(_resigned(ask, swap)), swap)


def _bad_bytes(raw: str) -> dict[str, str]:
    return {
        "0x": "0x", "hello": "hello", "0x123": "0x123", "0x02": "0x02", "0x1234": "0x1234",
        "with a byte more": raw + "00", "without its last byte": raw[:-2], "upper case 0X":
        "0X" + raw[2:], "a blob transaction, 0x03...": "0x03" + raw[4:], "type 4, 0x04...":
        "0x04" + raw[4:], "200 000 bytes": "0x02" + "00" * 200_000, "0xc0": "0xc0",
    }  # fmt: skip


def _resigned(ask: Asking, swap: Signed) -> Iterator[tuple[str, str]]:
    params = swap.quote["mevProtection"]["transactionParams"]
    for change in (
        {"nonce": params["nonce"] + 1}, {"nonce": 2**64 - 1}, {"to": DAI.address}, {"value": 1},
        {"gas": 2**24 + 1}, {"gas": 20_000}, {"chainId": 5}, {"maxFeePerGas": 1},
        {"maxPriorityFeePerGas": int(params["maxFeePerGas"]) + 1}, {"maxPriorityFeePerGas": 1},
        {"data": "0x"}, {"accessList": [{"address": DAI.address, "storageKeys": []}]},
    ):  # fmt: skip
        yield f"signed with {json_text(change)}", sign(ask.wallet, params, **change)
    yield "signed by another wallet", sign(ask.other, params)
    yield "a legacy transaction", legacy(ask.wallet, params)


def _states(ask: Asking) -> None:
    desk, wallet = ask.desk, ask.new_wallet()
    ask.section("POST /api/v1/mev/orders, the state of chain, wallet and relay")
    swap = desk.swap(wallet)
    desk.give(wallet, WETH, SOLD - 1)
    ask.say("the wallet holds one wei too little WETH", desk.submit(swap))
    desk.give(wallet, WETH, SOLD)
    with desk.fault("down", "relay", "backup_relay"):
        ask.say("the relay is down", desk.submit(swap))
    with desk.fault("down", "node"):
        ask.say("the node is down", desk.submit(swap))
    with desk.fault("refuse:fee too low", "relay"):
        ask.say("the relay refuses it", desk.submit(swap))
    wallet = ask.new_wallet()
    swap = desk.swap(wallet)
    desk.use_nonce(wallet, 0)
    ask.say("its nonce is used", desk.submit(swap))
    wallet = ask.new_wallet()
    with desk.no_blocks():
        swap = desk.swap(wallet)
        desk.submit(swap)
        ask.say("the same bytes twice", desk.submit(swap))
    with desk.no_blocks():
        poor = ask.new_wallet(ether=0)
        ask.say("the wallet has no ETH for gas", desk.submit(desk.swap(poor)))


def _wraps(ask: Asking) -> None:
    desk, wallet = ask.desk, ask.new_wallet(ether=1)
    ask.section("POST /api/v1/mev/wrap/order")
    wrap = desk.wrap(wallet)
    ask.say("nothing changed, but the wallet holds less", desk.submit_wrap(wrap))
    ask.body("/api/v1/mev/wrap/order", wrap.body, "WrapOrderBody")
    for change in (
        {"quoteId": "weth_wrap_1_x"}, {"amount": "2"}, {"operation": "unwrap"},
        {"providerMetadata": wrap.body["providerMetadata"] | {"tier": 4}},
    ):  # fmt: skip
        ask.say(json_text(change)[1:-1], desk.submit_wrap(wrap, **change))
    params = wrap.quote["mevProtection"]["transactionParams"]
    rows = _bad_bytes(wrap.raw) | {
        f"signed with {json_text(change)}": sign(wallet, params, nonce=0, **change)
        for change in ({"chainId": 5}, {"gas": 2**24 + 1}, {"gas": 20_000}, {"value": 1},
                       {"to": DAI.address}, {"data": "0x"}, {"maxFeePerGas": 1})
    }  # fmt: skip
    rows["signed by another wallet"] = sign(ask.other, params, nonce=0)
    rows["a legacy transaction"] = legacy(wallet, params)
    for sent, raw in rows.items():
        ask.say(f"signedTransaction: {sent}", desk.submit_wrap(wrap, signedTransaction=raw))
        no_id = wrap.body | {"signedTransaction": raw}
        del no_id["quoteId"]
        ask.say(f"signedTransaction: {sent}, without quoteId",
                ask.api.post("/api/v1/mev/wrap/order", json=no_id))  # fmt: skip


def _cancels(ask: Asking) -> None:
    desk, wallet = ask.desk, ask.wallet
    ask.section("POST /api/v1/mev/orders/{orderId}/cancel")
    with desk.no_blocks():
        order = desk.order(wallet)["orderId"]
        path = cancelling.path(order)
        good = cancelling.signed(desk, wallet, order)
        for name in ("signedTransaction", "providerMetadata"):
            for value in (ABSENT, 5, "0x1234", {}):
                ask.say(
                    written(name, value), ask.api.post(path, json=changed(good.body, name, value))
                )
        for change in ({"value": 1}, {"data": "0x01"}, {"to": DAI.address}, {"gas": 500_000},
                       {"nonce": 9}, {"maxFeePerGas": 1}, {"chainId": 5}):  # fmt: skip
            bad = cancelling.signed(desk, wallet, order, **change)
            ask.say(f"signed with {json_text(change)}", cancelling.send(desk, order, bad))
        stolen = cancelling.signed(desk, ask.other, order)
        ask.say("signed by another wallet", cancelling.send(desk, order, stolen))
        for fault in ("down", "refuse:transaction type not supported"):
            with desk.fault(fault, "relay"):
                ask.say(f"the relay: {fault}", cancelling.send(desk, order, good))
        taken = cancelling.cancel(desk, wallet, order)["cancel"]["orderId"]
        ask.say("the cancel itself is cancelled", cancelling.ask(desk, taken))
    desk.follow(order)
    ask.say("the order has ended", cancelling.ask(desk, order))


def _limits(ask: Asking) -> None:
    ask.section("Limits of keys and clients")
    desk, wallet = ask.desk, ask.new_wallet()
    settings = ["--settings", desk.town.facts["settingsFile"]]

    def client(*options: str) -> None:
        name = f"limited-{next(numbers)}"
        for words in (("create", name), ("limit", name, *options)):
            done = forked.run(["clients", *words, *settings], os.environ)
            assert done.returncode == 0, done.stderr
        key = keys.new_key(os.environ, "--client", name, *settings)
        ask.api = desk.api = desk.client(key)

    numbers = itertools.count(1)
    read = keys.new_key(os.environ, "--scope", "read", *settings)
    ask.say("a key of scope read: POST /api/v1/mev/orders",
            desk.client(read).post("/api/v1/mev/orders", json={}))  # fmt: skip
    client("--wallet", ask.other.address)
    ask.say("a client of another wallet: GET /api/v1/quote", desk.ask_quote(wallet))
    client("--token", WETH.address)
    ask.say("a client that may trade WETH only: GET /api/v1/quote", desk.ask_quote(wallet))
    client("--quotes-per-day", "1")
    desk.ask_quote(wallet)
    ask.say("a client with 1 quote a day: the second", desk.ask_quote(wallet))
    client("--usd-per-swap", "1.50")
    ask.say("a client with 1.50 USD per swap: GET /api/v1/quote", desk.ask_quote(wallet))
    client("--open-orders", "1")
    with desk.no_blocks():
        desk.order(ask.new_wallet())
        ask.say("a client with 1 open order: the second", desk.submit(desk.swap(wallet)))
    client("--usd-per-day", "1.50")
    ask.say("a client with 1.50 USD a day: POST /api/v1/mev/orders", desk.submit(desk.swap(wallet)))


def _outages(ask: Asking) -> None:
    ask.section("Outages")
    desk, wallet = ask.desk, ask.wallet
    with desk.fault("down", "node"):
        ask.say("no node: GET /api/v1/quote", desk.ask_quote(wallet, sellAmount="7"))
        info = ask.api.get("/api/v1/mev/wrap/info", params={"userAddress": wallet.address})
        ask.say("no node: GET /api/v1/mev/wrap/info", info)
    with desk.fault("no_route", *_VENUES):
        none = desk.ask_quote(wallet, buyToken=without_pools(desk))
        ask.say("no source has a route: GET /api/v1/quote", none)
    with without_table(desk, "orders"):
        broken = ask.api.get("/api/v1/mev/orders/ord_x")
        ask.say("a broken database: GET /api/v1/mev/orders/ord_x", broken)


def _sources(ask: Asking) -> None:
    ask.section("GET /api/v1/quote, what each source is at fault for",
                "The faults are those of the [sandbox](sandbox.md#faults).")  # fmt: skip
    desk = ask.desk
    turns = itertools.cycle(_VENUES)  # a source with several failures is paused
    for fault in sorted(REGISTRY, key=lambda one: one.parts == PARTS):
        at = [name for name in _VENUES if name in fault.parts]
        if fault.parts == PARTS or fault.name in ("rate_limited", "refused"):
            at = [next(turns)]
        argument = {"lie": ":2.0", "html": ":403"}.get(fault.name, "")
        if at and fault.name not in _SLOW:
            others = [name for name in _VENUES if name not in at]
            for name in others:
                desk.town.fault(name, "no_route")
            with desk.fault(fault.name + argument, *at):
                answer = desk.ask_quote(ask.new_wallet(), sellAmount=str(SOLD + len(ask.rows) + 1))
            desk.town.heal(*others)
            body = answer.json()
            told = body.get("data") or body["details"]
            rows = (f"{one['source']}: {one['outcome']}, {one.get('reason')}"
                    for one in told["sources"] if one["source"] in at)  # fmt: skip
            ask.rows.append(Said(f"{fault.name}: {fault.text}", "\n".join(rows)))


def _wallet_rpc(ask: Asking) -> None:
    ask.section("The RPC URL of a wallet")
    desk, url = ask.desk, urlsplit(ask.desk.town.facts["walletRpcUrl"]).path

    def post(body: Any) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return ask.api.post(url, content=content, headers=BACK)

    def call(method: str, *params: Any) -> None:
        shown = ", ".join(map(json_text, params))
        sent = f"{method}({shown[:150] + '...' * (len(shown) > 150)})"
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        ask.say(sent, post(body))

    for body in (b"", b"{", b"5", b"[]", b'{"jsonrpc": "2.0"}', b'{"method": 5, "id": 1}',
                 b'{"jsonrpc": "1.0", "id": 1, "method": "eth_chainId"}',
                 b'{"jsonrpc": "2.0", "id": {}, "method": "eth_chainId"}',
                 b'{"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": 5}'):  # fmt: skip
        ask.say(body.decode() or "no body", post(body))
    ask.say(
        "a wrong secret", desk.client(None).post("/rpc/qr_" + "0" * 64, content=b"{}", headers=BACK)
    )
    for method in ("eth_sendTransaction", "eth_sign", "debug_traceTransaction", "eth_chainid", ""):
        call(method)
    for method, bad in BAD_READS.items():
        for params in bad:
            call(method, *params)
    swap = desk.swap(ask.new_wallet())
    params = swap.quote["mevProtection"]["transactionParams"]
    for raw in (*_bad_bytes(swap.raw).values(), 5, sign(ask.other, params), swap.raw,
                sign(ask.other, params, gas=20_000), legacy(ask.other, params)):  # fmt: skip
        call("eth_sendRawTransaction", raw)
    heavy = {"jsonrpc": "2.0", "id": 1, "method": "eth_feeHistory", "params": ["0x400", "latest"]}
    ask.say("the last of 50 calls of eth_feeHistory(0x400, latest) in one body", post([heavy] * 50))
    with desk.fault("down", "node"):
        call("eth_gasPrice")
    with without_table(desk, "orders"):
        call("eth_getTransactionByHash", "0x" + "11" * 32)


def sections(desk: ApiClient) -> tuple[Sections, dict[str, str]]:
    """Send everything; return what was answered, and names for what differs from run to run."""
    ask = Asking(desk)
    parts: tuple[Callable[[Asking], None], ...] = (
        _plain, _reads, _bodies, _orders, _states, _wraps, _cancels, _limits, _outages, _sources,
        _wallet_rpc,
    )  # fmt: skip
    for part in parts:
        part(ask)
    numbered = {one.address: f"<wallet {place}>" for place, one in enumerate(ask.wallets, 1)}
    lower = {address.lower(): f"{name[:-1]} in lower case>" for address, name in numbered.items()}
    return ask.found, numbered | lower
