"""A port in place of the API's usual 8080, which other tests use."""

import secrets
import socket

BELOW_FREE_PORTS = range(10_000, 20_000)
"""`free_port` claims what it returns, and a sandbox then takes its API's port for another's."""


def api_port() -> int:
    """Return a loopback port on which nobody listens and which `free_port` never returns."""
    while True:
        port = secrets.choice(BELOW_FREE_PORTS)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
