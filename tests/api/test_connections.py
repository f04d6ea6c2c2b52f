"""How many connections one address holds, with real sockets and without a server."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from ipaddress import ip_network

import pytest

from quietswap.service.server.connections import PATIENCE_S, ConnectionLimits
from tests.manual_clock import ManualClock


class Listener:
    """Accepts connections and does nothing with them."""

    def __init__(self, stack: ExitStack, host: str = "127.0.0.1") -> None:
        self._stack = stack
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = stack.enter_context(socket.create_server((host, 0), family=family))
        self._accepted: list[socket.socket] = []
        self.clock = ManualClock(0)
        self.port: int = self._socket.getsockname()[1]

    def connect(self, count: int, *, source: str = "127.0.0.1") -> list[socket.socket]:
        """Return the clients' ends of new connections from an address."""
        found = []
        for _ in range(count):
            address = ("127.0.0.1" if "." in source else "::1", self.port)
            client = socket.create_connection(address, source_address=(source, 0))
            found.append(self._stack.enter_context(client))
            self._accepted.append(self._stack.enter_context(self._socket.accept()[0]))
        return found

    def limits(self, **changes: object) -> ConnectionLimits:
        options = {"of_address": 5, "total": 1000, "trusted": ()} | changes
        return ConnectionLimits(self.port, self.clock, **options)  # type: ignore[arg-type]


def look(limits: ConnectionLimits, listener: Listener) -> None:
    """Look twice: a connection that is seen for the first time may still get its request."""
    for _ in range(2):
        limits.look()
        listener.clock.advance(PATIENCE_S)


def is_open(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return client.recv(1) != b""
    except BlockingIOError:
        return True


def opened(clients: list[socket.socket]) -> list[bool]:
    return [is_open(client) for client in clients]


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


def test_an_address_keeps_its_newest_connections(stack: ExitStack) -> None:
    listener = Listener(stack)
    limits = listener.limits()
    first = listener.connect(30)
    look(limits, listener)
    assert sum(opened(first)) == 5
    second = listener.connect(30)
    other = listener.connect(4, source="127.0.0.2")
    look(limits, listener)
    assert sum(opened(first + second)) == 5
    assert opened(other) == [True] * 4, "another address has nothing to do with it"


def test_a_connection_with_a_request_stays(stack: ExitStack) -> None:
    listener = Listener(stack)
    limits = listener.limits()
    streams = listener.connect(8)
    peers = [limits.begin(one.getsockname()[:2]) for one in streams]
    idle = listener.connect(3)
    for one in idle:
        limits.end(limits.begin(one.getsockname()[:2]))
    unfinished = listener.connect(30)
    look(limits, listener)
    assert opened(streams) == [True] * 8
    assert opened(idle + unfinished) == [False] * 33
    for peer in peers[:6]:
        limits.end(peer)
    look(limits, listener)
    assert opened(streams).count(True) == 5


def test_a_new_connection_has_time_for_its_request(stack: ExitStack) -> None:
    """A client that shares its address with an attacker is served, too."""
    listener = Listener(stack)
    limits = listener.limits()
    rude = listener.connect(30)
    limits.look()
    listener.clock.advance(PATIENCE_S)
    [polite] = listener.connect(1)
    limits.look()
    assert (sum(opened(rude)), is_open(polite)) == (4, True)


def test_those_that_never_had_a_request_go_first(stack: ExitStack) -> None:
    listener = Listener(stack)
    limits = listener.limits()
    kept = listener.connect(3)
    for one in kept:
        limits.end(limits.begin(one.getsockname()[:2]))
    unfinished = listener.connect(30)
    look(limits, listener)
    assert (opened(kept), sum(opened(unfinished))) == ([True] * 3, 2)


def test_a_trusted_proxy_has_as_many_as_it_needs(stack: ExitStack) -> None:
    listener = Listener(stack)
    limits = listener.limits(trusted=(ip_network("127.0.0.1"),))
    proxy, client = listener.connect(30), listener.connect(9, source="127.0.0.2")
    look(limits, listener)
    assert (sum(opened(proxy)), sum(opened(client))) == (30, 5)


def test_a_crowd_of_addresses_leaves_room_for_the_next(stack: ExitStack) -> None:
    listener = Listener(stack)
    limits = listener.limits(total=50)
    served = listener.connect(4, source="127.0.0.250")
    for one in served:
        limits.end(limits.begin(one.getsockname()[:2]))
    crowd = [one for n in range(1, 21) for one in listener.connect(4, source=f"127.0.0.{n}")]
    limits.look()
    assert (opened(served), sum(opened(crowd))) == ([True] * 4, 41)


def test_an_ipv6_client_is_its_network(stack: ExitStack) -> None:
    listener = Listener(stack, "::1")
    limits = listener.limits()
    streams = listener.connect(2, source="::1")
    for one in streams:
        limits.begin(one.getsockname()[:2])
    unfinished = listener.connect(30, source="::1")
    look(limits, listener)
    assert (opened(streams), sum(opened(unfinished))) == ([True] * 2, 3)


def test_connections_to_others_are_not_touched(stack: ExitStack) -> None:
    listener, node = Listener(stack), Listener(stack)
    limits = listener.limits(of_address=1)
    to_node = node.connect(30)
    listener.connect(3)
    look(limits, listener)
    assert opened(to_node) == [True] * 30
