"""JSON-RPC connection to a relay with a timeout and a circuit breaker; base of all relays.

A submission is sent once. No log, error or answer contains the signed bytes or the URL. The relay's
own text is bounded and marked: in the log, readiness, the operator view and the order's status.
"""

import ipaddress
import re
from dataclasses import replace
from urllib.parse import urlsplit, urlunsplit

import msgspec

from quietswap import observe
from quietswap.clock import Clock
from quietswap.concurrency import CircuitBreaker
from quietswap.http_client import (
    ConnectionFailed,
    HttpClient,
    HttpError,
    HttpReply,
    InvalidBody,
    secrets_of,
)
from quietswap.relays.relay import RelayOutcome, RelayResponse, words_of
from quietswap.tokens.token import harmless

# Meaning of a relay's HTTP response to `eth_sendRawTransaction`.
#
# MEV Blocker does not publish its error texts. The texts are those of the nodes behind such
# relays: go-ethereum's core/error.go, core/txpool/errors.go and core/txpool/validation.go, the
# codes of https://ethereum.github.io/execution-apis, those of Flashbots' rpc-endpoint, and the
# words of Nethermind (AcceptTxResult) and Besu (RpcErrorType). An unknown text is SILENT: it proves
# neither that the relay has the transaction nor that it does not.


SILENT = RelayResponse(RelayOutcome.UNKNOWN, "an answer that says nothing certain", serves=False)
_UNCLEAR = replace(SILENT, serves=None)
"""An error without a known meaning: it may be about this transaction alone."""
_NOT_TAKEN = RelayResponse(RelayOutcome.NOT_TAKEN, "it takes no transactions now", serves=False)
_NOT_TAKEN_STATUSES = frozenset(
    (401, 402, 403, 404, 405, 407, 410, 415, 426, 429, 451, 521, 523, 525, 526, 530)
)
"""A gate before the relay answers so: a key, a path, a method, a limit, or Cloudflare without a
connection to it. After 502, 503, 504, 520, 522 and 524 the relay may have the bytes."""
_NOT_TAKEN_CODES = frozenset((429, -32700, -32601, -32600, -32029, -32016, -32007, -32005, -32004))
"""Of EIP-1474 and of providers: limits, a method that is missing or not allowed."""
_NOT_TAKEN_TEXT = re.compile(
    r"api.?key|unauthori[sz]ed|authenticat|forbidden|access denied|not whitelisted|rate.?limit"
    r"|too many requests|quota|capacity|credits|maintenance|unavailable for|method .*not"
    r"|txpool is full"
)
_OUR_FAULT = frozenset(
    (
        "it does not accept a priority fee of zero",
        "it serves another chain",
        "it requires a replay-protected transaction",
        "it does not accept type 2",
    )
)
"""Refusals of what every transaction of this service has: such a relay takes none of them."""
_LONGEST_WORDS = 120
_LONG_HEX = re.compile(r"(0x)?[0-9a-fA-F]{16,}")
_ACCEPTED = RelayResponse(RelayOutcome.ACCEPTED)
_HASH = re.compile(r"0x[0-9a-f]{64}")
_TITAN_ACCEPTED = 200
"""Titan returns the number 200 instead of the hash (https://docs.titanbuilder.xyz)."""

