"""Which node to ask: health, lag and circuit of each, without any I/O."""

import math
from collections.abc import Iterable, Sequence
from urllib.parse import parse_qsl, urlsplit

from quietswap.ports.outside import Clock

_SHORTEST_SECRET = 6
_HEIGHT_LASTS_S = 60.0


class Node:
    """One node's state. `name` is its host alone: paths, queries and passwords carry keys."""

    def __init__(self, url: str, index: int) -> None:
        parts = urlsplit(url)
        self.url = url
        self.index = index
        self.name = f"{parts.hostname or 'node'}#{index + 1}"
        self.proven = False
        """Whether it has shown the right chain id."""
        self.failures = 0
        self.closed_until = -math.inf
        self.height: int | None = None
        self.height_at = -math.inf
        self.lacks: dict[str, float] = {}
        """Methods it said it does not have, and until when that is believed (monotonic s)."""
        secrets = [parts.username, parts.password, *parts.path.split("/")]
        secrets += [value for _, value in parse_qsl(parts.query)]
        self._secrets = [s for s in secrets if s and len(s) >= _SHORTEST_SECRET]

    def masked(self, text: str, limit: int = 200) -> str:
        """Return `text` without this node's URL or keys, printable and of bounded length."""
        for secret in (self.url, *self._secrets):
            text = text.replace(secret, "***")
        return "".join(c if c.isprintable() else " " for c in text[: 4 * limit])[:limit]


class Nodes:
    """The configured nodes in their order; the one that last served well stays first.

    `max_lag` blocks behind the highest other node is too far; `failures` in a row open a node's
    circuit for `pause_s`, after which one failure more opens it again.
    """

    def __init__(
        self, urls: Sequence[str], clock: Clock, *, max_lag: int, failures: int, pause_s: float
    ) -> None:
        if not urls:
            raise ValueError("at least one node URL is needed")
        self.all = [Node(url, index) for index, url in enumerate(urls)]
        self._clock = clock
        self._max_lag = max_lag
        self._failures_allowed = failures
        self._pause_s = pause_s
        self._current = 0

    def usable(self, methods: Iterable[str]) -> list[Node]:
        """Return the nodes worth asking now, best first.

        One that lacks a method is named only when all the others lack one too. One that failed
        lately is asked all the same where there is no other: a pause would only prolong the outage.
        """
        now = self._clock.monotonic()
        level = [n for n in self.all if not self.lags(n)]
        up = [n for n in level if now >= n.closed_until] or level
        up.sort(key=lambda n: (n.index != self._current, n.index))
        wanted = set(methods)
        able = [n for n in up if not any(n.lacks.get(m, -math.inf) > now for m in wanted)]
        return able or up

    def lags(self, node: Node) -> bool:
        """Return whether another node has lately been seen more than `max_lag` blocks ahead."""
        if node.height is None:
            return False
        fresh = self._clock.monotonic() - _HEIGHT_LASTS_S
        seen = (n.height for n in self.all if n.height is not None and n.height_at >= fresh)
        return max(seen, default=node.height) - node.height > self._max_lag

    def served(self, node: Node) -> None:
        """Note a full answer."""
        node.failures, node.closed_until = 0, -math.inf
        self._current = node.index

    def failed(self, node: Node) -> None:
        """Note that a node gave no answer, or half of one."""
        node.failures += 1
        if node.failures >= self._failures_allowed:
            node.closed_until = self._clock.monotonic() + self._pause_s

    def seen_at(self, node: Node, height: int) -> None:
        """Note a node's latest block, which also proves that it lives."""
        node.height, node.height_at = height, self._clock.monotonic()
        node.failures, node.closed_until = 0, -math.inf

    def lacks(self, node: Node, method: str, for_s: float) -> None:
        """Note that a node does not know a method."""
        node.lacks[method] = self._clock.monotonic() + for_s
