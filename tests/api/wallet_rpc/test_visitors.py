"""RPC URLs of the web page, which anybody can have: what they may let the node do, and in turn."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import msgspec
import pytest

from quietswap.rules.chain.rpc_wire import RpcCall
from quietswap.rules.clients import visitor_id
from quietswap.rules.wallet_rpc_token import WalletRpcToken
from quietswap.service.api.operation import ApiOptions, WalletRpcOptions
from quietswap.service.base.http_client import HttpClient
from quietswap.service.node import work as node_work
from quietswap.service.server.app import create_api
from quietswap.service.wallet_rpc.node import WalletNodeClient
from tests import loopback
from tests.api.scripted_use_cases import HandClock, ScriptedUseCases
from tests.api.scripted_wallet_rpc import SECRET, TOKEN, WALLET
from tests.api.wallet_rpc.calls import URL, call, failed, post, request
from tests.chain.fake_node import FakeNode
from tests.fake_web import Answer, Request, serving
from tests.manual_clock import ManualClock
from tests.waiting import WITHIN_S, eventually

OVERRIDE_CODE = {WALLET: {"code": "0x5b600056"}}
MOST = "0x989680"
MANY = "0x989681"


def of_visitor(session: int = 0, token: int = 0) -> WalletRpcToken:
    """Return a token of a session; all sessions began at one address."""
    client_id = visitor_id("192.0.2.1", b"salt", f"{session:016x}")
    return replace(TOKEN, id=f"rpc_{session}_{token}", client_id=client_id)


@pytest.fixture
def visited(inside: ScriptedUseCases) -> ScriptedUseCases:
    """What the URL of the page leads to: as the other one, for a visitor."""
    inside.rpc.tokens[SECRET] = of_visitor()
    return inside


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_call", [{"to": WALLET}, "latest", OVERRIDE_CODE]),
        ("eth_call", [{"to": WALLET}, "latest", {WALLET: {"Code": "0x5b600056"}}]),
        ("eth_call", [{"to": WALLET}, "latest", {WALLET: {"movePrecompileToAddress": WALLET}}]),
        ("eth_call", [{"to": WALLET}, "latest", {WALLET: {"balance": "0x1", "codE": "0x5b"}}]),
        ("eth_call", [{"data": "0x5b600056"}]),
        ("eth_call", [{"to": None, "data": "0x5b600056"}]),
        ("eth_call", [{"to": WALLET, "authorizationList": []}]),
        ("eth_call", [{"to": WALLET, "AuthorizationList": [{}]}]),
        ("eth_call", [{"to": WALLET, "gas": MANY}]),
        ("eth_call", [{"to": WALLET, "Gas": MANY}]),
        ("eth_call", [{"to": WALLET, "ga\u017f": MANY}]),
        ("eth_estimateGas", [{"to": WALLET}, "latest", OVERRIDE_CODE]),
        ("eth_estimateGas", [{"data": "0x5b600056"}]),
    ],
)
async def test_code_and_gas_of_a_visitor_s_choice_are_refused(
    client: httpx.AsyncClient, visited: ScriptedUseCases, method: str, params: list[Any]
) -> None:
    await failed(client, -32602, method, *params)
    assert visited.rpc.read == []


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_call", [{"to": WALLET}, "latest", OVERRIDE_CODE]),
        ("eth_call", [{"data": "0x5b600056"}]),
        ("eth_call", [{"to": WALLET, "authorizationList": []}]),
        ("eth_call", [{"to": WALLET, "gas": MANY}]),
        ("eth_estimateGas", [{"to": WALLET, "gas": "0x2faf080"}]),
    ],
)
async def test_clients_may_choose_them(
    client: httpx.AsyncClient, inside: ScriptedUseCases, method: str, params: list[Any]
) -> None:
    await call(client, method, *params)
    assert inside.rpc.read == [[RpcCall(method, params)]]


@pytest.mark.parametrize(
    ("method", "given", "sent"),
    [
        ("eth_call", {}, MOST),
        ("eth_call", {"gas": None}, MOST),
        ("eth_call", {"gas": "0x5208"}, "0x5208"),
        ("eth_call", {"gas": MOST}, MOST),
        ("eth_estimateGas", {}, "0x1000000"),
        ("eth_estimateGas", {"gas": "0x5208"}, "0x5208"),
        ("eth_estimateGas", {"gas": "0x2faf080"}, "0x1000000"),
    ],
)
async def test_a_call_of_a_visitor_has_the_gas_of_a_visitor(
    client: httpx.AsyncClient,
    visited: ScriptedUseCases,
    method: str,
    given: dict[str, Any],
    sent: str,
) -> None:
    """An estimate is lowered: no transaction may have more gas."""
    asked = {"to": WALLET, "from": WALLET, "type": "0x2", "chainId": "0x1"}
    state = {WALLET: {"balance": "0x1", "stateDiff": {}}}
    await call(client, method, asked | given, "latest", state)
    [[read]] = visited.rpc.read
    assert read.params == [asked | {"gas": sent}, "latest", state]


class Busy(FakeNode):
    """A node that works on every eth_call of a visitor until `free` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.free = asyncio.Event()
        self.working = 0

    def respond(self, request: Request) -> Answer:
        answer = super().respond(request)
        calls = [call for call in msgspec.json.decode(request.body) if call["method"] == "eth_call"]
        if any(call["params"][0].get("gas") == MOST for call in calls):
            self.working += 1
            answer.until = self.free
        return answer


