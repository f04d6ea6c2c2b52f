"""Check that the service's port is free before it listens.

The workers of the server share a port with SO_REUSEPORT. Without this check, a second service on
the same port would start without an error, and each would get half of the requests.
"""

import errno
import os
import socket
import time
from collections.abc import Callable

import click

from quietswap.app.shutdown import KILLED_AFTER_S

_PATIENCE_S = KILLED_AFTER_S + 2.0
"""After its server process was killed, a worker can finish requests for this time."""
_LOOK_EVERY_S = 0.1


def wait_for_free_port(
    host: str,
    port: int,
    patience_s: float | None = None,
    say: Callable[[int, float], None] | None = None,
) -> None:
    """Wait until the port is free. Raises click.ClickException after `patience_s`.

    `say(port, seconds)` is called once if it has to wait.
    """
    patience = _PATIENCE_S if patience_s is None else patience_s
    until = time.monotonic() + patience
    said = False
    while (problem := _problem(host, port)) is not None:
        if problem != errno.EADDRINUSE or time.monotonic() >= until:
            raise click.ClickException(
                f"server.host {host} and server.port {port} cannot be listened on: "
                f"{os.strerror(problem)}"
            )
        if not said:
            (say or _say)(port, patience)
            said = True
        time.sleep(_LOOK_EVERY_S)


def _say(port: int, seconds: float) -> None:
    click.echo(f"port {port} is in use: waiting {seconds:g} s for it", err=True)


def _problem(host: str, port: int) -> int | None:
    """Return the errno of an exclusive listen on the address; None if it succeeds."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise click.ClickException(f"server.host {host} is no address of this machine") from error
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
            probe.listen()
        except OSError as error:
            return error.errno or errno.EADDRINUSE
    return None
