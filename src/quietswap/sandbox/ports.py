"""The usual ports of a sandbox, so that a client can be configured once."""

import secrets
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from quietswap.sandbox.faults.registry import PRICES, VENUES

API = 8080
"""The port of `quietswap serve` and the client's default."""
_LOOPBACK = "127.0.0.1"
_NODE = 8545
_NEVER_OUTGOING = range(20_000, 32_000)
"""Systems give outgoing connections ports from 32768 (Linux) or 49152 (IANA). One of those that is
free now may be taken a moment later."""
_TRIES = 100
PARTS: Mapping[str, int] = {
    name: _NODE + n
    for n, name in enumerate(("node", "relay", "backup_relay", "control", *VENUES, *PRICES))
}
"""By part name, from anvil's usual 8545."""


def free_port() -> int:
    """Return a free loopback port. Raises OSError if there is none.

    On a system with the usual range for outgoing connections, no connection takes the port before
    a process listens on it.
    """
    for _ in range(_TRIES):
        port = secrets.choice(_NEVER_OUTGOING)
        if _is_free(port):
            return port
    raise OSError(f"no free port from {_NEVER_OUTGOING[0]} to {_NEVER_OUTGOING[-1]}")


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of a sandbox. `api` 0 is a free port; None is 8080, or a free port if in use.

    With `stable`, the parts take their usual ports unless these are in use; else free ports.
    """

    api: int | None = 0
    stable: bool = False

    @contextmanager
    def choose_api(self) -> Iterator[int]:
        """Yield the port of the API. Until the end, no other sandbox chooses 8080.

        The service listens on its port a second after the choice. The claim of it is the UDP port
        of the same number, because a TCP socket would keep the service from listening.
        """
        if self.api is not None:
            yield self.api or free_port()
            return
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as claim:
            yield API if _is_claimed(claim, API) and _is_free(API) else free_port()

    def parts(self) -> Mapping[str, int]:
        """Return the wanted ports by part name."""
        return PARTS if self.stable else {}

    def moved(self, facts: Mapping[str, Any]) -> list[str]:
        """Return a line for each address in `facts` whose port differs from the usual one."""
        wanted = {"baseUrl": ("the API", API)} if self.api is None else {}
        wanted |= {
            "rpcUrl": ("the node", self.parts().get("node", 0)),
            "relayUrl": ("the relay", self.parts().get("relay", 0)),
            "controlUrl": ("the control address", self.parts().get("control", 0)),
        }
        found = ((what, port, urlsplit(facts[name]).port) for name, (what, port) in wanted.items())
        return [
            f"port {port} is in use: {what} is on {actual}"
            for what, port, actual in found
            if port and actual != port
        ]


def _is_claimed(claim: socket.socket, port: int) -> bool:
    try:
        claim.bind((_LOOPBACK, port))
    except OSError:
        return False
    return True


def _is_free(port: int) -> bool:
    try:
        socket.create_server((_LOOPBACK, port)).close()
    except OSError:
        return False
    return True
