"""SIGHUP: good settings are taken without losing a request, bad ones change nothing."""

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import trustme

from quietswap.sandbox.ports import free_port
from quietswap.service.storage.file_lock import FileLeaderLock
from tests import forked, loopback
from tests.cli.test_store_check import old_release
from tests.databases import PostgresCluster, RedisServer
from tests.e2e.conftest import Town
from tests.e2e.serving import Served, serving
from tests.e2e.test_tls import _until_it_listens
from tests.forked import Forked
from tests.processes import children
from tests.waiting import WITHIN_S, wait_until

INFO = "/api/v1/mev/wrap/info"


@contextmanager
def reloadable(town: Town, folder: Path, **settings: str) -> Iterator[tuple[Served, Path]]:
    """Serve on a copy of the sandbox's settings, with an audit file."""
    file = folder / "own.toml"
    shutil.copy(town.facts["settingsFile"], file)
    audit = str(folder / "audit.jsonl")
    options = ("--settings", str(file))
    with serving(town, folder, *options, OBSERVE__AUDIT_FILE=audit, **settings) as served:
        yield served, file


def until(true: Callable[[], bool], look_s: float = 0.05) -> None:
    wait_until(true, "it did not happen", look_s)


def reload(served: Served) -> None:
    served.server.send_signal(signal.SIGHUP)


def events(served: Served, name: str) -> list[dict[str, object]]:
    return [line for line in served.lines() if line["event"] == name]


def workers(served: Served) -> set[int]:
    """Return the workers: the children that are not the check before a reload."""
    found = children(served.server.pid)
    return {pid for pid, words in found.items() if "--check" not in words}


def limit(served: Served) -> str | None:
    try:
        return served.town.api.get(INFO).headers.get("X-RateLimit-Limit")
    except httpx.TransportError:  # between two workers
        return None


def test_a_mistake_keeps_the_old_worker_and_the_next_reload_takes(
    town: Town, tmp_path: Path
) -> None:
    with reloadable(town, tmp_path) as (served, file):
        before, good = workers(served), file.read_text("utf-8")
        for mistake, said in (
            (good.replace("[server]", "[server]\nrate_limt = 7"), "server: there is no setting"),
            (good + "\n[", "not a TOML file"),
            # The server was started with --port, and yet would refuse to start with this file.
            (re.sub(r"\nport = \d+", '\nport = "abc"', good, count=1), "server.port: must be"),
            (good.replace("[server]", '[server]\ntls_cert = "/x"\ntls_key = "/x"'), "/x: No such"),
        ):
            seen = len(events(served, "reload_refused"))
            file.write_text(mistake, "utf-8")
            reload(served)
            until(lambda seen=seen: len(events(served, "reload_refused")) > seen)  # type: ignore[misc]
            assert said in str(events(served, "reload_refused")[-1]["faults"])
            assert served.server.poll() is None
            assert workers(served) == before
            assert limit(served) == "300"
        file.write_text(good.replace("[server]", "[server]\nrate_limit = 77"), "utf-8")
        reload(served)
        until(lambda: limit(served) == "77")
        assert workers(served).isdisjoint(before)
        until(lambda: events(served, "settings_loaded")[-1]["occasion"] == "reload")
        served.stop()


def test_the_check_before_a_reload_connects_to_the_stores(tmp_path: Path) -> None:
    variables = {
        "QUIETSWAP_NODE__URLS": "http://127.0.0.1:9",
        "QUIETSWAP_STORAGE__URL": f"sqlite:///{tmp_path / 'nowhere' / 'db.sqlite3'}",
    }
    done = forked.run(["serve", "--check", "--stores", "--json"], os.environ | variables)
    assert done.returncode == 2
    assert json.loads(done.stdout)["ok"] is False
    [fault] = json.loads(done.stdout)["faults"]
    assert fault == f"storage.url: no file can be created in {tmp_path / 'nowhere'}"


def with_database(town: Town, file: Path, database: Path) -> None:
    """Write the sandbox's settings with another database."""
    text = Path(str(town.facts["settingsFile"])).read_text("utf-8")
    url = f'[storage]\nurl = "sqlite:///{database}"\n'
    file.write_text(re.sub(r'\[storage\]\nurl = "[^"]*"\n', lambda _: url, text), "utf-8")


@contextmanager
def on_its_file(town: Town, folder: Path) -> Iterator[tuple[Served, Path]]:
    """Serve on a database that the settings file names, not the environment."""
    folder.mkdir()
    file = folder / "own.toml"
    with_database(town, file, folder / "first.sqlite3")
    with serving(town, folder, SETTINGS=str(file), STORAGE__URL="") as served:
        yield served, file


def test_a_database_that_another_process_serves_from_is_refused(town: Town, tmp_path: Path) -> None:
    with (
        on_its_file(town, tmp_path / "other") as (other, _),
        on_its_file(town, tmp_path / "own") as (served, file),
    ):
        before = workers(served)
        with_database(town, file, tmp_path / "other" / "first.sqlite3")
        reload(served)
        until(lambda: len(events(served, "reload_refused")) == 1)
        assert "another process serves" in str(events(served, "reload_refused")[0]["faults"])
        assert workers(served) == before
        assert served.town.api.get("/healthz").status_code == 200
        free = tmp_path / "free.sqlite3"
        with_database(town, file, free)
        reload(served)
        until(lambda: len(events(served, "reload_refused")) == 2)
        assert f"there is no file {free}" in str(events(served, "reload_refused")[1]["faults"])
        assert workers(served) == before, "a typo creates no new, empty database"
        older = tmp_path / "older.sqlite3"
        old_release(older)
        with_database(town, file, older)
        reload(served)
        until(lambda: len(events(served, "reload_refused")) == 3)
        assert "quietswap migrate" in str(events(served, "reload_refused")[2]["faults"])
        assert workers(served) == before
        with_database(town, file, free)
        free.touch()
        reload(served)
        until(lambda: events(served, "settings_loaded")[-1]["occasion"] == "reload")
        assert workers(served).isdisjoint(before)
        assert served.town.api.get("/healthz").status_code == 200
        other.stop()
        served.stop()


