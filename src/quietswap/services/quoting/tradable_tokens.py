"""The tokens of a swap, if this service trades them."""

from quietswap.domain.address import Address
from quietswap.domain.errors.request import TokenNotSupported
from quietswap.domain.token import Token, TokenPolicy
from quietswap.ports.chain import ChainReader


async def tradable_tokens(
    chain: ChainReader, policy: TokenPolicy, sell: Address, buy: Address
) -> tuple[Token, Token]:
    """Return decimals and symbol of both; nothing is awaited if the chain has them cached.

    Raises TokenNotSupported if the operator's lists refuse one or it is not an ERC-20, and
    NodeUnavailable.
    """
    for address in (sell, buy):
        reason = policy.refusal(address)
        if reason:
            raise TokenNotSupported(token=address, reason=reason)
    sell_token, buy_token = await chain.tokens(sell, buy)
    return _known(sell_token, sell, "sellToken"), _known(buy_token, buy, "buyToken")


def _known(token: Token | None, address: Address, field: str) -> Token:
    if token is None:
        raise TokenNotSupported(token=address, reason=f"{field} is not an ERC-20 on mainnet")
    return token
