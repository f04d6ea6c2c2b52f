"""The account of node work: which batches need a place, and of which lane."""

import asyncio
from contextvars import Context

import pytest

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.chain.rpc_wire import RpcCall
from quietswap.rules.clients import Party, visitor_id
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx.address import Address
from quietswap.service.base.http_client import HttpReply
from quietswap.service.node import work as node_work
from quietswap.service.node.work import Lane, NodeWork, TokenCosts, begin, name_tokens, shared
from tests.manual_clock import ManualClock

STRANGE = Address("0x70ce000000000000000000000000000000000009")
CALL, ESTIMATE, HEADER = (
    RpcCall(method) for method in ("eth_call", "eth_estimateGas", "eth_getBlockByNumber")
)


def lanes(costs: TokenCosts, *tokens: Address) -> list[Lane | None]:
    """Return the lanes of a header, a call and an estimate, for a request about these tokens."""

    def ask() -> list[Lane | None]:
        begin("client")
        name_tokens(*tokens)
        work = NodeWork(costs)
        return [work.lane([HEADER]), work.lane([HEADER, CALL]), work.lane([ESTIMATE, CALL])]

    return Context().run(ask)


def test_a_token_has_few_places_until_it_was_measured() -> None:
    clock = ManualClock()
    costs = TokenCosts(clock, [WETH])
    usual, foreign = [None, Lane.USUAL, Lane.FOREIGN], [None, Lane.FOREIGN, Lane.FOREIGN]
    assert lanes(costs, WETH) == lanes(costs) == usual
    assert lanes(costs, WETH, STRANGE) == foreign
    costs.measured([WETH, STRANGE], is_cheap=True)
    assert lanes(costs, WETH, STRANGE) == usual
    costs.measured([WETH, STRANGE], is_cheap=False)
    costs.measured([STRANGE], is_cheap=True)
    assert lanes(costs, WETH, STRANGE) == foreign, "dear once is dear for a while"
    assert lanes(costs, WETH) == usual, "a trusted token is never dear"
    clock.advance(301)
    assert lanes(costs, WETH, STRANGE) == usual


def test_the_service_s_own_reads_and_shared_ones_need_no_place() -> None:
    def ask() -> list[Lane | None]:
        work = NodeWork(TokenCosts(ManualClock()))
        own = work.lane([CALL])
        begin("client")
        with shared():
            together = work.lane([CALL])
        return [own, together, work.lane([CALL])]

    assert Context().run(ask) == [None, None, Lane.USUAL]


def test_reads_in_flight_are_shared_within_a_party() -> None:
    def party(client_id: str) -> str:
        begin(client_id)
        return node_work.asking_party()

    names = [visitor_id(f"192.0.2.{n}", b"salt", "1") for n in (1, 2)]
    assert len({Context().run(party, each) for each in (*names, "client", "another")}) == 3


async def test_a_place_is_kept_until_the_exchange_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node does not stop because the caller went away."""
    monkeypatch.setitem(node_work.PLACES, Lane.FOREIGN, (2, 1))
    work, party, free = NodeWork(TokenCosts(ManualClock())), Party("a", "a"), asyncio.Event()

    async def send() -> HttpReply:
        await free.wait()
        return HttpReply(200, b"", {})

    first = asyncio.ensure_future(work.held(Lane.FOREIGN, "url", party, send))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    monkeypatch.setattr(node_work, "TURN_S", 0.0)
    with pytest.raises(NodeUnavailable, match="no place at the node"):
        await work.held(Lane.FOREIGN, "url", party, send)
    free.set()
    assert (await work.held(Lane.FOREIGN, "url", Party("b", "b"), send)).status == 200
    await work.close()
