"""A streamed quote of a real process, with a venue that answers when the test lets it."""

import json
import threading
import tomllib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

from quietswap.rules.tokens.token import WETH
from tests.e2e.conftest import Town
from tests.e2e.late import late
from tests.e2e.serving import serving
from tests.e2e.test_late_venues import LATE, PATIENT, sources
from tests.stored_orders import USDC
from tests.waiting import WITHIN_S, wait_until

pytestmark = pytest.mark.xdist_group("streamed-quote")


@pytest.fixture(scope="module")
def let_go() -> threading.Event:
    """Set it, and the late venue answers."""
    return threading.Event()


@pytest.fixture(scope="module")
def waiting(
    town: Town, tmp_path_factory: pytest.TempPathFactory, let_go: threading.Event
) -> Iterator[Town]:
    settings = tomllib.loads(Path(town.facts["settingsFile"]).read_text("utf-8"))
    with (
        late(settings["source"][LATE]["url"], lambda: wait_until(let_go.is_set)) as at,
        serving(town, tmp_path_factory.mktemp("late"), SOURCE__SUSHI__URL=at.url, **PATIENT) as one,
    ):
        yield one.town


def streamed(town: Town) -> AbstractContextManager[httpx.Response]:
    ask = {"sellToken": WETH, "buyToken": USDC, "sellAmount": str(10**18)}
    ask["userAddress"] = town.facts["wallets"][0]["address"]
    return town.api.stream("GET", "/api/v1/quote/stream", params=ask, timeout=WITHIN_S)


def events(lines: Iterator[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and data of each event."""
    name = ""
    for line in lines:
        field, _, value = line.partition(": ")
        name = value if field == "event" else name
        if field == "data":
            yield name, json.loads(value)


def test_verified_routes_come_while_a_source_is_awaited(
    waiting: Town, let_go: threading.Event
) -> None:
    let_go.clear()
    with streamed(waiting) as answer:
        assert answer.status_code == 200
        coming = events(answer.iter_lines())
        name, first = next(coming)
        assert (name, first["signable"]) == ("route", False)
        assert first["source"] != LATE
        let_go.set()
        *routes, (last, envelope) = coming
    assert {name for name, _ in routes} == {"route"}
    assert (last, envelope["ok"]) == ("answer", True)
    rows = sources(envelope["data"])
    for route in [first, *(route for _, route in routes)]:
        row = rows[route["source"]]
        assert (route["promised"], route["simulated"]) == (row["promised"], row["simulated"])
    assert {first["source"], *(route["source"] for _, route in routes)} == {
        name for name, row in rows.items() if row["outcome"] in ("won", "answered")
    }


def test_a_client_that_goes_away_leaves_a_service_that_quotes(
    waiting: Town, let_go: threading.Event
) -> None:
    let_go.clear()
    with streamed(waiting) as answer:
        next(events(answer.iter_lines()))
    let_go.set()
    assert waiting.quote().status_code == 200
