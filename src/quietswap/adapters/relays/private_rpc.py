"""Any private relay with one JSON-RPC URL that takes `eth_sendRawTransaction`.

The relay must accept a priority fee of zero: Flashbots Protect and public nodes refuse it. Its URL
may carry a key, so quotes show the host alone and it is called by the URL of the settings. There is
one endpoint: what it shares and whether it drops reverts is the operator's agreement with it.
"""

from urllib.parse import urlsplit

from quietswap.adapters.http import HttpClient
from quietswap.adapters.relays.raw_sender import RawSender, checked_url, without_userinfo
from quietswap.domain.protection import EndpointType, ShareMode
from quietswap.ports.outside import Clock, RelayAnswer


class PrivateRpc:
    """Implements quietswap.ports.outside.Relay. `tracking_base` is where `/<hash>` is added."""

    def __init__(
        self,
        http: HttpClient,
        clock: Clock,
        *,
        name: str,
        base_url: str,
        tracking_base: str,
        timeout_s: float = 5.0,
    ) -> None:
        self._name = name
        self._url = checked_url(base_url)
        self._tracking = tracking_base.rstrip("/")
        self._sender = RawSender(name, http, clock, timeout_s=timeout_s)

    @property
    def name(self) -> str:
        return self._name

    @property
    def is_up(self) -> bool:
        return self._sender.is_up

    @property
    def pays_rebates(self) -> bool:
        return False

    def drops_reverts(self, kind: EndpointType) -> bool:
        return (
            False  # nothing is known of it: a promise the operator cannot keep is worse than none
        )

    @property
    def probe_url(self) -> str:
        return self._url

    def endpoint(self, kind: EndpointType, share: ShareMode) -> str:
        parts = urlsplit(without_userinfo(self._url))
        return f"{parts.scheme}://{parts.netloc}"

    def tracking_url(self, tx_hash: str) -> str:
        return f"{self._tracking}/{tx_hash}"

    async def submit(
        self,
        raw: bytes,
        kind: EndpointType,
        share: ShareMode,
    ) -> RelayAnswer:
        return await self._sender.submit(self._url, raw)

    async def cancel(self, tx_hash: str) -> None:
        await self._sender.cancel(self._url, tx_hash)

    async def hint(self, tx_hash: str) -> str | None:
        return None
