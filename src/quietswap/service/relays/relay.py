"""The base of the relays: a JSON-RPC connection with a timeout and a circuit breaker.

A submission is sent once. No log, error or answer contains the signed bytes or the URL.
"""

from dataclasses import replace
from urllib.parse import urlsplit, urlunsplit

import msgspec

from quietswap.rules.chain.relay_refund import ReportedRefund
from quietswap.rules.chain.rpc_wire import SEND
from quietswap.rules.foreign_text import secrets_of
from quietswap.rules.relays import EndpointType, ShareMode
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.base.concurrency import CircuitBreaker
from quietswap.service.base.http_client import (
    ConnectionFailed,
    HttpClient,
    HttpError,
    HttpReply,
    InvalidBody,
)
from quietswap.service.base.loopback import is_loopback
from quietswap.service.relays.answers import RelayOutcome, RelayResponse
from quietswap.service.relays.classify_response import SILENT, classify_response

_MAX_ANSWER = 64 * 1024
"""Bytes. The response to one call has a few hundred."""
_NOT_SENT = RelayResponse(RelayOutcome.NOT_SENT, "no connection could be made", serves=False)
_PAUSED = RelayResponse(RelayOutcome.NOT_SENT, "its circuit is open after failed calls")
_FAILURES, _PAUSE_S = 3, 30.0
_SERVER_ERROR = 500


