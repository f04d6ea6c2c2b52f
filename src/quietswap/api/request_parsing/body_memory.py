"""Limits the memory of request bodies: of each client, and of all clients together.

A body counts from its first byte until its request is answered. Without the limit one client
could start hundreds of large bodies and finish none, and each would stay in memory until its
timeout.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from quietswap.domain.party import party_of


class BodyMemoryFull(Exception):
    """A limit would be exceeded: that of one client if `of_client`, else that of all clients."""

    def __init__(self, *, of_client: bool, limit: int) -> None:
        super().__init__(f"more than {limit} bytes of bodies at a time")
        self.of_client = of_client
        self.limit = limit


class BodyMemory:
    """The bytes of bodies held now; `total` and `per_client` are in bytes. One per process.

    Visitors of the web page hold at most half of them, those of one address as much as a client.
    """

    def __init__(self, total: int, per_client: int) -> None:
        self._total = total
        self._per_client = per_client
        self._held = 0
        self._by_client: Counter[str] = Counter()
        self._by_visitors = 0

    @property
    def held(self) -> int:
        """Return the bytes held now."""
        return self._held

    @contextmanager
    def reserve(self, client_id: str) -> "Iterator[BodyReservation]":
        """Yield an empty reservation for one body, released at the end of the `with` block."""
        reservation = BodyReservation(self, client_id)
        try:
            yield reservation
        finally:
            reservation.release()

    def take(self, client_id: str, size: int) -> None:
        """Reserve `size` more bytes. Raises BodyMemoryFull and then reserves none."""
        party = party_of(client_id)
        if self._by_client[party.member] + size > self._per_client:
            raise BodyMemoryFull(of_client=True, limit=self._per_client)
        if party.is_visitors and self._by_visitors + size > self._total // 2:
            raise BodyMemoryFull(of_client=True, limit=self._total // 2)
        if self._held + size > self._total:
            raise BodyMemoryFull(of_client=False, limit=self._total)
        self._held += size
        self._by_client[party.member] += size
        self._by_visitors += size * party.is_visitors

    def give_back(self, client_id: str, size: int) -> None:
        """Release `size` bytes."""
        party = party_of(client_id)
        self._held -= size
        self._by_visitors -= size * party.is_visitors
        self._by_client[party.member] -= size
        if not self._by_client[party.member]:
            del self._by_client[party.member]


class BodyReservation:
    """The bytes of one body."""

    def __init__(self, memory: BodyMemory, client_id: str) -> None:
        self._memory = memory
        self._client_id = client_id
        self._size = 0

    def grow(self, size: int) -> None:
        """Reserve `size` more bytes. Raises BodyMemoryFull."""
        self._memory.take(self._client_id, size)
        self._size += size

    def release(self) -> None:
        """Release all bytes; a second call does nothing."""
        self._memory.give_back(self._client_id, self._size)
        self._size = 0
