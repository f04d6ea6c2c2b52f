"""Relay: its answers, the time from acceptance to inclusion, and what became of orders."""

from collections import Counter
from collections.abc import Iterable, Sequence

from quietswap.operator.chart import chart, counts_of, percentile_lines
from quietswap.operator.figures import (
    FigureRow,
    FigureWindow,
    Measure,
    by_detail,
    by_subject,
    distribution,
)
from quietswap.operator.operators import ProcessReport
from quietswap.operator.page import (
    Child,
    Markup,
    Page,
    element,
    facts,
    joined,
    listed,
    periods,
    share,
    spread,
    table,
)
from quietswap.operator.pages.sources import circuit_text, last_miss
from quietswap.orders.order import OrderEventType

MEASURES = (
    Measure.RELAY_OUTCOME,
    Measure.RELAY_MS,
    Measure.INCLUSION_BLOCKS,
    Measure.INCLUSION_S,
    Measure.ORDER_MOVED,
    Measure.ORDER_RESENT,
    Measure.ORDER_REFUNDED,
)
_ENDS: dict[str, tuple[str, str]] = {
    OrderEventType.INCLUDED: ("confirmed", "good"),
    OrderEventType.REVERTED: ("reverted", "bad"),
    OrderEventType.EXPIRED: ("expired", "s0"),
    OrderEventType.REFUSED: ("refused or not sent", "s3"),
    OrderEventType.NOT_SENT: ("refused or not sent", "s3"),
    OrderEventType.NONCE_TAKEN: ("replaced by the wallet", "quiet"),
}
"""Name and colour of each end of an order."""


def relay_page(
    window: FigureWindow,
    reports: Sequence[ProcessReport],
    *,
    hours: int,
    choices: Sequence[int],
) -> Page:
    """Return the relays, inclusion by endpoint and by tip, and the ends of orders."""
    lines = percentile_lines(window, window.of(Measure.RELAY_MS))
    waiting = chart("Answer of the relay", "ms", window, lines)
    lines = percentile_lines(window, window.of(Measure.INCLUSION_BLOCKS))
    blocks = chart("Blocks to inclusion", "blocks", window, lines)
    return Page(
        "Relay",
        joined(
            element("h2", "Answers to submissions"),
            element("div", answers_chart(window), waiting, class_="cards"),
            _answers(window, reports),
            element("h2", "From acceptance to inclusion"),
            element("div", inclusion_chart(window), blocks, class_="cards"),
            _inclusion(window),
            element("h2", "What became of orders"),
            orders_chart(window),
            ends(window),
        ),
        above=periods("/relay", hours, choices),
    )


def _answers(window: FigureWindow, reports: Sequence[ProcessReport]) -> Markup:
    known = {name for one in reports for name in one.state.get("relays", ())}
    names = sorted(known | {*window.subjects(Measure.RELAY_OUTCOME)})
    rows: list[tuple[Child, ...]] = []
    for name in names:
        outcomes = by_detail(window.of(Measure.RELAY_OUTCOME, name))
        rows.append(
            (
                name,
                str(outcomes.total()),
                share(outcomes["accepted"], outcomes.total()),
                listed([*outcomes.items()]),
                spread(distribution(window.of(Measure.RELAY_MS, name)), "ms"),
                circuit_text("relays", name, reports),
                last_miss(name, reports),
            )
        )
    header = (
        "relay", "submissions", "accepted", "answers", "time: median / p90 / p99", "circuit",
        "took nothing, in its words",
    )  # fmt: skip
    return table(header, rows, caption="Figures of all processes; circuits are each process's")


def _inclusion(window: FigureWindow) -> Markup:
    blocks, seconds = window.of(Measure.INCLUSION_BLOCKS), window.of(Measure.INCLUSION_S)
    groups: list[tuple[str, list[FigureRow], list[FigureRow]]] = [("all", blocks, seconds)]
    groups += [
        (f"endpoint {name}", *_where(blocks, seconds, "subject", name))
        for name in window.subjects(Measure.INCLUSION_BLOCKS)
    ]
    groups += [
        (f"tip {tip}", *_where(blocks, seconds, "detail", tip))
        for tip in sorted({row.detail for row in blocks})
    ]
    rows = [
        (
            name,
            str(sum(row.n for row in some_blocks)),
            spread(distribution(some_blocks), "blocks"),
            spread(distribution(some_seconds), "s"),
        )
        for name, some_blocks, some_seconds in groups
        if some_blocks or name == "all"
    ]
    header = ("orders", "mined", "blocks: median / p90 / p99", "time: median / p90 / p99")
    return table(header, rows, caption="A tip is the highest priority fee per gas of an order")


def _where(
    blocks: Iterable[FigureRow], seconds: Iterable[FigureRow], column: str, value: str
) -> tuple[list[FigureRow], list[FigureRow]]:
    chosen = [[row for row in rows if getattr(row, column) == value] for rows in (blocks, seconds)]
    return chosen[0], chosen[1]


def inclusion_chart(window: FigureWindow) -> Markup:
    """Return the time from the acceptance by a relay to the block."""
    lines = percentile_lines(window, window.of(Measure.INCLUSION_S))
    return chart("Acceptance to inclusion", "s", window, lines)


def answers_chart(window: FigureWindow) -> Markup:
    """Return what relays answered to submissions."""
    rows = window.of(Measure.RELAY_OUTCOME)
    found = counts_of(window, rows, lambda r: r.detail.replace("_", " "), {"accepted": "good"})
    return chart("Answers of relays", "submissions", window, found, stacked=True)


def orders_chart(window: FigureWindow) -> Markup:
    """Return how orders ended, at the time of their end."""
    rows = [row for row in window.of(Measure.ORDER_MOVED) if row.detail in _ENDS]
    styles = dict(_ENDS.values())
    found = counts_of(window, rows, lambda row: _ENDS[row.detail][0], styles)
    return chart("Orders by outcome", "orders", window, found, stacked=True)


def ends(window: FigureWindow) -> Markup:
    """Return the shares of orders that were mined, ended otherwise, were resent or refunded."""
    moves = by_detail(window.of(Measure.ORDER_MOVED))
    mined = moves[OrderEventType.INCLUDED] + moves[OrderEventType.REVERTED]
    ended = sum(moves[one] for one in _ENDS)
    resent = by_subject(window.of(Measure.ORDER_RESENT))
    refunds = by_subject(window.of(Measure.ORDER_REFUNDED))
    return facts(
        [
            ("ended", str(ended)),
            ("mined", f"{mined} ({share(mined, ended)})"),
            ("reverted in a block", str(moves[OrderEventType.REVERTED])),
            ("expired", str(moves[OrderEventType.EXPIRED])),
            ("refused or not sent", str(moves["refused"] + moves["not_sent"])),
            ("replaced by the wallet", str(moves[OrderEventType.NONCE_TAKEN])),
            ("taken back by a reorganisation", str(moves[OrderEventType.REORGANISED])),
            ("times sent again", _total(resent)),
            ("refunded", f"{_total(refunds)} ({share(refunds.total(), mined)} of mined)"),
        ]
    )


def _total(counts: Counter[str]) -> str:
    return f"{counts.total()}: {listed([*counts.items()])}" if counts else "0"
