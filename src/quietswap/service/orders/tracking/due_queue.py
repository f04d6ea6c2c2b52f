"""A priority queue of keys by due time, whose entries can be moved and removed."""

import heapq


class DueQueue:
    """Moments are integers: block numbers or Unix milliseconds, as the caller chooses.

    Setting a key again replaces its moment; every operation costs O(log n) at most, amortised.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, str]] = []
        self._moments: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._moments)

    def set(self, key: str, moment: int | None) -> None:
        """Make `key` due at `moment`, which replaces an earlier one; None removes it."""
        if moment is None:
            self._moments.pop(key, None)
        elif self._moments.get(key) != moment:
            self._moments[key] = moment
            heapq.heappush(self._heap, (moment, key))

    def take(self, now: int, limit: int) -> list[str]:
        """Remove and return up to `limit` keys due by `now`, earliest first."""
        due: list[str] = []
        while self._heap and self._heap[0][0] <= now and len(due) < limit:
            moment, key = heapq.heappop(self._heap)
            if self._moments.get(key) == moment:
                del self._moments[key]
                due.append(key)
        return due
