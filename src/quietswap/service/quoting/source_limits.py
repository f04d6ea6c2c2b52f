"""Request budget and circuit breaker of one source, both aware of the clients.

No client can use up the budget of the others, and no client can disable a source for the others.
All visitors of the web page together count as one client (`rules/clients.py`). The number of
clients in memory is bounded.
"""

import math
from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from cachetools import LRUCache

from quietswap.rules.clients import VISITORS, Party, party_of
from quietswap.rules.time_units import DAY_MS
from quietswap.rules.vendors.vendor import RequestBudget
from quietswap.service.base.clock import Clock
from quietswap.service.base.concurrency import CircuitBreaker, TokenBucket

_MEMORY_S = 10.0
"""A request counts for the demand of its client for about so long."""
_FIRST_S = 1.0
_HEADROOM = 1.5
"""A share is at most so much above the demand: what nobody asks for is open to all."""
_UNSHARED = 0.1
"""Part of the rate that is no share. It repays the debt of the bucket, and heavy users give it."""


@dataclass(slots=True)
class Demand:
    """Requests a second of one client, granted or not, over the last seconds."""

    since: float
    at: float
    weight: float = 0.0

    def count(self, now: float) -> None:
        self.weight = self.weight * math.exp((self.at - now) / _MEMORY_S) + 1 / _MEMORY_S
        self.at = now

    def per_second(self, now: float) -> float:
        """Return the rate; right from the first request on, and falling while there is none."""
        seen = 1 - math.exp((self.since - now - _FIRST_S) / _MEMORY_S)
        return self.weight * math.exp((self.at - now) / _MEMORY_S) / seen


def shares(demands: Mapping[str, float], per_second: float) -> dict[str, float]:
    """Return requests a second that each client may make whatever the others do.

    The rate is divided by weights that fall with the square of the demand, and no client has much
    more than it asks for. So equal clients have equal shares, and a client that asks for far more
    than its part yields to one that asks for little. `demands` in requests a second, all above 0.
    """
    rates: dict[str, float] = {}
    rising = sorted(demands.items(), key=lambda row: row[1])
    weights = [demand**-2 for _, demand in rising]
    left, squares = per_second, sum(demand**2 for _, demand in rising)
    rests = list(accumulate(reversed(weights)))[::-1]
    for (client, demand), weight, rest in zip(rising, weights, rests, strict=True):
        share = min(demand * _HEADROOM, left * weight / rest)
        left -= share
        rates[client] = max(share - per_second * _UNSHARED * demand**2 / squares, 0.0)
    return rates


ACTIVE_S = 60.0
"""A client with a request within this time has a share of the budget."""
MOST_CLIENTS = 1024
"""Clients in memory, and groups of visitors. Above it the least recently used one is removed."""
LONGEST_WAIT_S = 0.25
"""So long a client waits for its share at most. Its requests do not come at exact intervals."""
_RESERVED_SHARE = 0.1
_RESERVED_FROM_VISITORS = 0.5
_DIVIDED_EVERY_S = 1.0
_FEW = 16
"""With more clients than this, a new one waits for the next division; it has credit until then."""
_LEAST_DEMAND = 1e-6
_LEAST_CREDIT = 2.0
"""Requests. With a capacity of one, the refill between two requests would be lost."""


@dataclass(slots=True)
class _Claim:
    """What a client asks for, its share in requests a second, and its unused share.

    That of all visitors has a claim for each of their addresses.
    """

    demand: Demand
    credit: TokenBucket
    rate: float = 0.0
    members: "OrderedDict[str, _Claim]" = field(default_factory=OrderedDict)


