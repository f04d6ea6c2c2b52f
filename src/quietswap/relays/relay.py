"""A private relay, and its JSON-RPC connection with a timeout and a circuit breaker.

A submission is sent once. No log, error or answer contains the signed bytes or the URL.
"""

import ipaddress
from dataclasses import replace
from typing import Protocol
from urllib.parse import urlsplit, urlunsplit

import msgspec

from quietswap import observe
from quietswap.clock import Clock
from quietswap.concurrency import CircuitBreaker
from quietswap.http_client import ConnectionFailed, HttpClient, HttpError, InvalidBody, secrets_of
from quietswap.orders.received import ReportedRefund
from quietswap.relays.answers import SILENT, RelayOutcome, RelayResponse, classify_response
from quietswap.relays.settings import EndpointType, ShareMode

MAX_ANSWER = 64 * 1024
"""Bytes. The response to one call has a few hundred."""
_NOT_SENT = RelayResponse(RelayOutcome.NOT_SENT, "no connection could be made", serves=False)
_PAUSED = RelayResponse(RelayOutcome.NOT_SENT, "its circuit is open after failed calls")
_FAILURES, _PAUSE_S = 3, 30.0


class Relay(Protocol):
    """A private relay. Receipts, nonces and balances never come from it."""

    @property
    def name(self) -> str:
        """Return its display name."""

    @property
    def is_up(self) -> bool:
        """Return False while its circuit is open, or after several answers that took nothing."""

    @property
    def last_miss(self) -> tuple[int, str] | None:
        """Return when and why it took nothing, with its words; None once it has taken one."""

    def drops_reverts(self, kind: EndpointType) -> bool:
        """Return whether the relay does not include transactions that would revert."""

    @property
    def pays_rebates(self) -> bool:
        """Return whether a backrun's bid is shared with the user."""

    @property
    def probe_url(self) -> str:
        """Return the URL of the connectivity check. It may contain a secret: never show it."""

    def endpoint(self, kind: EndpointType, share: ShareMode) -> str:
        """Return the submission URL as quotes show it, without secrets."""

    def tracking_url(self, tx_hash: str) -> str:
        """Return the URL of the public page or API with the state of the transaction."""

    async def submit(self, raw: bytes, kind: EndpointType, share: ShareMode) -> RelayResponse:
        """Send the signed bytes once. A failure of relay or network never raises."""

    async def cancel(self, tx_hash: str) -> None:
        """Request removal of the transaction, best effort. Never raises; proves nothing."""

    async def refund(self, tx_hash: str) -> ReportedRefund | None:
        """Return the refund that the relay reports for a mined transaction. It proves nothing.

        None without a refund, without a usable response, or if the relay pays none. Never raises.
        """

    async def status_hint(self, tx_hash: str) -> str | None:
        """Return the relay's unproven status report as our text, for the order's events only."""


def checked_url(url: str) -> str:
    """Return the base URL of a relay without a trailing slash.

    Raises ValueError unless it is https, or http on loopback: signed bytes stay private.
    """
    parts = urlsplit(url)
    if parts.scheme == "https" and parts.hostname:
        return url.rstrip("/")
    if parts.scheme == "http" and _is_loopback(parts.hostname or ""):
        return url.rstrip("/")
    raise ValueError("a relay's URL must be https://... (http:// only on this machine)")


def without_userinfo(url: str) -> str:
    """Return a URL without `user:password@`, as quotes show it."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class RelayClient:
    """Base of the relays. `timeout_s` limits one exchange, `tracking_base` is where `/<hash>` goes.

    The circuit opens for 30 s after three exchanges in a row without a response. After three that
    took nothing the relay is down for as long, but still gets what is for it: it answers at once.
    """

    def __init__(
        self, name: str, http: HttpClient, clock: Clock, *, tracking_base: str, timeout_s: float
    ) -> None:
        self._name = name
        self._http = http
        self._clock = clock
        self._tracking = tracking_base.rstrip("/")
        self._timeout_s = timeout_s
        self._circuit = CircuitBreaker(clock, failures=_FAILURES, pause_s=_PAUSE_S)
        self._taking = CircuitBreaker(clock, failures=_FAILURES, pause_s=_PAUSE_S)
        self.last_miss: tuple[int, str] | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def is_up(self) -> bool:
        return not (self._circuit.is_open or self._taking.is_open)

    def tracking_url(self, tx_hash: str) -> str:
        return f"{self._tracking}/{tx_hash}"

    async def _submit(self, url: str, raw: bytes) -> RelayResponse:
        """Send the bytes to `url` and return the meaning of the response."""
        if self._circuit.is_open:
            return _PAUSED
        started = self._clock.monotonic()
        answer = await observe.in_span("relay", self._exchange(url, raw), relay=self._name)
        for secret in (*secrets_of(url), raw.hex()):
            answer = replace(answer, said=answer.said.replace(secret, "***"))
        self._judge(answer)
        seconds = self._clock.monotonic() - started
        said = "" if answer.serves else answer.said
        observe.relay_answered(self._name, answer.outcome.value, seconds, said)
        return answer

    def _judge(self, answer: RelayResponse) -> None:
        """Count whether the relay takes transactions: that bytes came back proves nothing."""
        if answer.serves:
            self._taking.record_success()
            self.last_miss = None
        elif answer.serves is False:
            self._taking.record_failure()
            self.last_miss = (self._clock.now_ms(), answer.said or answer.reason)

    async def _exchange(self, url: str, raw: bytes) -> RelayResponse:
        try:
            reply = await self._http.post(
                url,
                _request("eth_sendRawTransaction", "0x" + raw.hex()),
                timeout_s=self._timeout_s,
                max_bytes=MAX_ANSWER,
            )
        except ConnectionFailed as trouble:
            self._circuit.record_failure()
            return _NOT_SENT if trouble.not_sent else SILENT
        except InvalidBody:
            self._circuit.record_success()
            return replace(SILENT, said="an answer that is too large or cut short")
        except HttpError as trouble:
            self._circuit.record_failure()
            return replace(SILENT, said=str(trouble))
        self._circuit.record_success()
        return classify_response(reply)

    async def _cancel(self, url: str, tx_hash: str) -> None:
        """Call `eth_cancelTransaction`. Its response proves nothing and is not read."""
        if self._circuit.is_open:
            return
        try:
            await self._http.post(
                url,
                _request("eth_cancelTransaction", tx_hash),
                timeout_s=self._timeout_s,
                max_bytes=MAX_ANSWER,
            )
        except HttpError:
            self._circuit.record_failure()

    async def _look(self, url: str) -> object:
        """Return the JSON of a GET; None if there is none."""
        if self._circuit.is_open:
            return None
        try:
            reply = await self._http.get(url, timeout_s=self._timeout_s, max_bytes=MAX_ANSWER)
            return reply.json() if reply.status == 200 else None
        except HttpError:
            return None


def _request(method: str, param: str) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": [param]})
