"""Concurrent reads of one caller share batches; each gets its own answers, or its own failure."""

import asyncio
from collections.abc import Sequence

import pytest

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.chain.rpc_wire import NodeAnswer, RpcCall
from quietswap.rules.clients import Party, party_of
from quietswap.service.wallet_rpc.merged_calls import AT_ONCE, MOST_CALLS, MergedCalls


class Node:
    """Answers each call with its first parameter, once `opened`; `bad` fails its whole batch."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.batches: list[list[object]] = []

    async def send(self, calls: Sequence[RpcCall], caller: Party) -> Sequence[NodeAnswer]:
        words = [call.params[0] for call in calls]
        self.batches.append(words)
        await self.opened.wait()
        if "bad" in words:
            raise NodeUnavailable("too large")
        if "odd" in words:
            raise ZeroDivisionError
        return [str(word).encode() for word in words]


A = party_of("a")


@pytest.fixture
def node() -> Node:
    return Node()


def calls(*words: object) -> list[RpcCall]:
    return [RpcCall("eth_call", [word]) for word in words]


async def read_all(node: Node, *reads: list[RpcCall], caller: Party = A) -> list[object]:
    """Start reads while the node is silent, then let it answer; return answers and failures."""
    merged = MergedCalls(node.send)
    tasks = [asyncio.ensure_future(merged.read(each, caller)) for each in reads]
    await asyncio.sleep(0)
    node.opened.set()
    found: list[object] = await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.gather(*merged._tasks)
    await asyncio.sleep(0)  # the tasks' callbacks
    assert (merged._callers, merged._tasks) == ({}, set())
    return found


async def test_few_reads_go_at_once_and_alone(node: Node) -> None:
    found = await read_all(node, *(calls(n) for n in range(AT_ONCE)))
    assert found == [[b"%d" % n] for n in range(AT_ONCE)]
    assert node.batches == [[n] for n in range(AT_ONCE)]


async def test_further_reads_go_together_and_get_their_own_answers(node: Node) -> None:
    reads = [calls(n, -n) for n in range(AT_ONCE + 30)]
    found = await read_all(node, *reads)
    assert found == [[b"%d" % n, b"%d" % -n] for n in range(AT_ONCE + 30)]
    assert len(node.batches) == AT_ONCE + 1
    assert len(node.batches[-1]) == 60


async def test_a_merged_batch_has_a_bounded_size(node: Node) -> None:
    reads = [calls(*range(30)) for _ in range(AT_ONCE + 10)]
    found = await read_all(node, *reads)
    assert len(found) == len(reads)
    assert max(map(len, node.batches)) <= MOST_CALLS
    large = calls(*range(MOST_CALLS + 1))
    other = Node()
    assert len((await read_all(other, *[large] * (AT_ONCE + 2)))[-1]) == MOST_CALLS + 1  # type: ignore[arg-type]


async def test_a_read_that_fails_its_batch_fails_alone(node: Node) -> None:
    first = [calls(n) for n in range(AT_ONCE)]
    found = await read_all(node, *first, calls("good"), calls("bad"), calls("fine"))
    assert found[AT_ONCE] == [b"good"]
    assert isinstance(found[AT_ONCE + 1], NodeUnavailable)
    assert found[AT_ONCE + 2] == [b"fine"]


async def test_an_unexpected_failure_reaches_every_reader(node: Node) -> None:
    first = [calls(n) for n in range(AT_ONCE)]
    found = await read_all(node, *first, calls("good"), calls("odd"))
    assert all(isinstance(one, ZeroDivisionError) for one in found[AT_ONCE:])


async def test_callers_are_not_merged_with_each_other(node: Node) -> None:
    merged = MergedCalls(node.send)
    slow = [asyncio.ensure_future(merged.read(calls(n), A)) for n in range(AT_ONCE + 5)]
    await asyncio.sleep(0)
    other = asyncio.ensure_future(merged.read(calls("b"), party_of("b")))
    await asyncio.sleep(0)
    assert node.batches[-1] == ["b"]
    node.opened.set()
    assert await other == [b"b"]
    await asyncio.gather(*slow)


async def test_a_reader_that_gave_up_is_not_asked_for(node: Node) -> None:
    merged = MergedCalls(node.send)
    tasks = [asyncio.ensure_future(merged.read(calls(n), A)) for n in range(AT_ONCE + 2)]
    await asyncio.sleep(0)
    tasks[AT_ONCE].cancel()
    await asyncio.sleep(0)
    node.opened.set()
    assert await tasks[AT_ONCE + 1] == [b"%d" % (AT_ONCE + 1)]
    await asyncio.gather(*tasks, return_exceptions=True)
    assert node.batches[AT_ONCE:] == [[AT_ONCE + 1]]


async def test_the_end_of_the_process_ends_what_is_in_flight(node: Node) -> None:
    merged = MergedCalls(node.send)
    tasks = [asyncio.ensure_future(merged.read(calls(n), A)) for n in range(AT_ONCE + 2)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    await asyncio.sleep(0)
    await merged.close()
    assert tasks[-1].cancelled() or isinstance(
        (await asyncio.gather(tasks[-1], return_exceptions=True))[0], asyncio.CancelledError
    )
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
