"""What switches a source off: silence beyond the hard deadline, and not one client's requests."""

import asyncio

import pytest

from quietswap.rules.clients import visitor_id
from quietswap.rules.quotes.quote import NoRoute, NoRouteReason, SourceOutcome
from quietswap.service.quoting.sources import Source
from tests.quoting.test_collect_routes import (
    PLENTY,
    REQUEST,
    Scripted,
    a_route,
    collector,
    outcomes,
)
from tests.virtual_time import LoopClock, run


@pytest.fixture(autouse=True)
def _known_calldata(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calldata is opaque here: the money rules have tests of their own."""
    monkeypatch.setattr(
        "quietswap.service.quoting.verify.check_route", lambda *_args, **_kwargs: None
    )


def test_a_loser_is_cancelled_at_the_hard_deadline() -> None:
    slow = Scripted("slow", a_route("slow"), 60)

    async def work() -> list[bool]:
        await collector([Scripted("a", a_route("a"), 0.1), slow])("k", REQUEST)
        seen = [slow.cancelled]
        await asyncio.sleep(2.3)
        seen.append(slow.cancelled)
        await asyncio.sleep(0.2)
        return [*seen, slow.cancelled]

    assert run(work()) == [False, False, True]


def test_a_source_that_is_only_slower_than_the_others_is_not_switched_off() -> None:
    slow = Scripted("slow", a_route("slow"), 1.5)

    async def work() -> None:
        ask = collector([Scripted("a", a_route("a"), 0.1), slow])
        for _ in range(20):
            found = await ask("k", REQUEST)
            assert outcomes(found)["slow"] is SourceOutcome.TIMED_OUT
        await asyncio.sleep(2)

    run(work())
    assert slow.asked == 20
    assert not slow.cancelled


def test_a_source_that_never_answers_is_switched_off_though_nobody_waits_for_it() -> None:
    dead = Scripted("dead", a_route("dead"), 3600)

    async def work() -> list[SourceOutcome]:
        ask = collector([Scripted("a", a_route("a"), 0.1), dead])
        for _ in range(5):
            await ask("k", REQUEST)
        await asyncio.sleep(3)
        return [outcomes(await ask("k", REQUEST))["dead"] for _ in range(2)]

    assert run(work()) == [SourceOutcome.SKIPPED] * 2


def test_the_answers_nobody_waits_for_are_bounded() -> None:
    dead = Scripted("dead", a_route("dead"), 3600)

    async def work() -> int:
        source = Source(dead, PLENTY, LoopClock())
        answers = [asyncio.create_task(asyncio.sleep(3600)) for _ in range(100)]
        for task in answers:
            source.let_finish(task, "k", 3.0)  # type: ignore[arg-type]
        await asyncio.sleep(0.1)
        return sum(not task.cancelled() for task in answers)

    assert run(work()) == 16


def test_one_keys_odd_requests_do_not_switch_a_source_off_for_the_others() -> None:
    odd = NoRoute(NoRouteReason.TIMED_OUT, "too hard a question")

    async def work() -> list[list[bool]]:
        source = Source(Scripted("a", a_route("a")), PLENTY, LoopClock())
        for _ in range(50):
            source.note("odd", odd)
        one = [
            await source.refusal("odd") is None,
            await source.refusal("other") is None,
            source.is_up,
        ]
        source.note("other", odd)
        two = [
            await source.refusal("odd") is None,
            await source.refusal("other") is None,
            source.is_up,
        ]
        await asyncio.sleep(15.1)
        probes = [await source.refusal("odd") is None, await source.refusal("other") is None]
        source.note("odd", None)
        return [one, two, probes, [await source.refusal("other") is None, source.is_up]]

    # it is not called up while nobody who asked it got an answer
    assert run(work()) == [[False, True, False], [False] * 3, [True, False], [True, True]]


def test_a_source_that_one_client_may_not_ask_is_asked_for_another_in_flight() -> None:
    down = Scripted("down", NoRoute(NoRouteReason.UNAVAILABLE, "502"), 0.01)

    async def work() -> list[SourceOutcome]:
        ask = collector([down, Scripted("a", a_route("a"), 0.01)])
        for _ in range(5):
            await ask("k", REQUEST)
        down.answer = a_route("down")
        both = await asyncio.gather(ask("k", REQUEST), ask("k2", REQUEST))
        return [outcomes(one)["down"] for one in both]

    assert run(work()) == [SourceOutcome.SKIPPED, SourceOutcome.ANSWERED]


def test_visitors_of_the_page_do_not_switch_a_source_off_for_clients() -> None:
    odd = NoRoute(NoRouteReason.TIMED_OUT, "too hard a question")
    crowd = [visitor_id(f"192.0.2.{n % 20}", b"salt", str(n)) for n in range(50)]

    async def work() -> list[list[bool]]:
        source = Source(Scripted("a", a_route("a")), PLENTY, LoopClock())

        async def asks(*names: str) -> list[bool]:
            return [await source.refusal(name) is None for name in names]

        for _ in range(5):
            source.note(crowd[0], odd)
        alone = await asks(crowd[0], crowd[20], crowd[1], "client")
        for one in crowd:
            source.note(one, odd)
        every = await asks(crowd[1], "client")
        for _ in range(3):
            source.note("client", odd)
        return [alone, every, await asks("client"), [source.is_up]]

    assert run(work()) == [[False, False, True, True], [False, True], [True], [False]]
