"""Figures of several processes on both databases."""

from quietswap.rules.operator.figures import BUCKET_MS, Figure, FigureRow, Measure
from quietswap.rules.operator.operators import ProcessReport
from quietswap.service.storage.factory import Storage
from tests.storage.examples import T0

START = T0 // BUCKET_MS * BUCKET_MS
FAST = Figure(Measure.SOURCE_MS, "velora", "", 50)
SLOW = Figure(Measure.SOURCE_MS, "velora", "", 500)
LOST = Figure(Measure.SOURCE_OUTCOME, "velora", "timed_out", 0)


def report(process: str, at_ms: int = START, changes: int = 1) -> ProcessReport:
    return ProcessReport(process, at_ms, changes, {"tracker": "leading", "sources": {"velora": 1}})


async def test_figures_of_all_processes_add_up(storage: Storage) -> None:
    await storage.figures.record({FAST: 2, LOST: 1}, report("a:1"))
    await storage.figures.record({FAST: 3, SLOW: 1}, report("b:1", START + 5))
    await storage.figures.record({FAST: 4}, report("a:1", START + BUCKET_MS))
    later = START + BUCKET_MS
    assert await storage.figures.read([Measure.SOURCE_MS], START, BUCKET_MS) == [
        FigureRow(START, "source_ms", "velora", "", 50, 5),
        FigureRow(START, "source_ms", "velora", "", 500, 1),
        FigureRow(later, "source_ms", "velora", "", 50, 4),
    ]
    both = [Measure.SOURCE_OUTCOME, Measure.SOURCE_MS]
    assert len(await storage.figures.read(both, START, BUCKET_MS)) == 4
    assert await storage.figures.read(both, later + BUCKET_MS, BUCKET_MS) == []


async def test_a_longer_time_is_read_in_longer_slots(storage: Storage) -> None:
    hour = 6 * BUCKET_MS
    begin = T0 // hour * hour
    for number in range(7):
        await storage.figures.record({FAST: 1}, report("a:1", begin + number * BUCKET_MS))
    rows = await storage.figures.read([Measure.SOURCE_MS], begin + 3 * BUCKET_MS, hour)
    assert [(row.at_ms, row.n) for row in rows] == [(begin, 6), (begin + hour, 1)]


async def test_each_process_has_one_report(storage: Storage) -> None:
    await storage.figures.record({}, report("a:1", START, 1))
    await storage.figures.record({}, report("b:1", START + 10, 5))
    await storage.figures.record({}, report("a:1", START + 20, 2))
    assert await storage.figures.reports(START + 10) == [
        report("a:1", START + 20, 2),
        report("b:1", START + 10, 5),
    ]
    assert await storage.figures.changes(START + 15) == {"a:1": 2}


async def test_old_figures_and_silent_processes_are_deleted(storage: Storage) -> None:
    await storage.figures.record({FAST: 1, LOST: 1}, report("a:1"))
    await storage.figures.record({FAST: 1}, report("b:1", START + BUCKET_MS))
    await storage.figures.purge(START + BUCKET_MS)
    rows = await storage.figures.read([*Measure], START, BUCKET_MS)
    assert [row.at_ms for row in rows] == [START + BUCKET_MS]
    assert [one.process_id for one in await storage.figures.reports(0)] == ["b:1"]
