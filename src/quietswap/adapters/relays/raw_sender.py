"""Sending signed bytes as JSON-RPC, once, with a bound and a circuit: what all relays share.

No text that leaves this module holds the bytes, the URL or the relay's own words.
"""

import ipaddress
from urllib.parse import urlsplit, urlunsplit

import msgspec

from quietswap import observe
from quietswap.adapters.http import BadBody, HttpClient, HttpTrouble, Unreachable
from quietswap.adapters.relays.answers import SILENT, classify
from quietswap.adapters.relays.circuit import Circuit
from quietswap.ports.outside import Clock, RelayAnswer, RelayOutcome

MAX_ANSWER = 64 * 1024
"""Bytes; an answer to one call is a few hundred."""
_NOT_SENT = RelayAnswer(RelayOutcome.NOT_SENT, "no connection could be made")
_PAUSED = RelayAnswer(RelayOutcome.NOT_SENT, "it did not answer lately and is left alone")


def checked_url(url: str) -> str:
    """Return a relay's base URL without a trailing slash.

    Raises ValueError unless it is https, or http on this machine: signed bytes stay private.
    """
    parts = urlsplit(url)
    if parts.scheme == "https" and parts.hostname:
        return url.rstrip("/")
    if parts.scheme == "http" and _is_loopback(parts.hostname or ""):
        return url.rstrip("/")
    raise ValueError("a relay's URL must be https://... (http:// only on this machine)")


def without_userinfo(url: str) -> str:
    """Return a URL without `user:password@`: what quotes may show of one that is called."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class RawSender:
    """One relay's connection; `timeout_s` bounds a whole exchange."""

    def __init__(self, name: str, http: HttpClient, clock: Clock, *, timeout_s: float) -> None:
        self._name = name
        self._http = http
        self._clock = clock
        self._timeout_s = timeout_s
        self._circuit = Circuit(clock)

    @property
    def is_up(self) -> bool:
        """Whether it would send now."""
        return not self._circuit.is_open

    async def submit(self, url: str, raw: bytes) -> RelayAnswer:
        """Send the bytes to `url` and return what the answer means."""
        if self._circuit.is_open:
            return _PAUSED
        started = self._clock.monotonic()
        answer = await observe.in_span("relay", self._exchange(url, raw), relay=self._name)
        observe.relay_answered(self._name, answer.outcome.value, self._clock.monotonic() - started)
        return answer

    async def _exchange(self, url: str, raw: bytes) -> RelayAnswer:
        try:
            reply = await self._http.post(
                url,
                _request("eth_sendRawTransaction", "0x" + raw.hex()),
                timeout_s=self._timeout_s,
                max_bytes=MAX_ANSWER,
            )
        except Unreachable as trouble:
            self._circuit.failed()
            return _NOT_SENT if trouble.not_sent else SILENT
        except BadBody:
            self._circuit.answered()
            return SILENT
        except HttpTrouble:
            self._circuit.failed()
            return SILENT
        self._circuit.answered()
        return classify(reply)

    async def cancel(self, url: str, tx_hash: str) -> None:
        """Call `eth_cancelTransaction`; whatever it answers proves nothing."""
        if self._circuit.is_open:
            return
        try:
            await self._http.post(
                url,
                _request("eth_cancelTransaction", tx_hash),
                timeout_s=self._timeout_s,
                max_bytes=MAX_ANSWER,
            )
        except HttpTrouble:
            self._circuit.failed()

    async def look(self, url: str) -> object:
        """Return the JSON of a GET, None when there is none."""
        if self._circuit.is_open:
            return None
        try:
            reply = await self._http.get(url, timeout_s=self._timeout_s, max_bytes=MAX_ANSWER)
            return reply.json() if reply.status == 200 else None
        except HttpTrouble:
            return None


def _request(method: str, param: str) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": [param]})