class Relay:
    """A private relay. Receipts, nonces and balances never come from it.

    `timeout_s` limits one exchange, `tracking_base` is where `/<hash>` goes, by default the relay's
    own `/tx`. `referrer` names this service to a relay that asks. Quotes show the URL without
    `user:password@`.

    The circuit opens for 30 s after three exchanges in a row without a response. After three that
    took nothing the relay is down for as long, but still gets what is for it: it answers at once.
    """

    pays_rebates = False
    """Whether a backrun's bid is shared with the user."""

    def __init__(
        self,
        http: HttpClient,
        clock: Clock,
        *,
        name: str,
        base_url: str,
        tracking_base: str | None = None,
        timeout_s: float,
        referrer: str = "",
    ) -> None:
        self.name = name
        """As it is displayed."""
        self.last_miss: tuple[int, str] | None = None
        """When and why it took nothing, with its words; None once it has taken one."""
        self.silence: str | None = None
        """Why it did not answer the last probe; None if it did, and before the first."""
        self._base = _checked_url(base_url)
        parts = urlsplit(self._base)
        self._shown = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
        self._referrer = referrer
        self._http = http
        self._clock = clock
        self._tracking = (tracking_base or f"{self._shown}/tx").rstrip("/")
        self._timeout_s = timeout_s
        self._circuit = CircuitBreaker(clock, failures=_FAILURES, pause_s=_PAUSE_S)
        self._taking = CircuitBreaker(clock, failures=_FAILURES, pause_s=_PAUSE_S)
        self._elsewhere = CircuitBreaker(clock, pause_s=_PAUSE_S)
        self.has_recovered = False
        """Whether it took a transaction after it was down, here or elsewhere."""

    @property
    def is_up(self) -> bool:
        """Return False while its circuit is open, or after several answers that took nothing."""
        return not (self.down_for_s or self._elsewhere.is_open)

    @property
    def is_answering(self) -> bool:
        """Return whether it is up and answered the last probe: a new quote may name it."""
        return self.is_up and self.silence is None

    @property
    def down_for_s(self) -> float:
        """Seconds for which it is down by what this process met; 0 if it is not."""
        return max(self._circuit.left_s, self._taking.left_s)

    def heed(self, seconds: float) -> None:
        """Take it for down for this time, as another process has met it; 0: no longer."""
        self._elsewhere.open_for(seconds)

    async def probe(self, timeout_s: float) -> HttpReply:
        """Ask it for its chain, and keep why it does not answer. Raises HttpError.

        A refusal is an answer: whether it takes transactions is judged by those alone.
        """
        url = self._endpoint_url(EndpointType.FULLPRIVACY, ShareMode.NONE)
        try:
            reply = await self._post(url, "eth_chainId", timeout_s=timeout_s)
        except HttpError as trouble:
            is_unreached = isinstance(trouble, ConnectionFailed) and trouble.not_sent
            self.silence = "no connection" if is_unreached else str(trouble)
            raise
        self.silence = f"status {reply.status}" if reply.status >= _SERVER_ERROR else None
        return reply

    def drops_reverts(self, kind: EndpointType) -> bool:
        """Return whether the relay promises not to include transactions that would revert."""
        return False

    def endpoint(self, kind: EndpointType, share: ShareMode) -> str:
        """Return the submission URL as quotes show it, without secrets."""
        parts = urlsplit(self._shown)
        return f"{parts.scheme}://{parts.netloc}"

    def tracking_url(self, tx_hash: str) -> str:
        """Return the URL of the public page or API with the state of the transaction."""
        return f"{self._tracking}/{tx_hash}"

    async def submit(self, raw: bytes, kind: EndpointType, share: ShareMode) -> RelayResponse:
        """Send the signed bytes once. A failure of relay or network never raises."""
        if self._circuit.is_open:
            return _PAUSED
        url, started = self._endpoint_url(kind, share), self._clock.monotonic()
        answer = await observe.in_span("relay", self._exchange(url, raw), relay=self.name)
        for secret in (*secrets_of(url), raw.hex()):
            answer = replace(answer, said=answer.said.replace(secret, "***"))
        self._judge(answer)
        seconds = self._clock.monotonic() - started
        miss = "" if answer.serves else answer.said
        observe.relay_answered(self.name, answer.outcome.value, seconds, miss)
        return answer

    async def cancel(self, tx_hash: str) -> None:
        """Request removal of the transaction, best effort. Never raises; proves nothing."""
        if not self._circuit.is_open:
            try:
                await self._post(self._cancel_url(), "eth_cancelTransaction", tx_hash)
            except HttpError:
                self._circuit.record_failure()

    async def refund(self, tx_hash: str) -> ReportedRefund | None:
        """Return the refund that the relay reports for a mined transaction. It proves nothing.

        None without a refund, without a usable response, or if the relay pays none. Never raises.
        """
        return None

    async def status_hint(self, tx_hash: str) -> str | None:
        """Return the relay's unproven status report as our text, for the order's events only."""
        return None

    def _endpoint_url(self, kind: EndpointType, share: ShareMode) -> str:
        return self._base

    def _cancel_url(self) -> str:
        return self._base

    def _judge(self, answer: RelayResponse) -> None:
        """Count whether the relay takes transactions: that bytes came back proves nothing."""
        if answer.serves:
            self.has_recovered |= not self.is_up or self._taking.is_tripped
            self._taking.record_success()
            self.last_miss = self.silence = None
        elif answer.serves is False:
            self._taking.record_failure()
            self.last_miss = (self._clock.now_ms(), answer.said or answer.reason)

    async def _exchange(self, url: str, raw: bytes) -> RelayResponse:
        try:
            reply = await self._post(url, SEND, "0x" + raw.hex())
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

    async def _post(
        self, url: str, method: str, *params: str, timeout_s: float | None = None
    ) -> HttpReply:
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        body, limit_s = msgspec.json.encode(call), timeout_s or self._timeout_s
        return await self._http.post(url, body, timeout_s=limit_s, max_bytes=_MAX_ANSWER)

    async def _get(self, url: str) -> object:
        """Return the JSON of a GET; None if there is none."""
        if self._circuit.is_open:
            return None
        try:
            reply = await self._http.get(url, timeout_s=self._timeout_s, max_bytes=_MAX_ANSWER)
            return reply.json() if reply.status == 200 else None
        except HttpError:
            return None


def _checked_url(url: str) -> str:
    """Return the base URL of a relay without a trailing slash. Raises ValueError unless it is
    https, or http on loopback: signed bytes stay private.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if (parts.scheme == "https" and host) or (parts.scheme == "http" and is_loopback(host)):
        return url.rstrip("/")
    raise ValueError("a relay's URL must be https://... (http:// only on this machine)")
