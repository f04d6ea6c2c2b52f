"""Logs, metrics and traces: one function per event. No other package writes logs or metrics."""

from quietswap.service.observe.events import *  # noqa: F403  each event
from quietswap.service.observe.figures import forget_figures as forget_figures
from quietswap.service.observe.figures import keep_figures as keep_figures
from quietswap.service.observe.figures import return_figures as return_figures
from quietswap.service.observe.figures import take_figures as take_figures
from quietswap.service.observe.logs import log_nothing as log_nothing
from quietswap.service.observe.logs import stop_buffering as stop_buffering
from quietswap.service.observe.logs import write_logs as write_logs
from quietswap.service.observe.metrics import begin as begin
from quietswap.service.observe.metrics import exposition as exposition
from quietswap.service.observe.metrics import registry as registry
from quietswap.service.observe.requests import *  # noqa: F403  each event of a request
from quietswap.service.observe.traces import can_trace as can_trace
from quietswap.service.observe.traces import in_request_span as in_request_span
from quietswap.service.observe.traces import in_span as in_span
from quietswap.service.observe.traces import is_tracing as is_tracing
from quietswap.service.observe.traces import start_traces as start_traces
from quietswap.service.observe.traces import stop_traces as stop_traces
