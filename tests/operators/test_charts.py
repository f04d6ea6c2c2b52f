"""The charts of the operator view: both axes, and figures that are those of the database."""

import re
from datetime import UTC, datetime
from html import unescape

import httpx
import pytest

from quietswap.rules.operator.figures import FigureWindow, Measure, check_detail
from quietswap.service.operator.chart import Series, chart
from tests.operators.conftest import Office
from tests.operators.test_pages import count, text_of

HOUR_MS = 3_600_000
STEP_MS = HOUR_MS // 2
"""Of a day's charts."""
NOON = 1_800_014_400_000
"""2027-01-15 12:00 UTC."""
Table = list[list[str]]


def tables(answer: httpx.Response) -> list[tuple[str, Table]]:
    """Return the title of each chart with the rows of its table, the header first."""
    assert answer.status_code == 200, answer.text
    found = re.findall(r"<details>.*?<caption[^>]*>(.*?)</caption>(.*?)</details>", answer.text)
    return [
        (
            title,
            [
                [unescape(re.sub(r"<[^>]+>", "", cell)) for cell in re.split(r"</t[dh]>", row)[:-1]]
                for row in re.findall(r"<tr>(.*?)</tr>", rows)
            ],
        )
        for title, rows in found
    ]


async def shown(desk: httpx.AsyncClient, path: str) -> dict[str, Table]:
    return dict(tables(await desk.get(f"/operator{path}")))


def slot(office: Office, hours_ago: int = 0) -> str:
    """Return the begin of the slot of a day's chart, as pages write it."""
    at = (office.clock.now_ms() - hours_ago * HOUR_MS) // STEP_MS * STEP_MS
    return f"{datetime.fromtimestamp(at / 1000, UTC):%d %b %H:%M}"


async def test_orders_are_charted_by_the_time_and_kind_of_their_end(
    office: Office, desk: httpx.AsyncClient
) -> None:
    now, past = slot(office), slot(office, 5)
    office.clock.ms -= 5 * HOUR_MS
    await count(
        office,
        (Measure.ORDER_MOVED, "submitted", "relay_accepted", 0, 9),
        (Measure.ORDER_MOVED, "confirmed", "included", 0, 7),
        (Measure.ORDER_MOVED, "failed", "reverted", 0, 1),
    )
    office.clock.ms += 5 * HOUR_MS
    await count(
        office,
        (Measure.ORDER_MOVED, "confirmed", "included", 0, 2),
        (Measure.ORDER_MOVED, "failed", "refused", 0, 1),
        (Measure.ORDER_MOVED, "failed", "not_sent", 0, 2),
        (Measure.ORDER_MOVED, "cancelled", "nonce_taken", 0, 4),
    )
    for path in ("", "/relay"):
        assert (await shown(desk, path))["Orders by outcome"] == [
            [
                "from (UTC)",
                "confirmed",
                "reverted",
                "refused or not sent",
                "replaced by the wallet",
            ],
            [now, "2", "–", "3", "4"],
            [past, "7", "1", "–", "–"],
        ]


async def test_inclusion_and_relays_over_time(office: Office, desk: httpx.AsyncClient) -> None:
    await count(
        office,
        (Measure.INCLUSION_S, "fast", "none", 12, 8),
        (Measure.INCLUSION_S, "fast", "none", 36, 2),
        (Measure.INCLUSION_BLOCKS, "fast", "none", 1, 8),
        (Measure.INCLUSION_BLOCKS, "fast", "none", 3, 2),
        (Measure.RELAY_OUTCOME, "MEV Blocker", "accepted", 0, 5),
        (Measure.RELAY_OUTCOME, "Backup relay", "accepted", 0, 1),
        (Measure.RELAY_OUTCOME, "MEV Blocker", "not_sent", 0, 2),
        (Measure.RELAY_MS, "MEV Blocker", "", 200, 8),
    )
    found, at = await shown(desk, "/relay"), slot(office)
    lines = ["from (UTC)", "median", "p90"]
    assert found["Acceptance to inclusion"] == [lines, [at, "12", "36"]]
    assert found["Blocks to inclusion"] == [lines, [at, "1", "3"]]
    assert found["Answer of the relay"] == [lines, [at, "200", "200"]]
    assert found["Answers of relays"] == [["from (UTC)", "accepted", "not sent"], [at, "6", "2"]]
    overview = await shown(desk, "")
    for title in ("Acceptance to inclusion", "Answers of relays"):
        assert overview[title] == found[title]


async def test_who_won_and_who_promised_too_much(office: Office, desk: httpx.AsyncClient) -> None:
    await count(
        office,
        (Measure.SOURCE_WON, "velora", "", 0, 3),
        (Measure.SOURCE_WON, "kyberswap", "", 0, 1),
        (Measure.SOURCE_CHECK, "velora", "below its promise", 0, 1),
        (Measure.SOURCE_CHECK, "velora", check_detail("answered", -10), 0, 2),
        (Measure.SOURCE_CHECK, "velora", check_detail("answered", -11), 0, 3),
        (Measure.SOURCE_CHECK, "velora", "as promised", 0, 18),
        (Measure.SOURCE_CHECK, "velora", "unsafe", 0, 9),
        (Measure.SOURCE_DELIVERED, "velora", "", -2, 8),
        (Measure.SOURCE_DELIVERED, "velora", "", -50, 2),
        (Measure.SOURCE_OUTCOME, "velora", "answered", 0, 9),
        (Measure.SOURCE_OUTCOME, "velora", "timed_out", 0, 1),
        (Measure.SOURCE_OUTCOME, "velora", "no_route", 0, 1),
        sources={"velora": "closed", "kyberswap": "closed"},
    )
    answer, at = await desk.get("/operator/sources"), slot(office)
    found = dict(tables(answer))
    won = [["from (UTC)", "kyberswap", "velora"], [at, "1", "3"]]
    assert found["Quotes by the source that won"] == won
    assert found["Routes below their promise"] == [["from (UTC)", "velora"], [at, "6"]]
    delivered = [["from (UTC)", "median", "worst tenth"], [at, "-2", "-50"]]
    assert found["Delivered against promised"] == delivered
    outcomes = [["from (UTC)", "answered", "anything else"], [at, "9", "2"]]
    assert found["Requests by outcome"] == outcomes
    assert "closed 75.0 % 25.0 %" in text_of(answer), "shares of quotes won, and of routes checked"
    colours = re.findall(r'class="key (s\d)">(kyberswap|velora)<', answer.text)
    assert {*colours} == {("s0", "kyberswap"), ("s1", "velora")}, "one colour in each chart"
    assert (await shown(desk, ""))["Quotes by the source that won"] == won


