"""The genuine 0x Settlers, read from the 0x Deployer contract and cached for two minutes."""

from cachetools import TLRUCache

from quietswap.adapters.rpc import multicall
from quietswap.adapters.rpc.client import NodeRpcClient
from quietswap.adapters.rpc.multicall import ViewCall
from quietswap.domain.address import Address
from quietswap.domain.routers import settlers
from quietswap.ports.clock import Clock
from quietswap.resilience.single_flight import SingleFlight

_VIEWS = (
    ViewCall(settlers.DEPLOYER, settlers.OWNER_OF),
    ViewCall(settlers.DEPLOYER, settlers.PREV),
)


class SettlerCache:
    """The current and the previous Settler, read at one block. A node failure is not cached.

    0x replaces a Settler every few weeks, and the previous one stays valid. `ttl_s`: how long a
    Settler that 0x withdrew in an emergency may still be offered, in seconds.
    """

    def __init__(self, rpc: NodeRpcClient, clock: Clock, *, ttl_s: float = 120.0) -> None:
        self._rpc = rpc
        self._clock = clock
        self._in_flight: SingleFlight[None, frozenset[Address]] = SingleFlight()
        self._cache: TLRUCache[None, tuple[frozenset[Address], float]]
        self._cache = TLRUCache(1, lambda _, entry, __: entry[1] + ttl_s, timer=clock.monotonic)

    async def __call__(self) -> frozenset[Address]:
        """Return the genuine Settlers; empty while 0x pauses them. Raises NodeUnavailable."""
        if cached := self._cache.get(None):
            return cached[0]
        return await self._in_flight(None, self._read)

    async def _read(self) -> frozenset[Address]:
        asked_at = self._clock.monotonic()
        found = settlers.genuine(*await multicall.read_views(self._rpc, _VIEWS))
        self._cache[None] = found, asked_at
        return found
