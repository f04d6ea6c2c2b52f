"""Check that the service's port is free before it listens.

The workers of the server share a port with SO_REUSEPORT. Without this check, a second service on
the same port would start without an error, and each would get half of the requests.
"""

import contextlib
import errno
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

import click

from quietswap.rules.foreign_text import visible
from quietswap.service.server.shutdown import KILLED_AFTER_S
from quietswap.service.settings import ServerConfig

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
    has_warned = False
    while (problem := _problem(host, port)) is not None:
        if problem != errno.EADDRINUSE or time.monotonic() >= until:
            raise click.ClickException(_occupied(host, port, problem))
        if not has_warned:
            (say or _say)(port, patience)
            has_warned = True
        time.sleep(_LOOK_EVERY_S)


def port_warnings(server: ServerConfig) -> list[str]:
    """Return one line if the port is taken, perhaps by the service that already runs."""
    try:
        problem = _problem(server.host, server.port)
    except click.ClickException as error:
        return [error.format_message()]
    return [] if problem is None else [_occupied(server.host, server.port, problem)]


def _occupied(host: str, port: int, problem: int) -> str:
    text = f"server.host {host} and server.port {port} cannot be listened on: "
    holder = listener_of(port) if problem == errno.EADDRINUSE else None
    return text + os.strerror(problem) + (f" by {holder}" if holder else "")


_LISTENS = "0A"
"""TCP_LISTEN of /proc/net/tcp (proc(5))."""


def listener_of(port: int) -> str | None:
    """Return `process 123 (name)` that listens on a port; None if Linux does not show it to us."""
    sockets = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            rows = (line.split() for line in Path(table).read_text("ascii").splitlines()[1:])
            listening = (row for row in rows if row[3] == _LISTENS)
            sockets |= {r[9] for r in listening if int(r[1].rpartition(":")[2], 16) == port}
    links = {f"socket:[{inode}]" for inode in sockets}
    for file in Path("/proc").glob("[0-9]*/fd/*") if links else ():
        with contextlib.suppress(OSError):  # of another user, or ended meanwhile
            if str(file.readlink()) in links:
                process = file.parts[2]
                name = Path(f"/proc/{process}/comm").read_text("utf-8").strip()
                return f"process {process} ({visible(name)})"
    return None


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
