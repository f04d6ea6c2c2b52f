"""What is so now, in one figure each: the nodes, the relays, the sources and the open orders."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from quietswap.rules.operator.figures import FigureWindow, Measure, by_detail
from quietswap.rules.operator.operators import ProcessReport
from quietswap.service.operator.node_rows import node_rows
from quietswap.service.operator.value_text import age

LONG_OPEN_MS = 600_000
MOST_LAG = 2
"""Blocks that a node or the tracker may be behind before somebody should look."""


class Stat(NamedTuple):
    """One figure. `mark`: good, warn or bad."""

    mark: str
    label: str
    value: str
    note: str


def stats(
    reports: Sequence[ProcessReport],
    window: FigureWindow,
    open_orders: Mapping[str, tuple[int, int]],
    asked: Collection[str],
    sources: Collection[str],
) -> list[Stat]:
    """Return the figures; `asked` are those of the `sources` that are not paused.

    `open_orders`: number and time of the oldest (Unix ms), by status.
    """
    return [
        *_nodes(reports, window.until_ms),
        *_relays(reports, window),
        _sources(reports, asked, sources),
        _open_orders(open_orders, window.until_ms),
    ]


def _nodes(reports: Sequence[ProcessReport], now_ms: int) -> Iterator[Stat]:
    """Yield the block of each node by its latest reading in any process."""
    nodes = node_rows(reports)
    highest = max((node.height or 0 for node in nodes), default=0)
    latest = {node.name: node for node in sorted(nodes, key=lambda node: node.read_at_ms or 0)}
    for name, node in latest.items():
        if node.height is None:
            yield Stat("bad", f"Block of {name}", "no answer", "")
            continue
        behind = highest - node.height
        note = f"{behind} behind, read {age(now_ms - (node.read_at_ms or 0))} ago"
        mark = "warn" if node.lags or behind > MOST_LAG else "good"
        yield Stat(mark, f"Block of {name}", f"{node.height:,}", note)


def _circuits(kind: str, reports: Sequence[ProcessReport]) -> dict[str, set[str]]:
    """Return the words of all processes about each source or relay."""
    words: dict[str, set[str]] = {}
    for report in reports:
        for name, word in dict(report.state.get(kind, {})).items():
            words.setdefault(name, set()).add(word)
    return words


def _relays(reports: Sequence[ProcessReport], window: FigureWindow) -> Iterator[Stat]:
    for name, words in sorted(_circuits("relays", reports).items()):
        outcomes = by_detail(window.of(Measure.RELAY_OUTCOME, name))
        taken, total = outcomes["accepted"], outcomes.total()
        share = f"{'all ' if taken == total else f'{taken} of '}{total} accepted in 24 h"
        mark = "good" if words == {"closed"} else "bad"
        yield Stat(mark, "Relay", name, share if total else "nothing sent in 24 h")


def _sources(
    reports: Sequence[ProcessReport], asked: Collection[str], sources: Collection[str]
) -> Stat:
    words = _circuits("sources", reports)
    count = sum(words.get(name) == {"closed"} for name in asked)
    mark = "good" if count == len(sources) else "warn" if count else "bad"
    return Stat(mark, "Sources", f"{count} of {len(sources)}", "are asked by every process")


def _open_orders(open_orders: Mapping[str, tuple[int, int]], now_ms: int) -> Stat:
    if not open_orders:
        return Stat("good", "Open orders", "0", "none waits")
    waits_ms = now_ms - min(oldest for _, oldest in open_orders.values())
    counts = ", ".join(f"{count} {status}" for status, (count, _) in sorted(open_orders.items()))
    mark = "warn" if waits_ms > LONG_OPEN_MS else "good"
    total = sum(count for count, _ in open_orders.values())
    return Stat(mark, "Open orders", str(total), f"{counts}; the oldest for {age(waits_ms)}")
