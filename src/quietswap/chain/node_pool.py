"""Choice of the node to call: health, lag and circuit breaker of each node. No I/O."""

import math
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from cachetools import TTLCache

from quietswap.clock import Clock
from quietswap.concurrency import CircuitBreaker
from quietswap.http_client import secrets_of

_HEIGHT_TTL_S = 60.0
_UNSUPPORTED_TTL_S = 15.0
_METHODS = 64
"""Methods per node that are remembered as unsupported; the service calls about 12."""


class NodeHealth:
    """State of one node. `name` is the host only: path, query and password may contain keys.

    `failures` in a row open its circuit for `pause_s`; after that, one further failure does.
    """

    def __init__(
        self,
        url: str,
        index: int,
        clock: Clock,
        *,
        failures: int,
        pause_s: float,
        most_calls: int,
    ) -> None:
        parts = urlsplit(url)
        self.url = url
        self.index = index
        self.name = f"{parts.hostname or 'node'}#{index + 1}"
        self.proven = False
        """Whether it returned the expected chain id."""
        self.circuit = CircuitBreaker(clock, failures=failures, pause_s=pause_s)
        self.height: int | None = None
        self.height_at = -math.inf
        self.lacks: TTLCache[str, None]
        self.lacks = TTLCache(_METHODS, _UNSUPPORTED_TTL_S, timer=clock.monotonic)
        """Methods that it does not support."""
        self.most_calls = most_calls
        """Calls in one batch: the setting, or less as its refusals taught."""
        self._secrets = secrets_of(url)

    def masked(self, text: str, limit: int = 200) -> str:
        """Return at most `limit` printable characters of `text`, without URL and keys."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return "".join(c if c.isprintable() else " " for c in text[: 4 * limit])[:limit]


class NodePool:
    """The configured nodes in their order; the last node with a complete response comes first.

    A node more than `max_lag` blocks behind the highest other node lags.
    """

    def __init__(self, nodes: Sequence[NodeHealth], clock: Clock, *, max_lag: int) -> None:
        if not nodes:
            raise ValueError("at least one node URL is needed")
        self.all = nodes
        self._clock = clock
        self._max_lag = max_lag
        self._current = 0

    def usable(self, methods: Iterable[str]) -> list[NodeHealth]:
        """Return the nodes to try now, best first.

        A node without one of the methods is used only if all others lack one too. A node with an
        open circuit is used if there is no other: a pause would only prolong the outage.
        """
        level = [n for n in self.all if not self.lags(n)]
        up = [n for n in level if not n.circuit.is_open] or level
        up.sort(key=lambda n: (n.index != self._current, n.index))
        wanted = set(methods)
        able = [n for n in up if wanted.isdisjoint(n.lacks)]
        return able or up

    def lags(self, node: NodeHealth) -> bool:
        """Return whether another node was more than `max_lag` blocks ahead within 60 s."""
        if node.height is None:
            return False
        fresh = self._clock.monotonic() - _HEIGHT_TTL_S
        seen = (n.height for n in self.all if n.height is not None and n.height_at >= fresh)
        return max(seen, default=node.height) - node.height > self._max_lag

    def served(self, node: NodeHealth) -> None:
        node.circuit.record_success()
        self._current = node.index

    def seen_at(self, node: NodeHealth, height: int) -> None:
        """Record the latest block of a node, which also proves that it responds."""
        node.height, node.height_at = height, self._clock.monotonic()
        node.circuit.record_success()
