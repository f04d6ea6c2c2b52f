"""Port: ERC-20 tokens and the holdings of wallets, read from the operator's nodes."""

from collections.abc import Sequence
from typing import Protocol

from quietswap.domain.address import Address
from quietswap.domain.token_view import TokenDetails, TransferFee, WalletHoldings


class TokenReader(Protocol):
    """What tokens say of themselves, and what they do. Hostile tokens are expected.

    `client_id` is the client that asks: its reads take turns with those of others.
    """

    async def details(self, address: Address, client_id: str) -> TokenDetails | None:
        """Return metadata, cached; None if it is not an ERC-20. Raises NodeUnavailable."""

    def known_details(self, address: Address) -> TokenDetails | None:
        """Return metadata that was read lately, without a request; None if there is none."""

    async def transfer_fee(self, address: Address, client_id: str) -> TransferFee:
        """Simulate transfers and return what they lose, cached. Never raises."""

    def measured_fee(self, address: Address) -> TransferFee | None:
        """Return a fee that was measured lately, without a request."""

    async def holdings(
        self,
        wallet: Address,
        tokens: Sequence[Address],
        spenders: Sequence[Address],
        client_id: str,
    ) -> WalletHoldings:
        """Return ETH, balances and allowances at one block. Raises NodeUnavailable.

        A token that does not answer, or burns all gas, affects only its own numbers.
        """
