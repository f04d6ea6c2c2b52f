"""Trial TLS handshake with the two TLS files, by granian in a separate process.

granian aborts its process when it rejects a file, so only a trial proves that it accepts them.
`python -m quietswap.service.server.trial_handshake CERTIFICATE KEY` exits with 0 after a handshake.
"""

import asyncio
import os
import re
import socket
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

_WITHIN_S = 20.0
_ASK_EVERY_S = 0.02
_HERE = "127.0.0.1"
_REASON = re.compile(r"an `Err` value: (.+)")


def trial_fault(certificate: str, key: str) -> str | None:
    """Return why granian cannot serve with these PEM files; None if it can."""
    command = (sys.executable, "-m", "quietswap.service.server.trial_handshake", certificate, key)
    try:
        done = subprocess.run(  # noqa: S603  our own command line
            command, capture_output=True, text=True, timeout=_WITHIN_S, check=False
        )
    except subprocess.TimeoutExpired:
        return "no TLS handshake was made in time"
    except OSError as error:
        return f"they could not be tried: {error.strerror}"
    if done.returncode == 0:
        return None
    reason = _REASON.search(done.stderr)
    return reason[1] if reason else f"the trial ended with exit code {done.returncode}"


async def _nothing(scope: Any, receive: Any, send: Any) -> None:
    """Empty application: the trial sends no request."""


async def _handshake(port: int) -> bytes | None:
    """Return the served certificate (DER) once the server listens."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    while True:
        try:
            _, writer = await asyncio.open_connection(_HERE, port, ssl=context)
        except ConnectionRefusedError:
            await asyncio.sleep(_ASK_EVERY_S)
            continue
        served: bytes | None = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.close()
        return served


async def _serve_once(certificate: str, key: str) -> None:
    from granian.constants import HTTPModes, Interfaces, SSLProtocols
    from granian.server.embed import Server

    with socket.socket() as probe:
        probe.bind((_HERE, 0))
        port = probe.getsockname()[1]
    server = Server(
        _nothing,
        address=_HERE,
        port=port,
        interface=Interfaces.ASGINL,
        websockets=False,
        log_enabled=False,
        http=HTTPModes.http1,
        ssl_cert=Path(certificate),
        ssl_key=Path(key),
        ssl_protocol_min=SSLProtocols.tls13,
    )
    serving = asyncio.create_task(server.serve())
    asking = asyncio.create_task(_handshake(port))
    await asyncio.wait({serving, asking}, return_when=asyncio.FIRST_COMPLETED)
    os._exit(0 if asking.done() and asking.exception() is None and asking.result() else 1)


if __name__ == "__main__":
    asyncio.run(_serve_once(*sys.argv[1:3]))
