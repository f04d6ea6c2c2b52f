"""OpenTelemetry traces, if the operator configures a collector.

A trace covers one API request. Background work (tracking, node checks) has metrics, but no traces.
Attributes are names and counts, never an address, a URL, a key or bytes. Spans are sent only to the
collector.
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
"""Longest wait for the export of the last spans at the end of the process."""


class _State:
    tracer: "Tracer | None" = None
    provider: "TracerProvider | None" = None


_state = _State()


def start_traces(endpoint: str, service: str) -> None:
    """Send spans to `endpoint` (full URL of OTLP over HTTP) from now on. Requires `can_trace`.

    The standard environment variables set sampling and headers: OTEL_TRACES_SAMPLER,
    OTEL_EXPORTER_OTLP_HEADERS (https://opentelemetry.io/docs/specs/otel/configuration/
    sdk-environment-variables/). Spans are lost while the collector is unavailable.
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
    """Export the remaining spans, for at most two seconds."""
    provider, _state.tracer, _state.provider = _state.provider, None, None
    if provider is None:
        return
    # A daemon thread does not delay the end of the process if the collector hangs.
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
    """Return `work`, inside a span of this name if the current request is traced."""
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
    """Run `work` in a new trace, or in the client's trace (W3C `traceparent`)."""
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
    """Run `work` in a span. The text of an exception is not recorded: it may be an upstream's."""
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
    """Set the endpoint, the status and the request id of the current span."""
    if _state.tracer is None:
        return
    from opentelemetry import trace

    span = trace.get_current_span()
    span.update_name(endpoint)
    span.set_attributes({"http.response.status_code": status, "quietswap.request": request})
