"""The limit of an endpoint: the same bytes from memory, by the same server.

Run as `python -m benchmarks.speed.hello PORT FILE`, where the file is the body to send. The answer
carries the headers the service would send.
"""

import os
import sys
from pathlib import Path
from typing import Any

from granian import Granian
from granian.constants import Interfaces, Loops

_BODY = "HELLO_BODY"
_HEADERS = (
    (b"content-type", b"application/json"),
    (b"x-request-id", b"0123456789abcdef"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-ratelimit-limit", b"1000000000"),
    (b"x-ratelimit-remaining", b"999999999"),
    (b"x-ratelimit-reset", b"1800000000"),
)


def create_app() -> Any:
    """Return an ASGI application that always answers the same."""
    body = Path(os.environ[_BODY]).read_bytes()
    headers = [*_HEADERS, (b"content-length", str(len(body)).encode())]
    start = {"type": "http.response.start", "status": 200, "headers": headers}
    end = {"type": "http.response.body", "body": body}

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send(start)
            await send(end)

    return app


def main() -> None:
    """Serve until terminated."""
    os.environ[_BODY] = sys.argv[2]
    Granian(
        "benchmarks.speed.hello:create_app",
        factory=True,
        address="127.0.0.1",
        port=int(sys.argv[1]),
        interface=Interfaces.ASGINL,
        loop=Loops.uvloop,
        workers=1,
        websockets=False,
        log_enabled=False,
    ).serve()


if __name__ == "__main__":
    main()
