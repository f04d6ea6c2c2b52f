"""MEV Blocker (https://docs.mevblocker.io): backruns are auctioned, most of the bid is rebated.

`POST /fast | /noreverts | /fullprivacy` accepts `eth_sendRawTransaction` without a key and with a
priority fee of zero. `eth_cancelTransaction([hash])` is best effort. The state of `GET /tx/<hash>`
proves nothing: inclusions after FAILED have been observed.
"""

from decimal import Decimal, InvalidOperation

from quietswap.rules.chain.relay_refund import ReportedRefund, reported_refund
from quietswap.rules.relays import EndpointType, ShareMode, endpoint_url
from quietswap.service.relays.relay import Relay

_LONGEST_NUMBER = 100
"""Characters of a refund."""
_STATES = {
    "INCLUDED": "it says the transaction is included",
    "FAILED": "it says the transaction failed",
    "UNKNOWN": "it does not know the transaction",
}


class MevBlocker(Relay):
    """Its URL has an endpoint and the searchers' rights for each privacy option."""

    pays_rebates = True

    def drops_reverts(self, kind: EndpointType) -> bool:
        # Sources of 2026-10 do not promise it for /fullprivacy.
        return kind is EndpointType.NOREVERTS

    def endpoint(self, kind: EndpointType, share: ShareMode) -> str:
        return endpoint_url(self._shown, kind, share, self._referrer)

    async def refund(self, tx_hash: str) -> ReportedRefund | None:
        return read_refund(await self._get(f"{self._base}/tx/{tx_hash}"), tx_hash)

    async def status_hint(self, tx_hash: str) -> str | None:
        return read_status(await self._get(f"{self._base}/tx/{tx_hash}"))

    def _endpoint_url(self, kind: EndpointType, share: ShareMode) -> str:
        return endpoint_url(self._base, kind, share, self._referrer)

    def _cancel_url(self) -> str:
        return f"{self._base}/{EndpointType.FAST}"


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
