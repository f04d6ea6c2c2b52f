"""Reads of wallets: passed on as they are, bounded, and apart from the service's own reads."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest

from quietswap.adapters.http import HttpClient
from quietswap.adapters.rpc import wallet_node
from quietswap.adapters.rpc.wallet_node import WalletNodeClient
from quietswap.ports.chain import NodeUnavailable
from quietswap.ports.wallet_rpc import NodeCall, NodeFailure
from tests.adapters.fake_node import FakeNode, Refusal, fake_node
from tests.adapters.manual_clock import ManualClock
from tests.waiting import WITHIN_S

ODD = b'{ "n" : 1.50, "big": 1e400, "s":"\\u00e9" }'


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.close()


def refusing(code: int, message: str, data: str | None = None) -> Callable[..., Any]:
    def answer(*_: object) -> Any:
        raise Refusal(code, message, data)

    return answer


def client(http: HttpClient, *nodes: FakeNode, max_bytes: int = 1 << 20) -> WalletNodeClient:
    return WalletNodeClient(
        http, [node.url for node in nodes], ManualClock(), timeout_s=WITHIN_S, max_lag_blocks=3,
        max_bytes=max_bytes,
    )  # fmt: skip


@pytest.fixture
def failures(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What was reported as a failure of a node."""
    found: list[tuple[Any, ...]] = []
    monkeypatch.setattr(wallet_node.observe, "node_failed", lambda *said: found.append(said))
    return found


async def test_a_result_keeps_its_bytes(http: HttpClient) -> None:
    async with fake_node(eth_call="@odd@", eth_gasPrice="0x1") as node:
        node.mangle = lambda replies: msgspec.json.encode(replies).replace(b'"@odd@"', ODD)
        calls = [NodeCall("eth_call", [{"to": "0x1"}]), NodeCall("eth_gasPrice")]
        assert await client(http, node).read(calls, "rpc_1") == [ODD, b'"0x1"']


async def test_an_error_of_a_call_is_the_wallet_s_and_no_failure_of_the_node(
    http: HttpClient, failures: list[tuple[Any, ...]]
) -> None:
    async with fake_node(
        eth_call=refusing(3, "execution reverted", "0x08c379a0"),
        eth_getLogs=refusing(-32000, "header not found"),
        eth_gasPrice="0x1",
    ) as node:
        calls = [NodeCall("eth_call"), NodeCall("eth_getLogs"), NodeCall("eth_gasPrice")]
        answers = await client(http, node).read(calls, "rpc_1")
    assert answers == [
        NodeFailure(3, "execution reverted", "0x08c379a0"),
        NodeFailure(-32000, "header not found"),
        b'"0x1"',
    ]
    assert failures == []


async def test_an_answer_that_is_too_large_is_cut_off_and_reported(
    http: HttpClient, failures: list[tuple[Any, ...]]
) -> None:
    async with fake_node(eth_getLogs="x" * 5000, eth_gasPrice="0x1") as node:
        reader = client(http, node, max_bytes=4000)
        with pytest.raises(NodeUnavailable, match="larger than 4000 bytes"):
            await reader.read([NodeCall("eth_getLogs")], "rpc_1")
        assert await reader.read([NodeCall("eth_gasPrice")], "rpc_1") == [b'"0x1"']
    assert len(failures) == 1


async def test_a_message_of_the_node_does_not_hold_its_url(http: HttpClient) -> None:
    async with fake_node(eth_gasPrice="0x1") as node:
        node.answers["eth_call"] = refusing(-32000, f"see {node.url}")
        [answer] = await client(http, node).read([NodeCall("eth_call")], "rpc_1")
    assert isinstance(answer, NodeFailure)
    assert node.url not in answer.message
