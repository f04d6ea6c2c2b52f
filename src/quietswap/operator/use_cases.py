"""What the operator view needs from the application."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from quietswap.clients.client import ApiKey, AuditEntry
from quietswap.operator.figures import FigureWindow, Measure
from quietswap.operator.operators import (
    ClientRow,
    FoundOrders,
    Health,
    Operator,
    OperatorSession,
    OrderDetail,
    OrderPlace,
    PausedSource,
    ProcessReport,
)
from quietswap.orders.stores import RateStore
from quietswap.tokens.token_list import TokenCatalogue


@dataclass(frozen=True, slots=True)
class OperatorUseCases:
    """All raise StoreUnavailable. `refused` is the exception of an action that changed nothing."""

    log_in: Callable[[str], Awaitable[tuple[Operator, str] | None]]
    """By the operator's secret; returns the secret of a new session."""
    session: Callable[[str], Awaitable[OperatorSession | None]]
    log_out: Callable[[str], Awaitable[None]]
    form_token: Callable[[str], str]
    """Returns the token that forms of a session hold."""
    find_orders: Callable[[str, OrderPlace | None], Awaitable[FoundOrders]]
    order: Callable[[str], Awaitable[OrderDetail | None]]
    open_orders: Callable[[], Awaitable[Mapping[str, tuple[int, int]]]]
    """Number and oldest creation (Unix ms) by status."""
    figures: Callable[[Sequence[Measure], int], Awaitable[FigureWindow]]
    """By measures and hours."""
    reports: Callable[[], Awaitable[Sequence[ProcessReport]]]
    changes: Callable[[], Awaitable[int]]
    clients: Callable[[str, tuple[int, str] | None], Awaitable[Sequence[ClientRow]]]
    """By search text and place; one more than a page if there are more."""
    key: Callable[[str], Awaitable[ApiKey | None]]
    paused: Callable[[], Awaitable[Sequence[PausedSource]]]
    health: Callable[[], Awaitable[Health]]
    audit: Callable[[int], Awaitable[Sequence[AuditEntry]]]
    """The latest so many entries, oldest first."""
    revoke_key: Callable[[Operator, str], Awaitable[None]]
    pause_source: Callable[[Operator, str, str], Awaitable[None]]
    resume_source: Callable[[Operator, str], Awaitable[None]]
    refused: type[Exception]
    unrecorded: type[Exception]
    guesses: RateStore
    is_stopping: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class OperatorOptions:
    """`session_s` seconds of a session; `secure`: browsers reach the view over TLS.

    `logins_per_minute`: wrong secrets of one client address; a right one is always accepted.

    `tokens` names tokens and their decimals, for amounts that a person can read.
    """

    sources: tuple[str, ...]
    explorer_url: str
    session_s: int
    logins_per_minute: int
    secure: bool
    tokens: TokenCatalogue
