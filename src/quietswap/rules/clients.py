"""Clients, their API keys and scopes, limits and usage.

USD amounts are cents, rounded up. A day is a UTC day, counted from 1970-01-01.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum
from functools import lru_cache
from typing import Any

from quietswap.rules import errors
from quietswap.rules.time_units import DAY_MS
from quietswap.rules.tx.address import Address


class KeyScope(StrEnum):
    """What a key may do: `read` only reads and quotes, `trade` also posts."""

    TRADE = "trade"
    READ = "read"


def day_of(now_ms: int) -> int:
    """Return the number of the UTC day of a time in Unix ms."""
    return now_ms // DAY_MS


def day_end_ms(now_ms: int) -> int:
    """Return the end of the UTC day of a time, both in Unix ms."""
    return (day_of(now_ms) + 1) * DAY_MS


def _day_end(now_ms: int) -> dict[str, int]:
    end = day_end_ms(now_ms)
    return {"reset_ms": end, "retry_after": -(-(end - now_ms) // 1000)}


_MOST_CENTS = 10**15
"""More than all money there is. The sum of many still fits into 64 bits of a database."""


def to_cents(usd: Decimal) -> int:
    """Return USD in cents, rounded up. A token can have any price: it is cut at 10^15."""
    if usd >= _MOST_CENTS:
        return _MOST_CENTS
    return min(int((usd * 100).to_integral_value(ROUND_CEILING)), _MOST_CENTS)


@dataclass(frozen=True, slots=True)
class DayUsage:
    """What a client used on one UTC day."""

    quotes: int = 0
    orders: int = 0
    usd_cents: int = 0


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """The limits of one client. None is no limit, an empty list allows every address."""

    requests_per_minute: int | None = None
    quotes_per_day: int | None = None
    open_orders: int | None = None
    usd_cents_per_swap: int | None = None
    usd_cents_per_day: int | None = None
    wallets: frozenset[Address] = frozenset()
    tokens: frozenset[Address] = frozenset()

    def check_trade(self, wallet: Address, tokens: Iterable[Address]) -> None:
        """Raise WalletNotAllowed or TokenNotAllowed for an address outside the allow lists."""
        if self.wallets and wallet not in self.wallets:
            raise errors.WalletNotAllowed(wallet=wallet)
        for token in tokens:
            if self.tokens and token not in self.tokens:
                raise errors.TokenNotAllowed(token=token)

    def check_value(self, usd_cents: int | None) -> None:
        """Check the value of one swap. Raises SwapValueUnknown, SwapValueLimitExceeded."""
        if self.usd_cents_per_swap is None and self.usd_cents_per_day is None:
            return
        if usd_cents is None:
            raise errors.SwapValueUnknown
        limit = self.usd_cents_per_swap
        if limit is not None and usd_cents > limit:
            raise errors.SwapValueLimitExceeded(limit_cents=limit, value_cents=usd_cents)

    def check_unknown(self, wallet: Address) -> None:
        """Check a transaction of unknown content.

        Raises WalletNotAllowed, and TokenNotAllowed or SwapValueUnknown for any limit on tokens or
        USD: it could move any of them.
        """
        self.check_trade(wallet, ())
        if self.tokens:
            raise errors.TokenNotAllowed(token=None)
        if self.usd_cents_per_swap is not None or self.usd_cents_per_day is not None:
            raise errors.SwapValueUnknown(unknown_content=True)

    def check_quotes(self, used: int, now_ms: int) -> None:
        """Check the number of quotes of this day with the new one. Raises QuoteLimitExceeded."""
        if self.quotes_per_day is not None and used > self.quotes_per_day:
            raise errors.QuoteLimitExceeded(limit=self.quotes_per_day, **_day_end(now_ms))

    def check_open_orders(self, count: int) -> None:
        """Check the number of open orders with the new one. Raises OpenOrderLimitExceeded."""
        if self.open_orders is not None and count > self.open_orders:
            raise errors.OpenOrderLimitExceeded(limit=self.open_orders)

    def check_day(self, usd_cents: int, value_cents: int, now_ms: int) -> None:
        """Check the value of this day with the new swap in it. Raises DailyValueLimitExceeded."""
        limit = self.usd_cents_per_day
        if limit is not None and usd_cents > limit:
            raise errors.DailyValueLimitExceeded(
                limit_cents=limit,
                used_cents=usd_cents - value_cents,
                value_cents=value_cents,
                **_day_end(now_ms),
            )


@dataclass(frozen=True, slots=True)
class ClientUsage:
    """Limits of a client and what it used on the UTC day of `at_ms` (Unix ms)."""

    client_id: str
    limits: ClientLimits
    today: DayUsage
    open_orders: int
    at_ms: int


# Who has a share of what is scarce: vendors' budgets, the node, streams, memory for bodies.
#
# Only an operator makes clients. But anybody makes sessions of the web page, and a client makes as
# many RPC URLs as it likes. So shares belong to clients, and all visitors of the page together
# count as one client. Among themselves they share by the address at which their session began.
WEB_SESSION_PREFIX = "web_"
"""Of the ids of clients and keys that are anonymous visitors of the web page."""
VISITORS = "web"
"""Name of the party of all visitors."""
_GROUP_DIGITS = 4
"""Hexadecimal digits in the id of a visitor that its address determines."""


@dataclass(frozen=True, slots=True)
class Party:
    """A client, or all visitors; `member` is the client itself, or the visitors of one address."""

    name: str
    member: str

    @property
    def is_visitors(self) -> bool:
        return self.name == VISITORS


def is_visitor(client_id: str) -> bool:
    """Return whether a client, or its key of the same id, is a session of the web page."""
    return client_id.startswith(WEB_SESSION_PREFIX)


@lru_cache(maxsize=1024)
def party_of(client_id: str) -> Party:
    if is_visitor(client_id):
        return Party(VISITORS, client_id[: len(WEB_SESSION_PREFIX) + _GROUP_DIGITS])
    return Party(client_id, client_id)


def visitor_id(address: str, salt: bytes, unique: str) -> str:
    """Return the client id of a session that begins at a client address.

    It is logged, so it does not tell the address: the hash is short and has a secret salt.
    """
    group = hashlib.blake2b(address.encode(), digest_size=_GROUP_DIGITS // 2, key=salt).hexdigest()
    return f"{WEB_SESSION_PREFIX}{group}{unique}"


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An issued key; the secret itself is never stored, only its hash. Times in Unix ms."""

    id: str
    name: str
    created_at_ms: int
    revoked_at_ms: int | None
    client_id: str
    """The owner of what this key creates."""
    scope: KeyScope = KeyScope.TRADE
    expires_at_ms: int | None = None
    last_used_at_ms: int | None = None
    """To about a minute."""
    is_client_disabled: bool = False
    limits: ClientLimits | None = None
    """Of the client; None without any limit."""
    replaced_by: str | None = None
    """Id of the key that it was rotated to."""

    def state(self, now_ms: int) -> str:
        if self.revoked_at_ms is not None:
            return "revoked"
        if self.expires_at_ms is not None and self.expires_at_ms <= now_ms:
            return "expired"
        return "disabled" if self.is_client_disabled else "live"

    @property
    def is_web_session(self) -> bool:
        return is_visitor(self.id)


@dataclass(frozen=True, slots=True)
class Client:
    """The owner of orders and quotes; it has any number of keys. Times in Unix ms."""

    id: str
    name: str
    created_at_ms: int
    disabled_at_ms: int | None = None

    @property
    def state(self) -> str:
        return "live" if self.disabled_at_ms is None else "disabled"

    @property
    def is_web_session(self) -> bool:
        return is_visitor(self.id)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One action of an administrator. Details are names and ids, never secrets."""

    id: str
    at_ms: int
    actor: Mapping[str, str]
    event: str
    details: Mapping[str, Any]


WEB_SECRET_PREFIX = "qw_"
"""Of a session's secret. A session is no API key for programs, and an API key is no cookie."""


@dataclass(frozen=True, slots=True)
class WebSessionBounds:
    """Most sessions of one client address, and of all together."""

    per_address: int
    total: int