class FairBudget:
    """A token bucket in which each client of the last minute has a share (`shares`).

    Unused shares are available to all, so a single client may use the whole rate. A client below
    its share is served from an empty bucket: the bucket then has a debt of at most one burst, and
    clients above their share wait until it is repaid. The vendor therefore receives at most two
    bursts and the sustained rate, and one request more while visitors of the web page are served: a
    debt that they made does not keep a client waiting. The last tenth of the requests of a day,
    less as the day passes, is reserved for clients that used less than an equal part. Visitors
    leave half of a day's requests to the others.
    """

    def __init__(self, budget: RequestBudget, clock: Clock) -> None:
        self._budget = budget
        self._clock = clock
        self._burst = max(budget.per_second, 1.0)
        self._bucket = TokenBucket(self._burst, clock.monotonic())
        self._claims: OrderedDict[str, _Claim] = OrderedDict()
        self._divided_at = -_DIVIDED_EVERY_S
        self._day = 0
        self._today: Counter[str] = Counter()
        self._visitors_today: Counter[str] = Counter()
        self._total_today = 0

    def take(self, client_id: str) -> float | None:
        """Take one request for a client; return the seconds to wait before it is sent.

        None if the client's budget is used up.
        """
        now = self._clock.monotonic()
        party = party_of(client_id)
        self._bucket.refill(now, self._budget.per_second, self._burst)
        common, own = self._claims_of(party, now)
        if not self._has_day_left(party):
            return None
        wait_s = 0.0
        if self._bucket.tokens < 1:
            if not self._is_entitled(common, own):
                return None
            most = self._burst + (VISITORS in self._claims and not party.is_visitors)
            wait_s = max((1 - self._bucket.tokens - most) / self._budget.per_second, 0.0)
            if wait_s > LONGEST_WAIT_S:
                return None  # the debt would be above `most` for longer than that
            if common is not own:
                common.credit.tokens -= 1
        self._bucket.tokens -= 1
        own.credit.tokens = max(own.credit.tokens - 1, 0.0)
        self._count_today(party)
        return wait_s

    def _is_entitled(self, common: _Claim, own: _Claim) -> bool:
        """Return whether an empty bucket serves the request, because others used up the rest.

        A visitor needs a part of the share of all visitors, however many of them are new.
        """
        has_others = len(self._claims) > 1 or len(common.members) > 1
        return has_others and min(common.credit.tokens, own.credit.tokens) >= 1

    def _claims_of(self, party: Party, now: float) -> tuple[_Claim, _Claim]:
        """Count a request; return the claim of the party and that of its member.

        They are the same one for a client.
        """
        is_new = party.name not in self._claims
        common = own = self._claim(self._claims, party.name, now)
        if party.is_visitors:
            is_new = party.member not in common.members
            own = self._claim(common.members, party.member, now)
        soon = is_new and len(self._claims) + len(common.members) <= _FEW
        if soon or now - self._divided_at >= _DIVIDED_EVERY_S:
            self._divide(now)
        self._refill(common, now, len(self._claims))
        if own is not common:
            self._refill(own, now, len(common.members))
        return common, own

    def _claim(self, claims: "OrderedDict[str, _Claim]", name: str, now: float) -> _Claim:
        """Return the claim with its demand counted.

        No `cachetools.TTLCache`: its operations take 10 µs here, for each source of a quote.
        """
        while claims and now - next(iter(claims.values())).demand.at >= ACTIVE_S:
            claims.popitem(last=False)
        claim = claims.get(name)
        if claim is None:
            first = TokenBucket(max(self._burst, _LEAST_CREDIT), now)
            claim = claims[name] = _Claim(Demand(now, now), first)
        claim.demand.count(now)
        claims.move_to_end(name)
        if len(claims) > MOST_CLIENTS:
            claims.popitem(last=False)
        return claim

    def _refill(self, claim: _Claim, now: float, sharers: int) -> None:
        claim.credit.refill(now, claim.rate, max(self._burst / sharers, _LEAST_CREDIT))

    def _divide(self, now: float) -> None:
        """Set the share of each client. Once a second, because it reads all of them."""
        self._divided_at = now
        _share_out(self._claims, self._budget.per_second, now)
        visitors = self._claims.get(VISITORS)
        if visitors is not None:
            if len(self._claims) == 1:
                visitors.rate = self._budget.per_second
            _share_out(visitors.members, visitors.rate, now)

    def _has_day_left(self, party: Party) -> bool:
        limit, now_ms = self._budget.per_day, self._clock.now_ms()
        if now_ms // DAY_MS != self._day:
            self._day, self._total_today = now_ms // DAY_MS, 0
            self._today.clear()
            self._visitors_today.clear()
        if limit is None:
            return True
        rest = limit - self._total_today
        reserved = _RESERVED_FROM_VISITORS if party.is_visitors else 0.0
        of_one, used = limit / _sharers(self._today, party.name), self._today[party.name]
        if party.is_visitors:
            of_one /= _sharers(self._visitors_today, party.member)
            used = self._visitors_today[party.member]
        if used >= of_one:
            reserved += _RESERVED_SHARE
        rest_of_day = 1 - now_ms % DAY_MS / DAY_MS
        return rest >= 1 and rest - 1 >= int(limit * reserved * rest_of_day)

    def _count_today(self, party: Party) -> None:
        self._total_today += 1
        counts = [(self._today, party.name)]
        if party.is_visitors:
            counts.append((self._visitors_today, party.member))
        for used, name in counts:
            if name in used or len(used) < MOST_CLIENTS:
                used[name] += 1


