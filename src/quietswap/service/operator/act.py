"""Actions of operators: each is stored together with its entry in the audit log."""

import asyncio
import hashlib
import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace

from quietswap.rules.clients import AuditEntry, Client
from quietswap.rules.operator.figures import BUCKET_MS, FigureWindow, Measure
from quietswap.rules.operator.operators import (
    AuditUnavailable,
    FoundOrders,
    Health,
    Operator,
    OperatorSession,
    OrderDetail,
    OrderPlace,
    PausedSource,
    ProcessReport,
)
from quietswap.rules.orders.order import Order
from quietswap.rules.orders.stores import RateStore
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.clients.credentials import hash_secret
from quietswap.service.operator.audit_file import AuditFile
from quietswap.service.storage.clients import ClientStore, KeyStore
from quietswap.service.storage.operator_view import FigureStore, OperatorSearch
from quietswap.service.storage.operators import AuditStore, OperatorStore
from quietswap.service.storage.orders import OrderStore
from quietswap.service.storage.quotes import PausedSourceStore

LONGEST_REASON = 200


class ActionRefused(Exception):
    """Nothing was changed; the message says why."""


class ActionUnrecorded(Exception):
    """It was done, and the database has its entry, but the audit file could not be written."""


class OperatorActions:
    """Revoke keys, pause and resume sources. `sources` are the names of the configured ones.

    `audit_file` records each action, too, if the settings name one. Nothing is done if it cannot be
    opened, or its disk is full. All methods raise ActionRefused, ActionUnrecorded and
    StoreUnavailable.
    """

    def __init__(
        self,
        keys: KeyStore,
        pauses: PausedSourceStore,
        clock: Clock,
        *,
        sources: Collection[str],
        audit_file: AuditFile,
    ) -> None:
        self._keys = keys
        self._pauses = pauses
        self._clock = clock
        self._sources = sources
        self._file = audit_file

    async def revoke_key(self, operator: Operator, key_id: str) -> None:
        """Revoke an API key. Processes refuse it within a second."""
        entry = self._entry(operator, "key_revoked", key=key_id)
        await self._check_file()
        if not await self._keys.revoke(key_id, entry.at_ms, entry):
            raise ActionRefused("there is no live key with this id: it may be revoked already")
        await self._recorded(operator, entry)

    async def pause_source(self, operator: Operator, name: str, reason: str) -> None:
        """Send no more requests to a source. Clients see the reason in `sources` of a quote."""
        reason = checked_reason(reason)
        if name not in self._sources:
            raise ActionRefused("there is no source with this name")
        entry = self._entry(operator, "source_paused", source=name, pauseReason=reason)
        await self._check_file()
        paused = PausedSource(name, entry.at_ms, operator.name, reason)
        if not await self._pauses.pause(paused, entry):
            raise ActionRefused("this source is paused already")
        await self._recorded(operator, entry)

    async def resume_source(self, operator: Operator, name: str) -> None:
        """Send requests to a source again."""
        entry = self._entry(operator, "source_resumed", source=name)
        await self._check_file()
        if not await self._pauses.resume(name, entry):
            raise ActionRefused("this source is not paused")
        await self._recorded(operator, entry)

    def _entry(self, operator: Operator, event: str, **details: str) -> AuditEntry:
        now = self._clock.now_ms()
        who = {"operator": operator.name, "operatorId": operator.id}
        return AuditEntry(f"aud_{now:012x}{secrets.token_hex(6)}", now, who, event, details)

    async def _check_file(self) -> None:
        try:
            await asyncio.to_thread(self._file.check)
        except AuditUnavailable as error:
            raise ActionRefused(f"the audit file cannot be written: {error}") from error

    async def _recorded(self, operator: Operator, entry: AuditEntry) -> None:
        observe.operator_acted(operator.id, entry.event)
        details = {"outcome": "done", **entry.actor, **entry.details}
        try:
            await asyncio.to_thread(lambda: self._file.write(entry.event, **details))
        except AuditUnavailable as error:
            raise ActionUnrecorded(f"the audit file cannot be written: {error}") from error


def checked_reason(text: str) -> str:
    """Return a reason for a pause in one line. Raises ActionRefused."""
    reason = " ".join(text.split())
    if len(reason) > LONGEST_REASON or not reason.isprintable():
        raise ActionRefused(
            f"a reason has at most {LONGEST_REASON} characters, and no invisible ones"
        )
    return reason


# Search over the orders of all clients: by id, hash, wallet, API key or client.


PAGE = 50
"""Orders on one page."""
_HASH = re.compile(r"0x[0-9a-fA-F]{64}")
_WALLET = re.compile(r"0x[0-9a-fA-F]{40}")


