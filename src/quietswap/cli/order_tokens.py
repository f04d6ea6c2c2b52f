"""Decimals and symbols of an order's tokens, read from the service's node."""

import asyncio
import contextlib
from collections.abc import Collection

from quietswap.cli.options.operator import OperatorContext
from quietswap.cli.output.tokens import ETHER, KNOWN, DisplayToken, shown_symbol
from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.tokens.token import NATIVE, Token
from quietswap.rules.tx.address import Address
from quietswap.service.server.settings import BadSettings

_WITHIN_S = 5.0


def tokens_at(
    context: OperatorContext, addresses: Collection[Address]
) -> dict[Address, DisplayToken]:
    """Return the tokens that are built in or known to the service's node.

    A token is missing if no node is configured, none responds, or none knows it.
    """
    built_in = {token.address: token for token in KNOWN.values()} | {NATIVE: ETHER}
    tokens = {address: built_in[address] for address in addresses if address in built_in}
    missing = [address for address in addresses if address not in tokens]
    settings = context.settings("node")
    if not missing or not settings.node.urls:
        return tokens
    from quietswap.service.server.container import adapters_of_a_command

    async def read() -> list[Token | None]:
        async with adapters_of_a_command(settings) as outside, asyncio.timeout(_WITHIN_S):
            return await asyncio.gather(*map(outside.chain.token, missing))

    with contextlib.suppress(BadSettings, NodeUnavailable, TimeoutError):
        for token in filter(None, asyncio.run(read())):
            symbol = shown_symbol(token.symbol, token.address)
            tokens[token.address] = DisplayToken(token.address, symbol, token.decimals)
    return tokens


def amount_text(units: int, address: Address, tokens: dict[Address, DisplayToken]) -> str:
    token = tokens.get(address)
    if token is None:
        return f"{units} smallest units of {address} (no node returned its decimals)"
    return token.show(units)
