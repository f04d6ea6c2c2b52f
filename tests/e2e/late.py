"""A proxy before one venue that passes an answer on only when a test lets it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests import loopback
from tests.waiting import WITHIN_S


class _Handler(BaseHTTPRequestHandler):
    server: "LateServer"

    def do_GET(self) -> None:
        reply = loopback.get(self.server.upstream + self.path, timeout=WITHIN_S)
        self.server.hold()
        self.send_response(reply.status_code)
        self.send_header("Content-Type", reply.headers["content-type"])
        self.send_header("Content-Length", str(len(reply.content)))
        self.end_headers()
        self.wfile.write(reply.content)

    def log_message(self, *_: object) -> None:
        pass


class LateServer(ThreadingHTTPServer):
    """Asks `upstream` at once, and answers when `hold` returns."""

    daemon_threads = True

    def __init__(self, upstream: str, hold: Callable[[], None]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = upstream
        self.hold = hold

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def late(upstream: str, hold: Callable[[], None]) -> Iterator[LateServer]:
    """Run it for the length of a `with` block."""
    with LateServer(upstream, hold) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