@dataclass(frozen=True, slots=True)
class FindOrders:
    """Each search is one range of an index. Raises StoreUnavailable."""

    search: OperatorSearch
    orders: OrderStore
    clients: ClientStore

    async def __call__(self, text: str, after: OrderPlace | None) -> FoundOrders:
        """Return the orders that `text` names, newest first; all orders if it is empty."""
        if not text:
            return _page("newest orders of all clients", await self.search.newest(after, PAGE + 1))
        if _HASH.fullmatch(text):
            return _one("transaction hash", await self.orders.by_hash(text.lower()))
        if _WALLET.fullmatch(text):
            found = await self.search.of_wallet(text, after, PAGE + 1)
            return _page("wallet", found)
        if (order := await self.orders.find(text)) is not None:
            return _one("order id", order)
        return await self._of_owner(text, after)

    async def _of_owner(self, text: str, after: OrderPlace | None) -> FoundOrders:
        key = await self.search.key(text)
        owners = [key.client_id] if key else [one.id for one in await self.clients.find(text)]
        if not owners:  # a session of the wallet page is deleted before its orders
            found = await self.search.of_client(text, after, PAGE + 1)
            return _page(f"client {text}", found) if found else FoundOrders("", ())
        what = f"client of the API key {text}" if key else f"client {owners[0]}"
        if len(owners) > 1:
            what += f", the oldest of {len(owners)} clients with this name"
        return _page(what, await self.search.of_client(owners[0], after, PAGE + 1))

    async def detail(self, order_id: str) -> OrderDetail | None:
        """Return one order with its events; None when unknown."""
        order = await self.orders.find(order_id)
        if order is None:
            return None
        events = await self.orders.events(order_id)
        owners: Sequence[Client] = await self.clients.find(order.client_id)
        name = next((one.name for one in owners if one.id == order.client_id), "")
        return OrderDetail(replace(order, raw=None), events, name)


def _page(what: str, orders: Sequence[Order]) -> FoundOrders:
    if len(orders) <= PAGE:
        return FoundOrders(what, orders)
    last = orders[PAGE - 1]
    return FoundOrders(what, orders[:PAGE], OrderPlace(last.created_at_ms, last.order_id))


def _one(what: str, order: Order | None) -> FoundOrders:
    return FoundOrders(what, ()) if order is None else FoundOrders(what, [replace(order, raw=None)])


# Operators: a secret of 256 random bits opens a session of bounded length in a browser.


class OperatorSessions:
    """Begin, find and end sessions; `lasts_s` is the length of a session in seconds."""

    def __init__(self, operators: OperatorStore, clock: Clock, *, lasts_s: int) -> None:
        self._operators = operators
        self._clock = clock
        self.lasts_s = lasts_s

    async def log_in(self, secret: str) -> tuple[Operator, str] | None:
        """Return the operator and the secret of a new session; None for a wrong secret.

        A wrong secret takes the same steps as one that is revoked or malformed. Raises
        StoreUnavailable.
        """
        operator = await self._operators.live(hash_secret(secret))
        if operator is None:
            observe.operator_refused()
            return None
        session, now = f"qt_{secrets.token_hex(32)}", self._clock.now_ms()
        ends = now + self.lasts_s * 1000
        if not await self._operators.begin_session(operator.id, hash_secret(session), now, ends):
            observe.operator_refused()  # revoked between the two statements
            return None
        observe.operator_logged_in(operator.id)
        return operator, session

    async def find(self, session: str) -> OperatorSession | None:
        """Return the live session with this secret. Raises StoreUnavailable."""
        return await self._operators.session(hash_secret(session), self._clock.now_ms())

    async def log_out(self, session: str) -> None:
        """End a session. Raises StoreUnavailable."""
        await self._operators.end_session(hash_secret(session))


def form_token(session: str) -> str:
    """Return the token that each form of a session holds against forged requests.

    It is derived from the session's secret, which no page contains: who reads a page cannot use
    the session.
    """
    return hmac.new(session.encode(), b"operator form", hashlib.sha256).hexdigest()


# Figures of the last hours, in at most 57 slots whatever their number.


REPORTS_S = 60
"""A process that reported within so many seconds is shown."""
_HOUR_MS = 3_600_000
_SLOTS = 56
_HOURS_A_SECOND = 12
"""A day is kept for 2 seconds, a week for 14: a longer one costs more and changes less."""


class ReadFigures:
    """Reads what all processes stored. Raises StoreUnavailable.

    A window is kept for a moment, so that many open pages cost no more than one.
    """

    def __init__(self, figures: FigureStore, clock: Clock) -> None:
        self._figures = figures
        self._clock = clock
        self._kept: dict[tuple[tuple[Measure, ...], int], tuple[float, FigureWindow]] = {}

    async def __call__(self, measures: Sequence[Measure], hours: int) -> FigureWindow:
        """Return the figures of the last `hours`, one of a few lengths."""
        place, moment = (tuple(measures), hours), self._clock.monotonic()
        ends, window = self._kept.get(place, (moment, None))
        if window is None or not moment < ends:
            now = self._clock.now_ms()
            since, step = now - hours * _HOUR_MS, step_of(hours)
            rows = await self._figures.read(measures, since, step)
            window = FigureWindow(since, now, step, rows)
            self._kept[place] = moment + hours / _HOURS_A_SECOND, window
        return window

    async def reports(self) -> Sequence[ProcessReport]:
        """Return the last reports of the processes that run."""
        return await self._figures.reports(self._clock.now_ms() - REPORTS_S * 1000)

    async def changes(self) -> int:
        """Return a number that changes when any process counted something."""
        found = await self._figures.changes(self._clock.now_ms() - REPORTS_S * 1000)
        return hash(tuple(sorted(found.items())))


def step_of(hours: int) -> int:
    """Return the length of a slot in ms: a multiple of the stored ten minutes."""
    buckets = -(-hours * _HOUR_MS // (BUCKET_MS * _SLOTS))
    return buckets * BUCKET_MS


# What the pages read and do.


@dataclass(frozen=True, slots=True)
class OperatorParts:
    """The stores and the use cases of one process; those that read raise StoreUnavailable."""

    search: OperatorSearch
    sessions: OperatorSessions
    orders: FindOrders
    figures: ReadFigures
    actions: OperatorActions
    paused_sources: PausedSourceStore
    audit: AuditStore
    health: Callable[[], Awaitable[Health]]
    guesses: RateStore
    is_stopping: Callable[[], bool]