@pytest.fixture
async def busy(inside: ScriptedUseCases, clock: HandClock) -> AsyncIterator[tuple[Busy, Any]]:
    """A node, and the edge in front of it for a client and 8 sessions of one address."""
    node, http = Busy(), HttpClient()
    node.answers |= {"eth_call": "0x01", "eth_gasPrice": "0x7"}
    for session in range(8):
        inside.rpc.tokens[f"qr_{session:064x}"] = of_visitor(session)
    async with serving(node.respond) as web:
        node.web = web
        reader = WalletNodeClient(
            http, [node.url], ManualClock(), timeout_s=WITHIN_S, max_lag_blocks=3,
            max_bytes=1 << 20,
        )  # fmt: skip
        use_cases = replace(inside.use_cases(), rpc_node=reader)
        options = ApiOptions(wallet_rpc=WalletRpcOptions(timeout_s=WITHIN_S))
        app = create_api(use_cases, options, clock)
        async with loopback.AsyncClient(
            transport=httpx.ASGITransport(app=app), base_url="http://edge"
        ) as client:
            yield node, client
        node.free.set()
        await reader.close()
        await http.close()


async def test_one_visitor_does_not_stop_the_reads_of_a_client(
    busy: tuple[Busy, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """18 bodies over 8 sessions, whose senders do not wait: the node has one of them."""
    node, client = busy
    monkeypatch.setattr(node_work, "TURN_S", 10 * WITHIN_S)  # nothing goes on by giving up
    loops = [request("eth_call", [{"to": WALLET}])] * 25
    bodies = [
        asyncio.ensure_future(post(client, loops, f"/rpc/qr_{n % 8:064x}")) for n in range(18)
    ]

    async def the_node_has_one() -> bool:
        return node.working > 0

    await eventually(the_node_has_one)
    for body in bodies[::2]:
        body.cancel()
    for _ in range(5):
        mine = await post(client, request("eth_call", [{"to": WALLET, "gas": "0x5208"}]), URL)
        assert mine.json()["result"] == "0x01"
        assert (await post(client, request("eth_gasPrice"), URL)).json()["result"] == "0x7"
        theirs = await post(client, request("eth_gasPrice"), f"/rpc/qr_{1:064x}")
        assert theirs.json()["result"] == "0x7", "quick reads do not wait for slow ones"
    assert node.working == 1
    for body in bodies:
        body.cancel()
    await asyncio.gather(*bodies, return_exceptions=True)
