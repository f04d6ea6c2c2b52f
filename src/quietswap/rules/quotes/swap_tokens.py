"""Which tokens a swap may name: two that differ, as EIP-55 addresses, and not native ETH."""

from collections.abc import Mapping

from quietswap.rules import errors
from quietswap.rules.tokens.token import WETH, is_native
from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address


def parse_pair(query: Mapping[str, str]) -> tuple[Address, Address]:
    """Return `sellToken` and `buyToken`. Raises NativeEthNotSupported and InvalidTokenAddress."""
    sell = parse_token(query.get("sellToken"), "sellToken")
    buy = parse_token(query.get("buyToken"), "buyToken")
    if sell == buy:
        raise errors.InvalidTokenAddress(
            field="buyToken",
            provided=buy,
            reason="it is the same token as sellToken",
            suggestion="Name two different tokens.",
        )
    return sell, buy


def parse_token(text: str | None, field: str) -> Address:
    """Return the token address of query field `field`.

    Raises NativeEthNotSupported for the zero or all-e placeholder in any case, and
    InvalidTokenAddress if the text is missing or is no checksummed address.
    """
    if not text:
        raise errors.InvalidTokenAddress(field=field, provided="", reason="it is missing or empty")
    if is_native(text):
        raise errors.NativeEthNotSupported(field=field, provided=text, weth=WETH)
    try:
        return addresses.parse(text)
    except addresses.BadAddress as error:
        raise errors.InvalidTokenAddress(
            field=field, provided=text[:100], reason=str(error)
        ) from error
