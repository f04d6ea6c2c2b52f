"""MEV Blocker (https://docs.mevblocker.io): backruns are auctioned, most of the bid comes back.

`POST /fast | /noreverts | /fullprivacy` takes `eth_sendRawTransaction` without a key, a priority
fee of zero included; `eth_cancelTransaction([hash])` is best effort; `GET /tx/<hash>` tells a state
that is a hint and never a verdict: its FAILED has been followed by an inclusion.

Quotes show its URL, without the `user:password@` by which it may be called.
"""

from quietswap.adapters.http import HttpClient
from quietswap.adapters.relays.raw_sender import RawSender, checked_url, without_userinfo
from quietswap.domain.protection import EndpointType, ShareMode, endpoint_url
from quietswap.ports.outside import Clock, RelayAnswer

BASE_URL = "https://rpc.mevblocker.io"
_STATES = {
    "INCLUDED": "it says the transaction is included",
    "FAILED": "it says the transaction failed",
    "UNKNOWN": "it does not know the transaction",
}


class MevBlocker:
    """Implements quietswap.ports.outside.Relay. `tracking_base` is where `/<hash>` is added."""

    def __init__(
        self,
        http: HttpClient,
        clock: Clock,
        *,
        referrer: str,
        name: str = "MEV Blocker",
        base_url: str = BASE_URL,
        tracking_base: str | None = None,
        timeout_s: float = 5.0,
    ) -> None:
        self._name = name
        self._base = checked_url(base_url)
        self._shown = without_userinfo(self._base)
        self._tracking = (tracking_base or f"{self._shown}/tx").rstrip("/")
        self._referrer = referrer
        self._sender = RawSender(name, http, clock, timeout_s=timeout_s)

    @property
    def name(self) -> str:
        return self._name

    @property
    def is_up(self) -> bool:
        return self._sender.is_up

    @property
    def pays_rebates(self) -> bool:
        return True

    def drops_reverts(self, kind: EndpointType) -> bool:
        return kind is not EndpointType.FAST

    @property
    def probe_url(self) -> str:
        return self._called(EndpointType.FULLPRIVACY, ShareMode.NONE)

    def endpoint(self, kind: EndpointType, share: ShareMode) -> str:
        return endpoint_url(self._shown, kind, share, self._referrer)

    def _called(self, kind: EndpointType, share: ShareMode) -> str:
        return endpoint_url(self._base, kind, share, self._referrer)

    def tracking_url(self, tx_hash: str) -> str:
        return f"{self._tracking}/{tx_hash}"

    async def submit(self, raw: bytes, kind: EndpointType, share: ShareMode) -> RelayAnswer:
        return await self._sender.submit(self._called(kind, share), raw)

    async def cancel(self, tx_hash: str) -> None:
        await self._sender.cancel(f"{self._base}/{EndpointType.FAST}", tx_hash)

    async def hint(self, tx_hash: str) -> str | None:
        return read_status(await self._sender.look(f"{self._base}/tx/{tx_hash}"))


def read_status(page: object) -> str | None:
    """Return a status page in words of ours; None for a shape or a state nobody documented."""
    if not isinstance(page, dict) or not isinstance(page.get("status"), str):
        return None
    words = _STATES.get(page["status"].upper())
    if words and page.get("simulationError"):
        words += ", and that its simulation failed"
    return words