def _share_out(claims: "OrderedDict[str, _Claim]", per_second: float, now: float) -> None:
    demands = {
        name: max(claim.demand.per_second(now), _LEAST_DEMAND) for name, claim in claims.items()
    }
    for name, rate in shares(demands, per_second).items():
        claims[name].rate = rate


def _sharers(used: "Counter[str]", name: str) -> int:
    """Return between how many a day is divided: those that were here, and one that may come."""
    return len(used) + (name not in used) + 1


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
        client = self._clients.get(client_id)
        return self.is_closed and not (client and client.is_open)

    def asked(self, client_id: str) -> None:
        """Record a request: after the pause it is the only one until it ends."""
        if self._is_for_all():
            self._all.open_for(self._pause_s)
        elif client := self._clients.get(client_id):
            client.probe()

    def answered(self) -> None:
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
        self._all.open_for(seconds)

    def _is_for_all(self) -> bool:
        if not self._clients:
            return False
        failures = [client.failures for client in self._clients.values()]
        return len(failures) > 1 and sum(failures) >= self._threshold


class SourceCircuit:
    """The circuit of the clients, where all visitors are one client, and one of the visitors.

    Timeouts of visitors open the second one, for an address or for all visitors. Only its opening
    counts as a timeout of the first one: whoever opens sessions cannot disable a source for keys.
    """

    def __init__(self, clock: Clock, *, failures: int, pause_s: float) -> None:
        self._clients = Circuit(clock, failures=failures, pause_s=pause_s)
        self._visitors = Circuit(clock, failures=failures, pause_s=pause_s)

    @property
    def is_closed(self) -> bool:
        return self._clients.is_closed

    @property
    def is_answering(self) -> bool:
        return self._clients.is_answering and self._visitors.is_answering

    def admits(self, client_id: str) -> bool:
        return all(circuit.admits(name) for circuit, name in self._of(client_id))

    def asked(self, client_id: str) -> None:
        for circuit, name in self._of(client_id):
            circuit.asked(name)

    def answered(self) -> None:
        self._clients.answered()
        self._visitors.answered()

    def silent(self, client_id: str) -> float | None:
        party = party_of(client_id)
        if party.is_visitors:
            was_closed = self._visitors.is_closed
            opens = self._visitors.silent(party.member) is not None
            if not (opens and was_closed):
                return None
        return self._clients.silent(party.name)

    def pause(self, seconds: float) -> None:
        self._clients.pause(seconds)

    def _of(self, client_id: str) -> list[tuple[Circuit, str]]:
        party = party_of(client_id)
        of_visitors = [(self._visitors, party.member)] if party.is_visitors else []
        return [*of_visitors, (self._clients, party.name)]
