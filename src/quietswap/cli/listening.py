"""The address of the service, looked at before it serves.

The server shares a port with whoever shares it too (SO_REUSEPORT), as its own workers do. So a
second service on the port would start without a word, and each would get half of the requests.
"""

import errno
import os
import socket
import time

import click

from quietswap.app.stopping import KILLED_AFTER_S

_PATIENCE_S = KILLED_AFTER_S + 2.0
"""A worker whose server was killed may finish its requests for so long."""
_LOOK_EVERY_S = 0.1


def wait_until_free(host: str, port: int, patience_s: float | None = None) -> None:
    """Return once the address can be had. Raises click.ClickException when it cannot."""
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
            click.echo(f"port {port} is in use: waiting {patience:g} s for it", err=True)
            said = True
        time.sleep(_LOOK_EVERY_S)


def _problem(host: str, port: int) -> int | None:
    """Return the error number of listening there alone; None when it works."""
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
