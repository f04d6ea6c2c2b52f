"""Configuration of the log: format, level, secrets, and the request of a line."""

import json
import logging
import re
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

import msgspec
import structlog
from structlog.typing import EventDict, WrappedLogger

from quietswap.rules.foreign_text import visible
from quietswap.service.observe.log_output import BufferedLogger
from quietswap.service.settings import ObserveConfig

log = structlog.get_logger("quietswap")


class RequestContext:
    """Data of the current request that log lines may contain."""

    __slots__ = ("client", "client_id", "code", "key", "request", "revoked_key")

    def __init__(self, request: str, client: str | None = None) -> None:
        self.request = request
        self.client = client
        self.key: str | None = None
        self.client_id: str | None = None
        self.revoked_key: str | None = None
        self.code = "OK"


current: ContextVar[RequestContext | None] = ContextVar("current", default=None)
"""Each request runs in its own task. Its child tasks inherit the variable."""


def write_logs(options: ObserveConfig | None = None, *, cached: bool = True) -> None:
    """Write log lines to standard error from now on.

    A process that forks passes `cached=False`, so that its children can configure their log.
    """
    global _lines, _options  # noqa: PLW0603  one process has one standard error
    _options = options or ObserveConfig()
    _lines = lines = BufferedLogger(sys.stderr.buffer)
    level = logging.getLevelNamesMapping()[_options.log_level.upper()]
    structlog.configure(
        processors=[
            _with_request,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            _without_secrets,
            _render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_name: lines,
        cache_logger_on_first_use=cached,
    )
    _take_over("opentelemetry")


def log_nothing() -> None:
    """Disable the log, for commands that print their own results."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


def _with_request(_logger: WrappedLogger, _method: str, line: EventDict) -> EventDict:
    context = current.get()
    if context is not None:
        line.setdefault("request", context.request)
    return line


_SECRET = re.compile(
    r"\bq[rs]_\w+|[0-9a-fA-F]{64,}|(?<=://)\S+(?=@)|(?:\\x[0-9a-f]{2}[^\\]{0,8}){8,}"
)
"""API keys, secrets of RPC URLs, hex with the length of a private key or more, passwords in URLs,
escaped bytes."""


def _without_secrets(_logger: WrappedLogger, _method: str, line: EventDict) -> EventDict:
    """Mask secrets in the text of an unexpected exception."""
    if "exception" in line:
        line["exception"] = _SECRET.sub("***", line["exception"])
    return line


_encoder = msgspec.json.Encoder(enc_hook=repr)


def _render(_logger: WrappedLogger, _method: str, line: EventDict) -> bytes:
    return _as_text(dict(line)) if _options.log_format == "console" else _as_json(line)


def _as_json(line: EventDict) -> bytes:
    """Return one JSON object. A terminal that shows it acts on no character of it."""
    text = _encoder.encode(line)
    return text if text.isascii() else visible(text.decode("utf-8")).encode("utf-8")


def _as_text(line: dict[str, Any]) -> bytes:
    """Return `TIME LEVEL EVENT name=value ...`, followed by the exception."""
    head = [str(line.pop(name, "")) for name in ("timestamp", "level", "event")]
    trouble = line.pop("exception", None)
    rest = [f"{name}={_value(value)}" for name, value in line.items() if value is not None]
    text = " ".join([head[0], f"{head[1]:7}", *head[2:], *rest])
    shown = visible(f"{text}\n{trouble}" if trouble else text, keep="\n")
    return shown.encode("utf-8", "backslashreplace")


def _value(value: object) -> str:
    """Return a value, as a JSON string unless it is one word."""
    text = str(value)
    return text if _WORD.fullmatch(text) else json.dumps(text)


_WORD = re.compile(r"[\w./:+-]+")
_lines: BufferedLogger | None = None
_options = ObserveConfig()


def log_request(**line: object) -> None:
    """Write the line of a request, buffered: this takes a third of the time of `log.info`."""
    if not _options.access_log or _options.log_level in {"warning", "error"}:
        return
    if _lines is None:
        log.info("request_answered", **line)
        return
    now = datetime.now(UTC)
    members = {**line, "event": "request_answered", "level": "info", "timestamp": now}
    _lines.soon(_as_text(members) if _options.log_format == "console" else _as_json(members))


def stop_buffering() -> None:
    """Write each line at once from now on, because the process is about to end."""
    if _lines is not None:
        _lines.stop_buffering()


class _Foreign(logging.Handler):
    """Logs that a library reported a problem, without its text, which may contain keys."""

    def emit(self, record: logging.LogRecord) -> None:
        log.warning("library_complained", library=record.name, line=record.lineno)


def _take_over(library: str) -> None:
    logger = logging.getLogger(library)
    logger.handlers[:] = [_Foreign(logging.WARNING)]
    logger.propagate = False
