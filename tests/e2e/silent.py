"""An upstream that takes every request and never answers, until it is told to hang up."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.waiting import wait_until


class _Handler(BaseHTTPRequestHandler):
    server: "SilentServer"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.heard.append(body.decode())
        self.do_GET()

    def do_GET(self) -> None:
        self.server.heard.append(self.requestline)
        self.server.over.wait()
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


class SilentServer(ThreadingHTTPServer):
    """Keeps what it was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.heard: list[str] = []
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def until_asked(self, text: str) -> None:
        """Return once somebody has sent a request with this text, in any case of letters."""
        wait_until(
            lambda: any(text.lower() in one.lower() for one in [*self.heard]),
            lambda: f"nobody has asked {text}: {self.heard[-9:]}",
        )

    def hang_up(self) -> None:
        """Close every connection without an answer."""
        self.over.set()


@contextmanager
def silence() -> Iterator[SilentServer]:
    """Run a silent server for the length of a `with` block."""
    with SilentServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.hang_up()
            server.shutdown()
            thread.join()
