"""Traces, for whoever named a collector."""

from contextlib import AsyncExitStack

from quietswap import observe
from quietswap.settings.load import BadSettings
from quietswap.settings.schema import Settings


def check_traces(settings: Settings) -> None:
    """Raise BadSettings when there is an endpoint and nothing to send traces with."""
    if settings.observe.otlp_endpoint is not None and not observe.can_trace():
        raise BadSettings("observe.otlp_endpoint: traces need the extra: install quietswap[otel]")


def start_traces(settings: Settings, stack: AsyncExitStack) -> None:
    """Send traces from now on if there is an endpoint, and register their end on `stack`."""
    if settings.observe.otlp_endpoint is not None:
        observe.start_traces(settings.observe.otlp_endpoint, "quietswap")
        stack.push_async_callback(observe.stop_traces)
