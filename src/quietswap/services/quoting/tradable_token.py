"""The token at an address, if this service trades it."""

from quietswap.domain.address import Address
from quietswap.domain.errors.request import TokenNotSupported
from quietswap.domain.token import Token, TokenPolicy
from quietswap.ports.chain import ChainReader


async def tradable_token(
    chain: ChainReader, policy: TokenPolicy, address: Address, field: str
) -> Token:
    """Return decimals and symbol; `field` is the query's name of the address.

    Raises TokenNotSupported if the operator's lists refuse it or it is not an ERC-20, and
    NodeUnavailable.
    """
    reason = policy.refusal(address)
    if reason:
        raise TokenNotSupported(token=address, reason=reason)
    token = await chain.token(address)
    if token is None:
        raise TokenNotSupported(token=address, reason=f"{field} is not an ERC-20 on mainnet")
    return token
