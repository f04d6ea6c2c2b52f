"""Logs, metrics and traces: one function per event. No other package writes logs or metrics."""

from quietswap.observe.events import *  # noqa: F403  each event
from quietswap.observe.logs import log_nothing as log_nothing
from quietswap.observe.logs import stop_buffering as stop_buffering
from quietswap.observe.logs import write_logs as write_logs
from quietswap.observe.metrics import begin as begin
from quietswap.observe.metrics import exposition as exposition
from quietswap.observe.metrics import registry as registry
from quietswap.observe.requests import *  # noqa: F403  each event of a request
from quietswap.observe.traces import can_trace as can_trace
from quietswap.observe.traces import in_request_span as in_request_span
from quietswap.observe.traces import in_span as in_span
from quietswap.observe.traces import is_tracing as is_tracing
from quietswap.observe.traces import start_traces as start_traces
from quietswap.observe.traces import stop_traces as stop_traces
