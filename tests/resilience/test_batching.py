"""Calls of one moment share a batch, and no batch holds up or ends the calls of another."""

import asyncio
from collections.abc import Sequence

import pytest

from quietswap.service.base.concurrency import HOLD_S, MOST_BATCHES, CallBatcher
from tests.virtual_time import run


class Store:
    """Answers each question by its double, when the test says so."""

    def __init__(self) -> None:
        self.asked: list[Sequence[int]] = []
        self.times: list[float] = []
        self.answers: list[asyncio.Future[None]] = []

    async def answer(self, questions: Sequence[int], asked_at: float) -> Sequence[int]:
        self.asked.append(questions)
        self.times.append(asked_at)
        self.answers.append(asyncio.get_running_loop().create_future())
        await self.answers[-1]
        return [2 * question for question in questions]


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def _one_turn() -> None:
    store = Store()
    ask = CallBatcher(store.answer)
    calls = [asyncio.ensure_future(ask(number)) for number in range(20)]
    await turns()
    assert store.asked == [list(range(20))]
    store.answers[0].set_result(None)
    assert await asyncio.gather(*calls) == [2 * number for number in range(20)]


def test_calls_of_one_turn_are_one_batch() -> None:
    run(_one_turn())


async def _while_away() -> None:
    store = Store()
    ask = CallBatcher(store.answer)
    first = asyncio.ensure_future(ask(1))
    await turns()
    began = asyncio.get_running_loop().time()
    late = [asyncio.ensure_future(ask(number)) for number in (2, 3)]
    await turns()
    assert store.asked == [[1]]
    store.answers[0].set_result(None)
    await turns()
    assert await first == 2
    assert store.asked == [[1], [2, 3]], "they go as soon as the one before is back"
    assert store.times[1] == began
    store.answers[1].set_result(None)
    assert await asyncio.gather(*late) == [4, 6]


def test_calls_meanwhile_go_together_when_the_batch_is_back() -> None:
    run(_while_away())


async def _slow() -> None:
    store = Store()
    ask = CallBatcher(store.answer)
    calls = []
    for number in range(MOST_BATCHES + 2):
        calls.append(asyncio.ensure_future(ask(number)))
        await asyncio.sleep(HOLD_S)
        await turns()
    assert store.asked == [[number] for number in range(MOST_BATCHES)], "no more at a time"
    store.answers[3].set_result(None)
    await turns()
    assert await calls[3] == 6
    assert store.asked[-1] == [MOST_BATCHES, MOST_BATCHES + 1]
    for answer in store.answers:
        if not answer.done():
            answer.set_result(None)
    assert await asyncio.gather(*calls) == [2 * number for number in range(MOST_BATCHES + 2)]


def test_a_slow_batch_holds_up_no_other_for_long() -> None:
    run(_slow())


async def _many() -> None:
    store = Store()
    ask = CallBatcher(store.answer, at_once=3)
    calls = [asyncio.ensure_future(ask(number)) for number in range(8)]
    await turns()
    assert store.asked == [[0, 1, 2], [3, 4, 5], [6, 7]]
    for answer in store.answers:
        answer.set_result(None)
    assert await asyncio.gather(*calls) == [2 * number for number in range(8)]


def test_a_batch_has_a_size() -> None:
    run(_many())


async def _failing() -> None:
    async def fail(questions: Sequence[int], _: float) -> Sequence[int]:
        raise LookupError(f"{len(questions)} together")

    ask = CallBatcher(fail)
    results = await asyncio.gather(*(ask(number) for number in range(3)), return_exceptions=True)
    assert [str(result) for result in results] == ["3 together"] * 3
    with pytest.raises(LookupError, match="1 together"):
        await ask(7)


def test_what_a_batch_raises_is_its_callers_alone() -> None:
    run(_failing())


async def _cancelled() -> None:
    store = Store()
    ask = CallBatcher(store.answer)
    gone, stays = (asyncio.ensure_future(ask(number)) for number in (1, 2))
    early = asyncio.ensure_future(ask(3))
    await asyncio.sleep(0)
    early.cancel()  # before the batch began
    await turns()
    gone.cancel()
    await turns()
    assert not stays.done()
    store.answers[0].set_result(None)
    assert await stays == 4
    assert store.asked == [[1, 2]]
    assert gone.cancelled()
    assert early.cancelled()


def test_a_caller_who_leaves_takes_nobody_along() -> None:
    run(_cancelled())