async def test_the_node_over_time_and_now(office: Office, desk: httpx.AsyncClient) -> None:
    now = office.clock.now_ms()
    await count(
        office,
        (Measure.NODE_ERROR, "rpc#1", "timeout", 0, 2),
        (Measure.NODE_ERROR, "rpc#1", "status", 0, 1),
        (Measure.TRACKER_LAG, "tracker", "", 1, 9),
        (Measure.TRACKER_LAG, "tracker", "", 4, 1),
        (Measure.REORG, "chain", "", 2, 1),
        nodes=[
            {"name": "rpc#1", "height": 88, "readAt": now - 7_000},
            {"name": "rpc#2", "height": 90, "readAt": now},
            {"name": "rpc#3", "height": None, "readAt": None},
        ],
    )
    found, at = await shown(desk, "/node"), slot(office)
    assert found["Lag of the tracker, highest"] == [["from (UTC)", "highest"], [at, "4"]]
    assert found["Failed calls"] == [["from (UTC)", "rpc#1"], [at, "3"]]
    assert found["Reorganisations"] == [["from (UTC)", "reorganisations"], [at, "1"]]
    page = text_of(await desk.get("/operator"))
    for said in (
        "Block of rpc#1 88 2 behind, read 7 s ago",
        "Block of rpc#2 90 0 behind, read 0 s ago",
        "Block of rpc#3 no answer",
    ):
        assert said in page, said


async def test_without_figures_a_chart_says_so(desk: httpx.AsyncClient) -> None:
    for path, charts in (("", 4), ("/relay", 5), ("/node", 3), ("/sources", 8)):
        answer = await desk.get(f"/operator{path}")
        assert answer.text.count("none in this time") == charts
        assert 'role="img"' not in answer.text


def window(hours: int, step_ms: int = STEP_MS) -> FigureWindow:
    return FigureWindow(NOON - hours * HOUR_MS, NOON, step_ms, ())


def labels(drawn: str, axis: str) -> list[str]:
    return re.findall(rf'class="{axis}">([^<]+)<', drawn)


def test_lines_have_levels_and_gaps() -> None:
    values = [None, 10, 40, None, -20]
    drawn = chart("Delivered", "bps", window(2), [Series("median", values, "s0")])
    assert labels(drawn, "value") == ["-20", "0", "20", "40"]
    assert '<path d="M1,50.00H2V0.00H3M4,100.00H5" class="s0">' in drawn
    assert 'aria-label="Delivered: between -20 and 40 bps"' in drawn
    assert 'viewBox="0 0 5 100"' in drawn
    assert "style=" not in drawn


def test_bars_stand_on_each_other() -> None:
    series = [Series("confirmed", [3, None, 1], "good"), Series("reverted", [1, 2, None], "bad")]
    drawn = chart("Orders", "orders", window(1), series, stacked=True)
    assert labels(drawn, "value") == ["0", "1", "2", "3", "4"]
    assert 'd="M0.1,100.00h.8V25.00h-.8zM2.1,100.00h.8V75.00h-.8z" class="good"' in drawn
    assert 'd="M0.1,25.00h.8V0.00h-.8zM1.1,100.00h.8V50.00h-.8z" class="bad"' in drawn
    assert "between 1 and 4 orders" in drawn


@pytest.mark.parametrize(
    ("hours", "step_ms", "times"),
    [
        (6, HOUR_MS // 6, ["06:00", "08:00", "10:00", "12:00"]),
        (24, STEP_MS, ["12:00", "18:00", "00:00", "06:00", "12:00"]),
        (168, 3 * HOUR_MS, ["10 Jan", "12 Jan", "14 Jan"]),
    ],
)
def test_the_axis_of_time_has_round_times(hours: int, step_ms: int, times: list[str]) -> None:
    whole = window(hours, step_ms)
    drawn = chart("T", "s", whole, [Series("median", [1] * len(whole.slots), "s0")])
    assert labels(drawn, "time") == times


@pytest.mark.parametrize(
    ("value", "axis"),
    [
        (0, ["0", "1"]),
        (1, ["0", "1"]),
        (7, ["0", "2", "4", "6", "8"]),
        (1234, ["0", "500", "1,000", "1,500"]),
        (-3, ["-3", "-2", "-1", "0"]),
    ],
)
def test_the_axis_of_value_encloses_round_values_and_zero(value: int, axis: list[str]) -> None:
    drawn = chart("T", "s", window(0), [Series("median", [value], "s0")])
    assert sorted(labels(drawn, "value"), key=lambda t: int(t.replace(",", ""))) == axis
