"""OpenTelemetry traces, if `observe.otlp_endpoint` is set."""

from contextlib import AsyncExitStack

from quietswap.service import observe
from quietswap.service.server.settings import BadSettings
from quietswap.service.settings import Settings


def check_traces(settings: Settings) -> None:
    """Raise BadSettings if an endpoint is set and the OpenTelemetry packages are missing."""
    if settings.observe.otlp_endpoint is not None and not observe.can_trace():
        raise BadSettings(
            "observe.otlp_endpoint: traces need the extra 'otel': install quietswap again "
            "with it, from the same wheel or index"
        )


def start_traces(settings: Settings, stack: AsyncExitStack) -> None:
    """Start to send traces if an endpoint is set, and register the stop on `stack`."""
    if settings.observe.otlp_endpoint is not None:
        observe.start_traces(settings.observe.otlp_endpoint, "quietswap")
        stack.push_async_callback(observe.stop_traces)
