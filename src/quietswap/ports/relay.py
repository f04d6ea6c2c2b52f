"""Port: a private relay."""

from typing import Protocol

from quietswap.domain.order.refund import ReportedRefund
from quietswap.domain.order.relay_response import RelayResponse
from quietswap.domain.quote.relay_settings import EndpointType, ShareMode


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
