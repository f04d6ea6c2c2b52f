"""GET /api/v1/mev/balances/:userAddress: balances and router allowances at one block."""

from collections.abc import Sequence

from quietswap.domain.address import Address
from quietswap.domain.token_view import WalletHoldings
from quietswap.ports.clients import ApiKey
from quietswap.ports.tokens import TokenReader
from quietswap.services.unavailable import service_unavailable


class GetBalances:
    """`routers`: the contracts that quotes of this service can name as the one to approve."""

    def __init__(self, reader: TokenReader, routers: Sequence[Address]) -> None:
        self._reader = reader
        self._routers = tuple(dict.fromkeys(routers))

    async def __call__(
        self, key: ApiKey, wallet: Address, tokens: Sequence[Address]
    ) -> WalletHoldings:
        """Return ETH, and each token once. Raises ServiceUnavailable."""
        with service_unavailable():
            once = tuple(dict.fromkeys(tokens))
            return await self._reader.holdings(wallet, once, self._routers, key.client_id)
