"""Sources that an operator paused are not asked, and a quote says why."""

from dataclasses import dataclass, field

from quietswap.rules.operator.operators import PausedSource
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.rules.vendors.vendor import RequestBudget
from quietswap.service.quoting.source_pauses import SourcePauses, reason_text
from quietswap.service.quoting.sources import Source
from tests.quoting.test_collect_routes import Scripted, a_route
from tests.storage.examples import HandClock

VELORA = PausedSource("velora", 1, "alice", "wrong prices since noon")
TEXT = reason_text(VELORA)


@dataclass
class Pauses:
    """A store of pauses that counts reads, and may be away."""

    paused: list[PausedSource] = field(default_factory=list)
    reads: int = 0
    is_away: bool = False

    async def list(self) -> "list[PausedSource]":
        self.reads += 1
        if self.is_away:
            raise StoreUnavailable("away")
        return [*self.paused]


def sources(clock: HandClock) -> list[Source]:
    return [
        Source(Scripted(name, a_route(name)), RequestBudget(1.0), clock)  # type: ignore[arg-type]
        for name in ("velora", "sushi")
    ]


async def test_a_pause_counts_within_a_second_and_ends_within_one() -> None:
    clock, store = HandClock(), Pauses()
    velora, sushi = both = sources(clock)
    pauses = SourcePauses(store, both, clock)  # type: ignore[arg-type]
    await pauses.refresh()
    store.paused = [VELORA]
    await pauses.refresh()
    assert (velora.pause_reason, store.reads) == (None, 1)
    clock.ms += 1000
    await pauses.refresh()
    assert (velora.pause_reason, sushi.pause_reason) == (TEXT, None)
    store.paused = []
    clock.ms += 1000
    await pauses.refresh()
    assert velora.pause_reason is None


async def test_a_paused_source_spends_no_budget_and_keeps_its_circuit() -> None:
    clock, store = HandClock(), Pauses([VELORA])
    [velora, _] = both = sources(clock)
    pauses = SourcePauses(store, both, clock)  # type: ignore[arg-type]
    await pauses.refresh()
    assert [await velora.refusal("client") for _ in range(3)] == [TEXT] * 3
    assert velora.circuit_state == "closed"
    store.paused = []
    clock.ms += 1000
    await pauses.refresh()
    assert await velora.refusal("client") is None


async def test_the_last_known_pauses_stay_while_the_database_is_away() -> None:
    clock, store = HandClock(), Pauses([VELORA])
    [velora, _] = both = sources(clock)
    pauses = SourcePauses(store, both, clock)  # type: ignore[arg-type]
    await pauses.refresh()
    store.is_away = True
    clock.ms += 5000
    await pauses.refresh()
    assert velora.pause_reason == TEXT
    store.is_away, store.paused = False, []
    await pauses.refresh()  # it is read again at once
    assert velora.pause_reason is None


async def test_a_pause_without_a_reason_still_says_who_decided() -> None:
    clock = HandClock()
    [velora, _] = both = sources(clock)
    store = Pauses([PausedSource("velora", 1, "alice", "")])
    await SourcePauses(store, both, clock).refresh()  # type: ignore[arg-type]
    assert await velora.refusal("client") == "paused by the operator of this service"
