"""The usual ports of a sandbox, so that a client can be configured once."""

import atexit
import secrets
import socket
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from quietswap.sandbox.faults import PRICES, VENUES

API = 8080
"""The port of `quietswap serve` and the client's default."""
_LOOPBACK = "127.0.0.1"
_NODE = 8545
_NEVER_OUTGOING = range(20_000, 32_000)
"""Systems give outgoing connections ports from 32768 (Linux) or 49152 (IANA). One of those that is
free now may be taken a moment later."""
_TRIES = 100
_MOST_CLAIMS = 64
_claims: deque[socket.socket] = deque()
PARTS: Mapping[str, int] = {
    name: _NODE + n
    for n, name in enumerate(("node", "relay", "backup_relay", "control", *VENUES, *PRICES))
}
"""By part name, from anvil's usual 8545."""


def free_port() -> int:
    """Return a free loopback port. Raises OSError if there is none.

    On a system with the usual range for outgoing connections, no connection takes the port before
    a process listens on it. No other sandbox chooses it either, until this process has chosen 64
    more or has ended.
    """
    for _ in range(_TRIES):
        port = secrets.choice(_NEVER_OUTGOING)
        claim = _claim(port)
        if claim is None:
            continue
        if _is_free(port):
            _claims.append(claim)
            if len(_claims) > _MOST_CLAIMS:
                _claims.popleft().close()
            return port
        claim.close()
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
        """Yield the port of the API. Until the end, no other sandbox chooses 8080."""
        if self.api is not None:
            yield self.api or free_port()
            return
        with _claim(API) or nullcontext() as claim:
            yield API if claim and _is_free(API) else free_port()

    def parts(self) -> Mapping[str, int]:
        return PARTS if self.stable else {}

    def moved(self, facts: Mapping[str, Any]) -> list[str]:
        """Return a line for each address in `facts` whose port differs from the usual one."""
        addresses = {"baseUrl": ("the API", API)} if self.api is None else {}
        addresses |= {
            "rpcUrl": ("the node", self.parts().get("node", 0)),
            "relayUrl": ("the relay", self.parts().get("relay", 0)),
            "controlUrl": ("the control address", self.parts().get("control", 0)),
        }
        actual_ports = (
            (what, port, urlsplit(facts[name]).port) for name, (what, port) in addresses.items()
        )
        return [
            f"port {port} is in use: {what} is on {actual}"
            for what, port, actual in actual_ports
            if port and actual != port
        ]


def _claim(port: int) -> socket.socket | None:
    """Return what keeps other sandboxes from choosing `port`, None if one of them did.

    A process listens on its port up to a second after the choice. The claim is the UDP port of the
    same number, because a TCP socket would keep that process from listening.
    """
    claim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        claim.bind((_LOOPBACK, port))
    except OSError:
        claim.close()
        return None
    return claim


@atexit.register
def _release() -> None:
    while _claims:
        _claims.popleft().close()


def _is_free(port: int) -> bool:
    try:
        socket.create_server((_LOOPBACK, port)).close()
    except OSError:
        return False
    return True