def test_where_the_new_worker_does_not_come_up_the_old_settings_are_served(
    town: Town, tmp_path: Path
) -> None:
    """The database is taken between the check and the start of the new worker."""
    with on_its_file(town, tmp_path / "own") as (served, file):
        taken = tmp_path / "taken.sqlite3"
        lock = FileLeaderLock(taken, "server")
        taken.touch()
        with_database(town, file, taken)
        before = workers(served)
        reload(served)
        until(lambda: taken.with_name("taken.sqlite3.server").exists(), look_s=0.001)
        time.sleep(0.01)  # the check has the lock; it gives it back before the old worker ends
        until(lambda: asyncio.run(lock.acquire_or_renew()), look_s=0.001)
        until(lambda: len(events(served, "reload_refused")) == 1)
        assert "did not come up" in str(events(served, "reload_refused")[0]["faults"])
        until(lambda: limit(served) == "300")  # the key is of the first database
        assert workers(served).isdisjoint(before)
        assert [line["occasion"] for line in events(served, "settings_loaded")] == ["start"]
        asyncio.run(lock.release())
        reload(served)
        until(lambda: events(served, "settings_loaded")[-1]["occasion"] == "reload")
        served.stop()


def test_what_only_a_restart_changes_is_named(town: Town, tmp_path: Path) -> None:
    with reloadable(town, tmp_path) as (served, file):
        text = file.read_text("utf-8").replace("[server]", '[server]\nhost = "127.0.0.2"')
        file.write_text(text, "utf-8")
        before = workers(served)
        reload(served)
        until(lambda: limit(served) == "300" and workers(served).isdisjoint(before))
        until(lambda: events(served, "settings_loaded")[-1]["occasion"] == "reload")
        assert events(served, "settings_loaded")[-1]["needs_restart"] == ["server.host"]
        for line in events(served, "settings_loaded"):  # --port is an option, no variable
            assert "QUIETSWAP_SERVER__PORT" not in str(line["environment"])
        served.stop()


def test_with_shared_stores_no_request_is_lost(town: Town, tmp_path: Path) -> None:
    postgres, redis = PostgresCluster(), RedisServer()
    try:
        stores = {
            "STORAGE__URL": asyncio.run(postgres.migrated()),
            "STORAGE__REDIS_URL": redis.url,
        }
        with reloadable(town, tmp_path, **stores) as (served, file):
            before = workers(served)
            good = file.read_text("utf-8")
            file.write_text(good.replace("[server]", "[server]\nrate_limit = 99999"), "utf-8")
            reload(served)
            codes: set[int] = set()

            def taken() -> bool:
                with loopback.Client(base_url=served.url, headers=served.town.api.headers) as fresh:
                    codes.add(fresh.get(INFO).status_code)  # each on a connection of its own
                return workers(served).isdisjoint(before)

            until(taken)
            assert codes <= {200, 400}
            redis.kill()
            reload(served)
            until(lambda: bool(events(served, "reload_refused")))
            assert "Redis: " in str(events(served, "reload_refused")[-1]["faults"])
            served.stop()
    finally:
        redis.close()
        postgres.close()


def test_a_renewed_certificate_is_served_after_a_reload(tmp_path: Path) -> None:
    authority = trustme.CA()
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"

    def issue() -> bytes:
        leaf = authority.issue_cert("localhost", "127.0.0.1")
        leaf.cert_chain_pems[0].write_to_path(str(cert))
        leaf.private_key_pem.write_to_path(str(key))
        return ssl.PEM_cert_to_DER_cert(cert.read_text("ascii"))

    first, port = issue(), free_port()
    variables = {
        "QUIETSWAP_NODE__URLS": "http://127.0.0.1:9",
        "QUIETSWAP_STORAGE__URL": f"sqlite:///{tmp_path / 'db.sqlite3'}",
    }
    words = ["serve", "--port", str(port), "--tls-cert", str(cert), "--tls-key", str(key)]
    with (tmp_path / "log").open("wb") as log:
        process = Forked(words, os.environ | variables, stderr=log.fileno())
    try:
        _until_it_listens(port, process)
        assert served_certificate(port) == first
        whole = key.read_text()
        key.write_text("")
        process.send_signal(signal.SIGHUP)
        until(lambda: "key.pem is empty" in (tmp_path / "log").read_text("utf-8"))
        assert served_certificate(port) == first
        key.write_text(whole)
        second = issue()
        assert second != first
        process.send_signal(signal.SIGHUP)
        until(lambda: served_certificate(port) == second)
        assert process.poll() is None
    finally:
        process.terminate()
        assert process.wait(WITHIN_S) == 0


def served_certificate(port: int) -> bytes | None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection(("127.0.0.1", port), WITHIN_S) as plain,
            context.wrap_socket(plain) as wrapped,
        ):
            return wrapped.getpeercert(binary_form=True)
    except OSError:
        return None


@pytest.mark.parametrize("option", ["--json", "--stores"])
def test_options_of_the_check_need_it(option: str) -> None:
    done = forked.run(["serve", option], os.environ)
    assert done.returncode == 2
    assert "need --check" in done.stderr
