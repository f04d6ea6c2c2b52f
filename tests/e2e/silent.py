"""An upstream that takes requests and never answers, until it is told to hang up."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests import loopback
from tests.waiting import WITHIN_S, wait_until


class _Handler(BaseHTTPRequestHandler):
    server: "SilentServer"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.heard.append(body.decode())
        if self.server.about in body.decode().lower():
            self.do_GET()
        else:
            self._pass_on(body)

    def do_GET(self) -> None:
        self.server.heard.append(self.requestline)
        self.server.over.wait()
        self.close_connection = True

    def _pass_on(self, body: bytes) -> None:
        kind = {"Content-Type": "application/json"}
        reply = loopback.post(self.server.behind, content=body, headers=kind, timeout=WITHIN_S)
        self.send_response(reply.status_code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply.content)))
        self.end_headers()
        self.wfile.write(reply.content)

    def log_message(self, *_: object) -> None:
        pass


class SilentServer(ThreadingHTTPServer):
    """Keeps what it was sent. A POST without the text `about` is answered by the URL `behind`."""

    daemon_threads = True

    def __init__(self, about: str, behind: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.about, self.behind = about.lower(), behind
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
def silence(about: str = "", behind: str = "") -> Iterator[SilentServer]:
    """Run a silent server for the length of a `with` block, by default silent about everything."""
    with SilentServer(about, behind) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.hang_up()
            server.shutdown()
            thread.join()