_REVERTED = 3
_CODES = {
    1000: RelayResponse(RelayOutcome.ALREADY_KNOWN, "already known"),
    _REVERTED: RelayResponse(RelayOutcome.WOULD_REVERT, "execution reverted"),
    -38010: RelayResponse(RelayOutcome.NONCE_USED, "nonce too low"),
    -38013: RelayResponse(RelayOutcome.INVALID, "the gas limit is below the intrinsic gas"),
    -38014: RelayResponse(RelayOutcome.INSUFFICIENT_FUNDS, "insufficient funds"),
    -38015: RelayResponse(RelayOutcome.INVALID, "the gas limit exceeds the block's"),
}
_TEXTS: tuple[tuple[str, RelayOutcome, str], ...] = (
    (r"execution reverted", RelayOutcome.WOULD_REVERT, "execution reverted"),
    (r"already ?known|already in pool", RelayOutcome.ALREADY_KNOWN, "already known"),
    (r"\bknown transaction", RelayOutcome.ALREADY_KNOWN, "already known"),
    (r"already imported", RelayOutcome.ALREADY_KNOWN, "already known"),
    (r"replacement.(transaction.)?underpriced", RelayOutcome.CONFLICT, "it has the nonce"),
    (r"replacement ?not ?allowed", RelayOutcome.CONFLICT, "it has the nonce"),
    (r"replace (existing|pending)", RelayOutcome.CONFLICT, "it has the nonce"),
    (r"fee ?too ?low ?to ?compete", RelayOutcome.CONFLICT, "it has the nonce"),
    (r"nonce (is )?too low|old ?nonce", RelayOutcome.NONCE_USED, "nonce too low"),
    (r"invalid nonce|wrong.*nonce", RelayOutcome.NONCE_USED, "nonce too low"),
    (r"nonce has already been used", RelayOutcome.NONCE_USED, "nonce too low"),
    (r"insufficient ?funds", RelayOutcome.INSUFFICIENT_FUNDS, "insufficient funds"),
    (r"enough funds", RelayOutcome.INSUFFICIENT_FUNDS, "insufficient funds"),
    (r"exceeds .*\bbalance", RelayOutcome.INSUFFICIENT_FUNDS, "insufficient funds"),
    (r"in-flight transaction limit", RelayOutcome.BUSY, "one transaction at a time"),
    (r"simulation (error|failed)", RelayOutcome.WOULD_REVERT, "simulation failed"),
    (r"intrinsic gas", RelayOutcome.INVALID, "the gas limit is below the intrinsic gas"),
    (r"exceeds block gas limit", RelayOutcome.INVALID, "the gas limit exceeds the block's"),
    (r"gas limit too high", RelayOutcome.INVALID, "the gas limit is above 2^24"),
    (r"gas tip cap 0", RelayOutcome.INVALID, "it does not accept a priority fee of zero"),
    (r"underpriced|\bfee ?too ?low", RelayOutcome.INVALID, "it is underpriced"),
    (r"exceeds the configured cap", RelayOutcome.INVALID, "its fee is above the relay's cap"),
    (r"oversized data", RelayOutcome.INVALID, "it is too large"),
    (r"sender ?is ?contract|not an eoa", RelayOutcome.INVALID, "its sender is a contract"),
    (r"(tip above|higher than max) fee", RelayOutcome.INVALID, "the tip is above the fee cap"),
    (r"invalid sender", RelayOutcome.INVALID, "it cannot recover the sender"),
    (r"invalid chain", RelayOutcome.INVALID, "it serves another chain"),
    (r"only replay-protected", RelayOutcome.INVALID, "it requires a replay-protected transaction"),
    (r"transaction type not supported", RelayOutcome.INVALID, "it does not accept type 2"),
    (r"\brlp\b|could not decode|failed to decode", RelayOutcome.INVALID, "it cannot decode it"),
)
"""The first match counts. A revert comes first, because the contract chooses its text, which may be
"already known"."""
_COMPILED = tuple(
    (re.compile(p), RelayResponse(outcome, why, why not in _OUR_FAULT))
    for p, outcome, why in _TEXTS
)
_GAPPED = re.compile(
    r"nonce too high|less than block base fee|nonce ?gap|gapped.nonce|max ?fee ?per ?gas ?too ?low"
)


class _ErrorWire(msgspec.Struct, frozen=True):
    message: str = ""
    code: int | str = 0


class _ReplyWire(msgspec.Struct, frozen=True):
    result: str | int | None = None
    error: _ErrorWire | None = None


def classify_response(reply: HttpReply) -> RelayResponse:
    """Return the meaning of a complete HTTP response.

    An acceptance requires status 200. A refusal is JSON under 200 or any 4xx except 429.
    """
    meaning = _meaning(reply)
    return meaning if words_of(meaning) is None else replace(meaning, said=_said(reply))


def _said(reply: HttpReply) -> str:
    """Return the status, and the words of a JSON error or of a page: foreign text, made harmless.

    A relay may repeat what it was sent: no long hexadecimal number is shown.
    """
    words = harmless(_LONG_HEX.sub("***", reply.words()), _LONGEST_WORDS)
    return f"HTTP {reply.status}" + (f", it says “{words}”" if words else "")


def _meaning(reply: HttpReply) -> RelayResponse:
    if not (reply.status in (200, *_NOT_TAKEN_STATUSES) or 400 <= reply.status < 500):
        return SILENT
    not_json = _NOT_TAKEN if reply.status in _NOT_TAKEN_STATUSES else SILENT
    try:
        wire = msgspec.json.decode(reply.body, type=_ReplyWire)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return not_json
    if wire.error is not None:
        if wire.result is not None:
            return SILENT
        found = _refusal(wire.error)
        says_more = reply.status != 429 and found is not _UNCLEAR
        return found if says_more or not_json is SILENT else _NOT_TAKEN
    if wire.result is None:
        return not_json
    return _ACCEPTED if reply.status == 200 and _is_acceptance(wire.result) else SILENT


def _is_acceptance(result: str | int | None) -> bool:
    if isinstance(result, str):
        return _HASH.fullmatch(result.lower()) is not None
    return result == _TITAN_ACCEPTED


def _refusal(error: _ErrorWire) -> RelayResponse:
    if error.code == _REVERTED:
        return _CODES[_REVERTED]
    text = error.message.lower()
    for pattern, answer in _COMPILED:
        if pattern.search(text):
            return answer
    if _GAPPED.search(text):
        return replace(_UNCLEAR, serves=True)
    if "sender" in text:
        return _UNCLEAR  # it refuses a wallet; others it may serve
    code = _number(error.code)
    if code in _NOT_TAKEN_CODES or _NOT_TAKEN_TEXT.search(text):
        return _NOT_TAKEN
    return _CODES.get(code, SILENT if code == _INTERNAL else _UNCLEAR)


_INTERNAL = -32603


def _number(code: int | str) -> int:
    try:
        return int(code)
    except ValueError:
        return 0


MAX_ANSWER = 64 * 1024
"""Bytes. The response to one call has a few hundred."""
_NOT_SENT = RelayResponse(RelayOutcome.NOT_SENT, "no connection could be made", serves=False)
_PAUSED = RelayResponse(RelayOutcome.NOT_SENT, "its circuit is open after failed calls")
_FAILURES, _PAUSE_S = 3, 30.0


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
