"""How often a swap waits for the caller's own node: each request is a trip there and back."""

from dataclasses import replace
from typing import Any

import pytest

from quietswap.client.errors import ClientError
from tests.client import fake_servers
from tests.client.conftest import Do
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_node import NodeSays, RawAnswer
from tests.client.fake_servers import MINIMUM, FakeServers, FakeService, swap_quote
from tests.client.test_swap_flow import REQUEST, approved
from tests.response_json import quotes

__all__ = ["approved"]

_BEFORE_SIGNING = 2
"""All facts of the plan, then balances and trial at one block."""
_AFTER = 1
"""The end of the record."""


@pytest.fixture(autouse=True)
def tries(approved: FakeChain) -> None:
    approved.delivers = MINIMUM


def test_a_swap_waits_for_its_node_three_times(
    do_with_node: Do, outside: FakeServers, approved: FakeChain
) -> None:
    do_with_node("swap", REQUEST, ACCOUNT)
    plan, trial, *after = outside.trips
    assert plan.count("eth_getBlockByNumber") == 1
    assert {"eth_chainId", "eth_getTransactionCount", "eth_getBalance"} < set(plan)
    assert trial.count("eth_simulateV1") == 1
    assert len(after) == _AFTER


def test_a_swap_is_tried_on_the_block_that_came_while_it_was_accepted(
    do_with_node: Do, outside: FakeServers, approved: FakeChain
) -> None:
    """Fewer trips are no older answers: the trial before signing is on the newest block."""
    planned_at = approved.head

    def accept(_: object) -> bool:
        approved.head += 1
        return True

    do_with_node("swap", replace(REQUEST, accept=accept), ACCOUNT)
    assert [block for _, block in approved.trials] == [hex(planned_at), hex(planned_at + 1)]
    assert len(outside.trips) == _BEFORE_SIGNING + 1 + _AFTER


def test_what_changed_while_it_was_accepted_refuses_the_swap(
    do_with_node: Do, outside: FakeServers, approved: FakeChain
) -> None:
    def accept(_: object) -> bool:
        approved.head += 1
        approved.delivers = 1
        return True

    with pytest.raises(Exception, match="it delivers 1, not"):
        do_with_node("swap", replace(REQUEST, accept=accept), ACCOUNT)
    assert approved.sent == []


def test_what_is_refused_and_not_needed_costs_no_trip(
    do_with_node: Do, outside: FakeServers, approved: FakeChain
) -> None:
    approved.busy = lambda method: NodeSays("slow", 429) if method == "eth_estimateGas" else None
    do_with_node("swap", REQUEST, ACCOUNT)
    assert len(outside.trips) == _BEFORE_SIGNING + _AFTER


@pytest.mark.parametrize("target", ["0xzz", "", "0x", "0x" + "é" * 40])
def test_a_router_that_is_no_address_is_refused_and_not_asked_about(
    do_with_node: Do, service: FakeService, target: str
) -> None:
    quote = quotes.swap_quote_response(swap_quote())
    quote["dexRoute"]["target"] = target
    service.quote = lambda: quote
    with pytest.raises(ClientError):
        do_with_node("swap", REQUEST, ACCOUNT)
    assert service.bodies("order") == []


def test_a_node_that_takes_no_batch_is_asked_for_each_thing_once(
    do_with_node: Do, outside: FakeServers, approved: FakeChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    def alone(_: Any, body: Any) -> Any:
        if isinstance(body, list):
            raise RawAnswer(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}')
        return answer(_, body)

    answer = fake_servers.rpc_answer
    monkeypatch.setattr(fake_servers, "rpc_answer", alone)
    do_with_node("swap", REQUEST, ACCOUNT)
    single = [calls[0] for calls in outside.trips if len(calls) == 1]
    assert single.count("eth_chainId") == 1 + 1  # of the plan, and of the record's end
    assert single.count("eth_getBalance") == 1
    assert single.count("eth_simulateV1") == 1
