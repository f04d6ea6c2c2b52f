"""GET /api/v1/mev/wrap/info: a wallet's ETH and WETH, read in one round trip."""

from quietswap.domain.address import Address
from quietswap.domain.requests import WrapBalances
from quietswap.domain.token import WETH
from quietswap.ports.chain import ChainReader
from quietswap.ports.clients import ApiKey
from quietswap.services.unavailable import service_unavailable


class GetWrapInfo:
    """Name and symbol are constants of WETH9."""

    def __init__(self, chain: ChainReader) -> None:
        self._chain = chain

    async def __call__(self, key: ApiKey, wallet: Address) -> WrapBalances:
        """Return balances in wei. Raises ServiceUnavailable if the node does not answer."""
        with service_unavailable():
            eth, weth = await self._chain.balances(wallet, WETH)
        return WrapBalances(name="Wrapped Ether", symbol="WETH", eth=eth, weth=weth)
