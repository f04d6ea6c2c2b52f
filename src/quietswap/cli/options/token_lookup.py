"""Token decimals and symbols for `quietswap orders show`, read from the service's node."""

import asyncio
from collections.abc import Collection
from pathlib import Path

from quietswap.chain.address import Address
from quietswap.chain.chain import NodeUnavailable
from quietswap.cli.options.service_adapters import service_adapters
from quietswap.cli.options.settings import read_settings
from quietswap.cli.output.tokens import ETHER, KNOWN, DisplayToken, shown_symbol
from quietswap.quoting.quote import NATIVE
from quietswap.server.settings.load import BadSettings
from quietswap.server.settings.schema import Settings

_WITHIN_S = 5.0


def tokens_at(path: Path | None, addresses: Collection[Address]) -> dict[Address, DisplayToken]:
    """Return the tokens that are built in or known to the service's node.

    A token is missing if no node is configured, none responds, or none knows it.
    """
    built_in = {token.address: token for token in KNOWN.values()} | {NATIVE: ETHER}
    known = {address: built_in[address] for address in addresses if address in built_in}
    missing = [address for address in addresses if address not in known]
    settings = read_settings(path, "node")
    if not missing or not settings.node.urls:
        return known
    try:
        return known | asyncio.run(_read_tokens(settings, missing))
    except BadSettings:
        return known


async def _read_tokens(
    settings: Settings, addresses: Collection[Address]
) -> dict[Address, DisplayToken]:
    """Return the tokens that the node returns within `_WITHIN_S`."""
    found = {}
    async with service_adapters(settings) as outside:
        try:
            async with asyncio.timeout(_WITHIN_S):
                asked = await asyncio.gather(*map(outside.chain.token, addresses))
        except (NodeUnavailable, TimeoutError):
            asked = []
    for token in filter(None, asked):
        symbol = shown_symbol(token.symbol, token.address)
        found[token.address] = DisplayToken(token.address, symbol, token.decimals)
    return found


def amount_of(units: int, address: Address, tokens: dict[Address, DisplayToken]) -> str:
    """Return an amount with its unit, or in smallest units if the decimals are unknown."""
    token = tokens.get(address)
    if token is None:
        return f"{units} smallest units of {address} (no node returned its decimals)"
    return token.show(units)
