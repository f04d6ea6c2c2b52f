"""Traces by OpenTelemetry, for an operator who names a collector; else a call of a plain function.

A trace begins with a request of the API and covers what is done for it. What the service does by
itself (following orders, looking at nodes) is in the metrics. Attributes are names and counts,
never an address, a URL, a key or bytes; nothing of a trace is sent to anybody but the collector.
"""

import asyncio
import threading
from collections.abc import Awaitable, Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Tracer

T = TypeVar("T")
Work = Awaitable[T]
Attribute = str | int

_EXPORT_TIMEOUT_S = 2.0
_FLUSH_S = 2.0
"""How long the end of the process waits for the last spans to be taken."""


class _State:
    tracer: "Tracer | None" = None
    provider: "TracerProvider | None" = None


_state = _State()


def start_traces(endpoint: str, service: str) -> None:
    """Send spans to `endpoint` (OTLP over HTTP, the whole URL) from now on, if `can_trace`.

    Sampling and headers are the standard's own environment variables: OTEL_TRACES_SAMPLER,
    OTEL_EXPORTER_OTLP_HEADERS (https://opentelemetry.io/docs/specs/otel/configuration/
    sdk-environment-variables/). A collector that is away costs the spans, and nothing else.
    """
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(
        resource=Resource.create({SERVICE_NAME: service}), shutdown_on_exit=False
    )
    exporter = OTLPSpanExporter(endpoint=endpoint, timeout=_EXPORT_TIMEOUT_S)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    _state.tracer, _state.provider = provider.get_tracer("quietswap"), provider


async def stop_traces() -> None:
    """Send what is left, if the collector takes it in time."""
    provider, _state.tracer, _state.provider = _state.provider, None, None
    if provider is None:
        return
    # A thread that does not hold up the end of the process, whatever the collector does.
    flushing = threading.Thread(target=provider.shutdown, daemon=True)
    flushing.start()
    await asyncio.to_thread(flushing.join, _FLUSH_S)


def can_trace() -> bool:
    """Return whether the extra `otel` is installed."""
    return find_spec("opentelemetry") is not None and find_spec("opentelemetry.sdk") is not None


def is_tracing() -> bool:
    """Return whether spans are sent to a collector."""
    return _state.tracer is not None


def in_span(name: str, work: Work[T], **attributes: Attribute) -> Work[T]:
    """Return `work`, inside a span of this name when the request at hand is traced."""
    if _state.tracer is None:
        return work
    return _in_span(_state.tracer, name, work, attributes)


async def _in_span(
    tracer: "Tracer", name: str, work: Work[T], attributes: dict[str, Attribute]
) -> T:
    from opentelemetry import trace

    if not trace.get_current_span().is_recording():
        return await work
    return await _within(tracer.start_span(name, attributes=attributes), work)


async def in_request_span(headers: Iterable[tuple[bytes, bytes]], work: Work[T]) -> T:
    """Do `work` inside a trace of its own, or inside the client's (W3C `traceparent`)."""
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    if _state.tracer is None:
        return await work
    carrier = {
        name.decode(): value.decode("latin-1")
        for name, value in headers
        if name in {b"traceparent", b"tracestate"}
    }
    begun = TraceContextTextMapPropagator().extract(carrier)
    span = _state.tracer.start_span("request", context=begun, kind=trace.SpanKind.SERVER)
    return await _within(span, work)


async def _within(span: Any, work: Work[T]) -> T:
    """The text of an exception is not recorded: upstreams may have had a hand in it."""
    from opentelemetry import trace

    with trace.use_span(
        span, end_on_exit=True, record_exception=False, set_status_on_exception=False
    ):
        try:
            return await work
        except BaseException as error:
            span.set_status(trace.StatusCode.ERROR, type(error).__name__)
            raise


def name_request(endpoint: str, status: int, request: str) -> None:
    """Say in the trace which endpoint answered what."""
    if _state.tracer is None:
        return
    from opentelemetry import trace

    span = trace.get_current_span()
    span.update_name(endpoint)
    span.set_attributes({"http.response.status_code": status, "quietswap.request": request})
