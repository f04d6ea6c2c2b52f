"""A collector of traces that speaks OTLP over HTTP, and remembers."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.waiting import WITHIN_S


@dataclass
class Collector:
    """`url` is where spans go; `raw` are the bodies as they came."""

    url: str = ""
    spans: list[Span] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    came: threading.Condition = field(default_factory=threading.Condition)

    def take(self, body: bytes) -> None:
        """Read one export."""
        request = ExportTraceServiceRequest.FromString(body)
        with self.came:
            self.raw.append(body)
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    self.spans.extend(scope.spans)
            self.came.notify_all()

    def trace(self, trace_id: str, root: str) -> list[Span]:
        """Return the spans of a trace once the one named `root`, which ends last, is there."""
        wanted = bytes.fromhex(trace_id)

        def found() -> list[Span]:
            spans = [span for span in self.spans if span.trace_id == wanted]
            return spans if any(span.name == root for span in spans) else []

        with self.came:
            assert self.came.wait_for(found, WITHIN_S), [span.name for span in self.spans]
            return found()


@contextmanager
def collecting() -> Iterator[Collector]:
    """Run a collector for the length of a `with` block."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            collector.take(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector.url = f"http://127.0.0.1:{server.server_port}/v1/traces"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def attributes(span: Span) -> dict[str, str | int]:
    """Return a span's attributes as Python values."""
    return {pair.key: pair.value.string_value or pair.value.int_value for pair in span.attributes}
