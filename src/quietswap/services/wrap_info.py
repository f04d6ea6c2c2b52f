"""GET /api/v1/mev/wrap/info: a wallet's ETH and WETH, read in one round trip."""

from quietswap.domain.address import Address
from quietswap.domain.refusals import ServiceUnavailable
from quietswap.domain.requests import WrapInfo
from quietswap.domain.token import WETH
from quietswap.ports.outside import Chain, ChainDown
from quietswap.ports.stores import ApiKey


class ReadWrapInfo:
    """Name and symbol are WETH9's own; the contract cannot change them."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    async def __call__(self, key: ApiKey, wallet: Address) -> WrapInfo:
        """Return balances in wei. Raises ServiceUnavailable when the node is away."""
        try:
            eth, weth = await self._chain.balances(wallet, WETH)
        except ChainDown as error:
            raise ServiceUnavailable("the Ethereum node does not answer") from error
        return WrapInfo(name="Wrapped Ether", symbol="WETH", eth=eth, weth=weth)
