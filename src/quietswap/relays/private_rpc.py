"""Any private relay with one JSON-RPC URL that accepts `eth_sendRawTransaction`.

The relay must accept a priority fee of zero, which Flashbots Protect and public nodes refuse. Its
URL may contain a key, so quotes show only scheme, host and port. It has one endpoint: sharing and
dropping of reverts depend on the operator's agreement with it.
"""

from urllib.parse import urlsplit

from quietswap.clock import Clock
from quietswap.http_client import HttpClient
from quietswap.orders.received import ReportedRefund
from quietswap.relays.answers import RelayResponse
from quietswap.relays.relay import RelayClient, checked_url, without_userinfo
from quietswap.relays.settings import EndpointType, ShareMode


class PrivateRpc(RelayClient):
    """Implements quietswap.relays.relay.Relay."""

    def __init__(
        self,
        http: HttpClient,
        clock: Clock,
        *,
        name: str,
        base_url: str,
        tracking_base: str,
        timeout_s: float,
    ) -> None:
        self._url = checked_url(base_url)
        super().__init__(name, http, clock, tracking_base=tracking_base, timeout_s=timeout_s)

    @property
    def pays_rebates(self) -> bool:
        return False

    def drops_reverts(self, kind: EndpointType) -> bool:
        return False  # unknown for an arbitrary relay

    @property
    def probe_url(self) -> str:
        return self._url

    def endpoint(self, kind: EndpointType, share: ShareMode) -> str:
        parts = urlsplit(without_userinfo(self._url))
        return f"{parts.scheme}://{parts.netloc}"

    async def submit(self, raw: bytes, kind: EndpointType, share: ShareMode) -> RelayResponse:
        return await self._submit(self._url, raw)

    async def cancel(self, tx_hash: str) -> None:
        await self._cancel(self._url, tx_hash)

    async def refund(self, tx_hash: str) -> ReportedRefund | None:
        return None

    async def status_hint(self, tx_hash: str) -> str | None:
        return None
