"""How a line of the log is written, where no whole service is needed to see it."""

import asyncio
import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from quietswap.service import observe
from quietswap.service.observe import logs
from quietswap.service.observe.log_output import SOON_S, BufferedLogger
from quietswap.service.settings import ObserveConfig


class Stderr:
    """Standard error of a process, kept."""

    def __init__(self) -> None:
        self.buffer = io.BytesIO()

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.buffer.getvalue().splitlines()]


@pytest.fixture
def stderr(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stderr]:
    """Log as the service does."""
    kept = Stderr()
    monkeypatch.setattr(sys, "stderr", kept)
    monkeypatch.setattr(logs, "log", structlog.get_logger())
    for module in ("events", "requests"):
        monkeypatch.setattr(f"quietswap.service.observe.{module}.log", logs.log)
    library = logging.getLogger("opentelemetry")
    handlers, propagate = library.handlers[:], library.propagate
    observe.write_logs()
    yield kept
    library.handlers[:], library.propagate = handlers, propagate
    monkeypatch.setattr(logs, "_lines", None)
    structlog.reset_defaults()


@pytest.mark.parametrize(
    ("text", "core"),
    [
        ("qs_" + "ab" * 32, "abab"),
        ("0x02f8b1" + "5c" * 60, "5c5c"),
        ("4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318", "4c0883"),
        ("postgresql://user:s3cret@host/name", "s3cret"),
        ("postgresql://user:p@/s3cret@host/name", "s3cret"),
        ("https://s3cret@node.example", "s3cret"),
        (repr(bytes(range(128, 160))), r"\x8a"),
    ],
)
def test_the_text_of_an_unforeseen_exception_is_masked(
    stderr: Stderr, text: str, core: str
) -> None:
    try:
        raise ValueError(f"cannot use {text} here")
    except ValueError as error:
        observe.request_failed("id-1", "swap_order", error)
    [line] = stderr.lines()
    assert line["request"] == "id-1"
    assert "ValueError: cannot use " in line["exception"]
    assert "test_lines.py" in line["exception"]
    assert core not in line["exception"]
    assert "***" in line["exception"]


def test_a_library_that_complains_is_named_and_not_quoted(stderr: Stderr) -> None:
    logging.getLogger("opentelemetry.exporter").error("cannot reach http://u:s3cret@collector")
    [line] = stderr.lines()
    assert line["event"] == "library_complained"
    assert line["library"] == "opentelemetry.exporter"
    assert "s3cret" not in json.dumps(line)


async def test_a_page_that_was_read_is_counted_and_not_logged(stderr: Stderr) -> None:
    labels = {"endpoint": "other", "status": "200", "code": "OK"}
    before = observe.registry.get_sample_value("quietswap_requests_total", labels) or 0
    observe.request_began("id-1")
    observe.request_answered("other", 200, 0.001)
    assert observe.registry.get_sample_value("quietswap_requests_total", labels) == before + 1
    assert stderr.lines() == []
    observe.request_answered("other", 503, 0.001)
    await asyncio.sleep(2 * SOON_S)
    assert [line["status"] for line in stderr.lines()] == [503]


async def test_lines_of_requests_come_together_and_in_order(stderr: Stderr) -> None:
    for number in range(3):
        observe.request_began(f"id-{number}")
        observe.request_answered("order_status", 200, 0.001)
    assert stderr.lines() == []
    await asyncio.sleep(2 * SOON_S)
    assert [line["request"] for line in stderr.lines()] == ["id-0", "id-1", "id-2"]
    observe.request_began("id-3")
    observe.request_answered("order_status", 200, 0.001)
    observe.tracker_waiting("the node is away")
    said = [line["event"] for line in stderr.lines()]
    assert said == ["request_answered"] * 4 + ["tracker_waiting"], (
        "whatever comes next takes it along"
    )


async def test_a_process_that_is_about_to_end_lets_no_line_wait(stderr: Stderr) -> None:
    observe.request_began("id-1")
    observe.request_answered("order_status", 200, 0.001)
    observe.stop_buffering()
    assert len(stderr.lines()) == 1
    observe.request_answered("order_status", 200, 0.001)
    assert len(stderr.lines()) == 2


async def test_several_processes_do_not_tear_each_others_lines(stderr: Stderr) -> None:
    """What the system does not tear apart is 4 KiB a write; no line is ever split over two."""
    writes: list[bytes] = []
    stderr.buffer.write = lambda block: writes.append(bytes(block)) or len(block)  # type: ignore
    lines = BufferedLogger(stderr.buffer)  # type: ignore[arg-type]
    for size in (1_000, 2_000, 1_500, 9_000, 10, 20, 4_000):
        lines.soon(b"x" * size)
    lines.flush()
    assert [len(block) for block in writes] == [3_002, 1_501, 9_001, 4_033]
    assert b"".join(writes).count(b"\n") == 7
    assert all(block.endswith(b"\n") for block in writes)


_LAST_WORDS = """
import asyncio
from quietswap.service import observe

async def main():
    observe.write_logs()
    observe.request_began("the-last")
    observe.request_answered("order_status", 200, 0.001)

asyncio.run(main())
"""


def test_the_end_of_the_process_loses_no_line() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _LAST_WORDS], capture_output=True, text=True, check=True
    )
    assert json.loads(ended.stderr)["request"] == "the-last"


def test_text_for_people_cannot_be_forged(stderr: Stderr, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stderr)
    observe.write_logs(ObserveConfig(log_format="console"))
    observe.source_missed("velora", "bad_reply", 'no\n2026 info\x1b[2J "route"')
    observe.write_logs()
    [line] = stderr.buffer.getvalue().decode().splitlines()
    assert line.endswith(r'reason="no\n2026 info\u001b[2J \"route\""')
    assert " info    source_missed source=velora outcome=bad_reply " in line


async def test_the_length_of_a_stream_is_no_duration_of_an_answer() -> None:
    def counted() -> float | None:
        name, labels = "quietswap_request_seconds_count", {"endpoint": "event_stream"}
        return observe.registry.get_sample_value(name, labels)

    observe.request_answered("event_stream", 410, 0.001)
    before = counted()
    observe.request_answered("event_stream", 200, 3600.0)
    assert before is not None
    assert counted() == before
