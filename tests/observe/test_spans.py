"""Spans where no whole service is needed to see them."""

import asyncio
import secrets
from collections.abc import Iterator

import pytest

from quietswap.service import observe
from quietswap.service.base.http_client import HttpClient
from tests.e2e.collector import Collector, attributes, collecting
from tests.upstream import js, listening
from tests.waiting import WITHIN_S


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """Traces switched on in this process, with a collector of their own."""
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
    with collecting() as found:
        observe.start_traces(found.url, "test")
        yield found
        asyncio.run(observe.stop_traces())
    assert not observe.is_tracing()


def wanted() -> tuple[str, list[tuple[bytes, bytes]]]:
    """Return a trace id and the headers of a client that wants its trace."""
    trace_id = secrets.token_hex(16)
    return trace_id, [(b"traceparent", f"00-{trace_id}-{'1' * 16}-01".encode())]


async def test_nothing_of_a_trace_is_sent_upstream(collector: Collector) -> None:
    trace_id, headers = wanted()
    async with listening() as upstream:
        upstream.will(js({}), js({}))
        http = HttpClient()

        async def work() -> None:
            asking = http.get(f"{upstream.url}/quote?key=hush", timeout_s=WITHIN_S)
            await observe.in_span("source", asking, source="velora")
            await http.post(upstream.url, b"{}", timeout_s=WITHIN_S)

        await observe.in_request_span(headers, work())
        await http.close()
    assert len(upstream.asked) == 2
    for asked in upstream.asked:
        assert not {"traceparent", "tracestate", "baggage"} & asked.headers.keys()
    spans = await asyncio.to_thread(collector.trace, trace_id, "request")
    assert {span.name for span in spans} == {"request", "source"}
    assert b"hush" not in b"".join(collector.raw)


async def test_a_failure_is_told_by_its_kind_alone(collector: Collector) -> None:
    trace_id, headers = wanted()

    async def work() -> None:
        raise ValueError("0x02f8 is no transaction")

    with pytest.raises(ValueError, match="0x02f8"):
        await observe.in_request_span(headers, observe.in_span("relay", work(), relay="MEV"))
    spans = await asyncio.to_thread(collector.trace, trace_id, "request")
    assert {span.status.message for span in spans} == {"ValueError"}
    assert all(not span.events for span in spans)
    assert {tuple(attributes(span).items()) for span in spans} == {(), (("relay", "MEV"),)}
    assert b"0x02f8" not in b"".join(collector.raw)


async def test_work_without_a_request_begins_no_trace(collector: Collector) -> None:
    async def work() -> int:
        return 7

    assert await observe.in_span("node", work(), node="a") == 7
    trace_id, headers = wanted()
    await observe.in_request_span(headers, work())
    await asyncio.to_thread(collector.trace, trace_id, "request")
    assert {span.name for span in collector.spans} == {"request"}


async def test_without_a_collector_work_is_left_as_it_is() -> None:
    async def work() -> int:
        return 7

    coroutine = work()
    assert observe.in_span("node", coroutine, node="a") is coroutine
    assert await coroutine == 7
