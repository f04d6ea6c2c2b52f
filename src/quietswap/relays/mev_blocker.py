"""MEV Blocker (https://docs.mevblocker.io): backruns are auctioned, most of the bid is rebated.

`POST /fast | /noreverts | /fullprivacy` accepts `eth_sendRawTransaction` without a key and with a
priority fee of zero. `eth_cancelTransaction([hash])` is best effort. The state of `GET /tx/<hash>`
proves nothing: inclusions after FAILED have been observed.

Quotes show the URL without `user:password@`.
"""

from decimal import Decimal, InvalidOperation

from quietswap.clock import Clock
from quietswap.http_client import HttpClient
from quietswap.orders.received import ReportedRefund, reported_refund
from quietswap.relays.answers import RelayResponse
from quietswap.relays.relay import RelayClient, checked_url, without_userinfo
from quietswap.relays.settings import EndpointType, ShareMode, endpoint_url

_LONGEST_NUMBER = 100
"""Characters of a refund."""
_STATES = {
    "INCLUDED": "it says the transaction is included",
    "FAILED": "it says the transaction failed",
    "UNKNOWN": "it does not know the transaction",
}


class MevBlocker(RelayClient):
    """Implements quietswap.relays.relay.Relay."""

    def __init__(
        self,
        http: HttpClient,
        clock: Clock,
        *,
        referrer: str,
        name: str,
        base_url: str,
        tracking_base: str | None = None,
        timeout_s: float,
    ) -> None:
        self._base = checked_url(base_url)
        self._shown = without_userinfo(self._base)
        self._referrer = referrer
        tracking = tracking_base or f"{self._shown}/tx"
        super().__init__(name, http, clock, tracking_base=tracking, timeout_s=timeout_s)

    @property
    def pays_rebates(self) -> bool:
        return True

    def drops_reverts(self, kind: EndpointType) -> bool:
        # Sources of 2026-10 do not promise it for /fullprivacy.
        return kind is EndpointType.NOREVERTS

    @property
    def probe_url(self) -> str:
        return self._called(EndpointType.FULLPRIVACY, ShareMode.NONE)

    def endpoint(self, kind: EndpointType, share: ShareMode) -> str:
        return endpoint_url(self._shown, kind, share, self._referrer)

    def _called(self, kind: EndpointType, share: ShareMode) -> str:
        return endpoint_url(self._base, kind, share, self._referrer)

    async def submit(self, raw: bytes, kind: EndpointType, share: ShareMode) -> RelayResponse:
        return await self._submit(self._called(kind, share), raw)

    async def cancel(self, tx_hash: str) -> None:
        await self._cancel(f"{self._base}/{EndpointType.FAST}", tx_hash)

    async def refund(self, tx_hash: str) -> ReportedRefund | None:
        return read_refund(await self._look(f"{self._base}/tx/{tx_hash}"), tx_hash)

    async def status_hint(self, tx_hash: str) -> str | None:
        return read_status(await self._look(f"{self._base}/tx/{tx_hash}"))


def read_refund(page: object, tx_hash: str) -> ReportedRefund | None:
    """Return the refund of a status reply: a number of ETH, or the same as text.

    The shortest decimal of the float is the number that the relay wrote. None for another
    transaction, and if there is no refund.
    """
    if not isinstance(page, dict) or str(page.get("hash", tx_hash)).lower() != tx_hash.lower():
        return None
    ether = page.get("refund")
    if isinstance(ether, bool) or not isinstance(ether, int | float | str):
        return None
    text = str(ether)
    if len(text) > _LONGEST_NUMBER:
        return None
    try:
        return reported_refund(Decimal(text))
    except InvalidOperation:
        return None


def read_status(page: object) -> str | None:
    """Return a status reply as text; None if its structure or state is not documented."""
    if not isinstance(page, dict) or not isinstance(page.get("status"), str):
        return None
    words = _STATES.get(page["status"].upper())
    if words and page.get("simulationError"):
        words += ", and that its simulation failed"
    return words
