"""Request budget and circuit breaker of one source, both aware of the clients.

No client can use up the budget of the others, and no client can disable a source for the others.
The number of clients in memory is bounded.
"""

from collections import Counter, OrderedDict
from dataclasses import dataclass

from cachetools import LRUCache

from quietswap.ports.clock import Clock
from quietswap.resilience.circuit_breaker import CircuitBreaker
from quietswap.resilience.token_bucket import TokenBucket
from quietswap.services.quoting.fair_shares import Demand, shares

ACTIVE_S = 60.0
"""A client with a request within this time has a share of the budget."""
MOST_CLIENTS = 1024
"""Clients in memory. Above this number the least recently used one is removed."""
_DAY_MS = 86_400_000
_RESERVED_SHARE = 0.1
_DIVIDED_EVERY_S = 1.0
_FEW = 16
"""With more clients than this, a new one waits for the next division; it has credit until then."""
_LEAST_DEMAND = 1e-6
_LEAST_CREDIT = 2.0
"""Requests. With a capacity of one, the refill between two requests would be lost."""


@dataclass(frozen=True, slots=True)
class RequestBudget:
    """Request limits of a vendor: sustained rate and burst `per_second`, and `per_day` or None."""

    per_second: float
    per_day: int | None = None


@dataclass(slots=True)
class _Client:
    """One client: what it asks for, its share in requests a second, and its unused share."""

    demand: Demand
    credit: TokenBucket
    rate: float = 0.0


class FairBudget:
    """A token bucket in which each client of the last minute has a share (`fair_shares`).

    Unused shares are available to all, so a single client may use the whole rate. A client below
    its share is served from an empty bucket: the bucket then has a debt of at most one burst, and
    clients above their share wait until it is repaid. The vendor therefore receives at most two
    bursts and the sustained rate. The last tenth of the requests of a day, less as the day passes,
    is reserved for clients that used less than an equal part.
    """

    def __init__(self, budget: RequestBudget, clock: Clock) -> None:
        self._budget = budget
        self._clock = clock
        self._burst = max(budget.per_second, 1.0)
        self._bucket = TokenBucket(self._burst, clock.monotonic())
        self._clients: OrderedDict[str, _Client] = OrderedDict()
        self._divided_at = -_DIVIDED_EVERY_S
        self._day = 0
        self._today: Counter[str] = Counter()
        self._total_today = 0

    def take(self, client_id: str) -> bool:
        """Take one request for a client; return False if its budget is used up."""
        now = self._clock.monotonic()
        self._bucket.refill(now, self._budget.per_second, self._burst)
        credit = self._credit(client_id, now)
        if not self._has_day_left(client_id):
            return False
        entitled = credit.tokens >= 1 and len(self._clients) > 1
        if self._bucket.tokens - 1 < (-self._burst if entitled else 0):
            return False
        self._bucket.tokens -= 1
        credit.tokens = max(credit.tokens - 1, 0.0)
        self._total_today += 1
        if client_id in self._today or len(self._today) < MOST_CLIENTS:
            self._today[client_id] += 1
        return True

    def _credit(self, client_id: str, now: float) -> TokenBucket:
        """Return the requests that the client may make even if others used up the rest.

        No `cachetools.TTLCache`: its operations take 10 µs here, for each source of a quote.
        """
        clients = self._clients
        while clients and now - next(iter(clients.values())).demand.at >= ACTIVE_S:
            clients.popitem(last=False)
        client = clients.get(client_id)
        is_new = client is None
        if client is None:
            first = TokenBucket(max(self._burst, _LEAST_CREDIT), now)
            client = clients[client_id] = _Client(Demand(now, now), first)
        client.demand.count(now)
        clients.move_to_end(client_id)
        if len(clients) > MOST_CLIENTS:
            clients.popitem(last=False)
        soon = is_new and len(clients) <= _FEW
        if soon or now - self._divided_at >= _DIVIDED_EVERY_S:
            self._divide(now)
        client.credit.refill(now, client.rate, max(self._burst / len(clients), _LEAST_CREDIT))
        return client.credit

    def _divide(self, now: float) -> None:
        """Set the share of each client. Once a second, because it reads all of them."""
        self._divided_at = now
        demands = {
            name: max(client.demand.per_second(now), _LEAST_DEMAND)
            for name, client in self._clients.items()
        }
        for name, rate in shares(demands, self._budget.per_second).items():
            self._clients[name].rate = rate

    def _has_day_left(self, client_id: str) -> bool:
        limit, now_ms = self._budget.per_day, self._clock.now_ms()
        if now_ms // _DAY_MS != self._day:
            self._day, self._total_today = now_ms // _DAY_MS, 0
            self._today.clear()
        if limit is None:
            return True
        left = limit - self._total_today
        clients = len(self._today) + (client_id not in self._today)
        equal_part = limit / (clients + 1)
        if self._today[client_id] < equal_part:
            return left >= 1
        rest_of_day = 1 - now_ms % _DAY_MS / _DAY_MS
        return left - 1 >= int(limit * _RESERVED_SHARE * rest_of_day)


class Circuit:
    """Circuit breaker of one source, for all clients and for each client.

    It combines one CircuitBreaker for all clients with one per client, because a single breaker
    would let one client disable the source. `failures` timeouts in a row of one client open it for
    that client only, because its requests may be the cause. Timeouts of two or more clients that
    reach `failures` together open it for all. After `pause_s` one request probes. Any answer closes
    it.
    """

    def __init__(self, clock: Clock, *, failures: int, pause_s: float) -> None:
        self._clock = clock
        self._threshold = failures
        self._pause_s = pause_s
        self._all = CircuitBreaker(clock, failures=failures, pause_s=pause_s)
        self._clients: LRUCache[str, CircuitBreaker] = LRUCache(MOST_CLIENTS)

    @property
    def is_closed(self) -> bool:
        """Whether it is closed for clients without a failure of their own."""
        return not self._all.is_open

    @property
    def is_answering(self) -> bool:
        """Whether it is closed for every client."""
        return self.is_closed and not any(client.is_open for client in self._clients.values())

    def admits(self, client_id: str) -> bool:
        """Return whether this client may send a request now."""
        client = self._clients.get(client_id)
        return self.is_closed and not (client and client.is_open)

    def asked(self, client_id: str) -> None:
        """Record a request: after the pause it is the only one until it ends."""
        if self._is_for_all():
            self._all.open_for(self._pause_s)
        elif client := self._clients.get(client_id):
            client.probe()

    def answered(self) -> None:
        """Record an answer of any kind."""
        if self._clients:  # `clear` of an empty cache raises and catches two exceptions
            self._clients.clear()
        self._all.record_success()

    def silent(self, client_id: str) -> float | None:
        """Record a timeout; return the pause in seconds if it opens the circuit for all clients."""
        if client_id not in self._clients:
            self._clients[client_id] = CircuitBreaker(
                self._clock, failures=self._threshold, pause_s=self._pause_s
            )
        self._clients[client_id].record_failure()
        if not self._is_for_all():
            return None
        self._all.open_for(self._pause_s)
        return self._pause_s

    def pause(self, seconds: float) -> None:
        """Open the circuit for all clients."""
        self._all.open_for(seconds)

    def _is_for_all(self) -> bool:
        if not self._clients:
            return False
        failures = [client.failures for client in self._clients.values()]
        return len(failures) > 1 and sum(failures) >= self._threshold
