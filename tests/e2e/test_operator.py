"""The operator view of running services: two processes on one database, and the commands beside."""

import json
import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import forked, loopback
from tests.e2e.conftest import Town, running_town
from tests.e2e.serving import Served, serving
from tests.operators.test_charts import tables
from tests.spec.api_client import ApiClient
from tests.waiting import WITHIN_S, wait_until

STORED = {
    "Orders by outcome": "SELECT status, COUNT(*) FROM orders GROUP BY status",
    "Quotes by the source that won": "SELECT source, COUNT(*) FROM orders GROUP BY source",
}
"""What charts show, as the database counts it. Each quote here became an order."""
PAUSED = "paused by the operator of this service: wrong prices"


def command(town: Town, url: str, *words: str) -> Any:
    """Run an operator's command on a database, and return what it prints."""
    own = {"QUIETSWAP_SETTINGS": town.facts["settingsFile"], "QUIETSWAP_STORAGE__URL": url}
    done = forked.run([*words, "--json"], forked.without_settings() | own)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def log_in(url: str, secret: str) -> httpx.Client:
    """Return a browser's client of an operator who is logged in."""
    url = url.rstrip("/")
    client = loopback.Client(base_url=url, headers={"origin": url}, timeout=WITHIN_S)
    found = re.search(r'name="token" value="(\w+)"', client.get("/operator/login").text)
    assert found
    form = {"token": found[1], "secret": secret}
    assert client.post("/operator/login", data=form).status_code == 303
    return client


def told(served: Served) -> tuple[str, str | None]:
    """Return outcome and reason of velora in a fresh quote."""
    answer = served.town.quote()
    assert answer.status_code == 200, answer.text
    rows: list[dict[str, Any]] = answer.json()["data"]["sources"]
    row = next(row for row in rows if row["source"] == "velora")
    return row["outcome"], row.get("reason")


@pytest.mark.timeout(400)
def test_two_processes_share_pauses_figures_and_sessions(
    town: Town, tmp_path: Path, shared_stores: dict[str, str]
) -> None:
    url = shared_stores["STORAGE__URL"]
    made = command(town, url, "operators", "create", "alice")
    with serving(town, tmp_path, "--workers", "2", **shared_stores) as served:
        client = log_in(served.url, made["secret"])

        def reported() -> set[str]:
            return set(re.findall(r"[\w.-]+:\d+(?=</td>)", client.get("/operator/health").text))

        # each worker reports, and any of them shows the reports of both
        wait_until(lambda: len(reported()) == 2, reported)
        command(town, url, "sources", "pause", "velora", "--reason", "wrong prices")
        said = ("skipped", PAUSED)
        wait_until(lambda: all(told(served) == said for _ in range(4)), lambda: told(served))
        wait_until(lambda: "wrong prices" in client.get("/operator/sources").text)
        command(town, url, "sources", "resume", "velora")
        wait_until(lambda: all(told(served)[0] != "skipped" for _ in range(4)))
        wait_until(lambda: "answered" in client.get("/operator/sources").text)
        # a revocation counts at once, whichever process is asked
        command(town, url, "operators", "revoke", "alice")
        assert {client.get("/operator").status_code for _ in range(6)} == {303}
        client.close()


def test_the_height_of_a_single_node_is_read(town: Town, tmp_path: Path) -> None:
    """Nothing else of the service reads it, however many blocks it follows."""
    started = datetime.now(UTC).replace(microsecond=0)
    with serving(town, tmp_path) as served:
        url = f"sqlite:///{tmp_path / 'own.sqlite3'}"
        client = log_in(served.url, command(town, url, "operators", "create", "alice")["secret"])

        def height() -> int:
            found = re.search(r"#1</td><td[^>]*>(\d+)</td>", client.get("/operator/node").text)
            return int(found[1]) if found else 0

        wait_until(lambda: height() > 0, lambda: client.get("/operator/node").text)
        before = height()
        wait_until(lambda: height() > before, height)
        page = client.get("/operator/node").text
        read, latest = re.findall(r'datetime="([^"]+)"', page)[0], datetime.now(UTC)
        assert started <= datetime.fromisoformat(read) <= latest
        client.close()


def test_the_charts_show_the_stored_orders() -> None:
    with running_town("--block-time", "0.5") as town, ApiClient(town) as desk:
        client = log_in(town.facts["baseUrl"], town.facts["operatorSecret"])
        wallet = desk.wallet()
        for _ in range(3):
            desk.follow(desk.order(wallet)["orderId"], "confirmed")
        file = desk.database_url.removeprefix("sqlite:///")
        with closing(sqlite3.connect(file)) as database:
            stored = {
                (what, str(value), str(n))
                for what, sql in STORED.items()
                for value, n in database.execute(sql)
            }
        assert ("Orders by outcome", "confirmed", "3") in stored

        def charted() -> set[tuple[str, str, str]]:
            found = dict(tables(client.get("/operator")))
            return {
                (title, name, n)
                for title in STORED
                for header, row in [found.get(title, [[], []])]
                for name, n in zip(header[1:], row[1:], strict=True)
            }

        wait_until(lambda: charted() == stored, lambda: (charted(), stored))
        client.close()


def test_the_stream_tells_of_a_change_and_ends_with_the_operator(
    town: Town, tmp_path: Path
) -> None:
    with serving(town, tmp_path) as served:
        url = f"sqlite:///{tmp_path / 'own.sqlite3'}"
        made = command(town, url, "operators", "create", "alice")
        client = log_in(served.url, made["secret"])
        with client.stream("GET", "/operator/stream") as stream:
            lines = stream.iter_lines()
            assert next(lines) == "retry: 3000"
            assert served.town.quote().status_code == 200
            assert next(line for line in lines if line.startswith("event")) == "event: changed"
            command(town, url, "operators", "revoke", "alice")
            assert [line for line in lines if line.startswith("event")][-1] == "event: ended"
        client.close()
        served.stop()


def test_a_stop_ends_streams(town: Town, tmp_path: Path) -> None:
    with serving(town, tmp_path) as served:
        url = f"sqlite:///{tmp_path / 'own.sqlite3'}"
        client = log_in(served.url, command(town, url, "operators", "create", "alice")["secret"])
        with client.stream("GET", "/operator/stream") as stream:
            lines = stream.iter_lines()
            assert next(lines) == "retry: 3000"
            served.server.terminate()
            assert [line for line in lines if line.startswith("event: ended")] == []
        client.close()
        assert served.server.wait(WITHIN_S) == 0


def test_it_can_be_switched_off(town: Town, tmp_path: Path) -> None:
    with serving(town, tmp_path, OPERATOR__ENABLED="false") as served:
        for path in ("", "/login", "/assets/operator.css", "/stream"):
            answer = served.town.api.get(f"/operator{path}")
            assert (answer.status_code, answer.json()["error"]) == (404, "NOT_FOUND")
