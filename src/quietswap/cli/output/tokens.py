"""Tokens by symbol or address, and amounts in decimal digits."""

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import click

from quietswap.rules.amounts import AMOUNT_MAX, MOST_DECIMALS, format_units
from quietswap.rules.tokens.token import KNOWN_TOKENS, NATIVE
from quietswap.rules.tx.address import BadAddress, from_any_case, parse

if TYPE_CHECKING:
    from quietswap.cli.context import CommandContext
    from quietswap.client import QuietswapClient
    from quietswap.client.flows.effects import Flow


@dataclass(frozen=True, slots=True)
class DisplayToken:
    """Address, symbol and decimals of a token. `raw` amounts are in smallest units."""

    address: str
    symbol: str
    decimals: int
    raw: bool = field(default=False, compare=False)

    @property
    def word(self) -> str:
        """What names the token in a command: ETH, a built-in symbol, or the address."""
        is_known = not self.address or KNOWN.get(self.symbol) == self
        return self.symbol if is_known else self.address

    def show(self, amount: int) -> str:
        """Return an amount exactly, with its unit."""
        return f"{self.number(amount)} {self.symbol}"

    def number(self, amount: int) -> str:
        """Return an amount exactly: in whole tokens with thousands, or raw."""
        if self.raw:
            return str(amount)
        sign, text = "-" if amount < 0 else "", format_units(abs(amount), self.decimals)
        whole, _, fraction = text.partition(".")
        return f"{sign}{int(whole):,}" + (f".{fraction}" if fraction else "")

    def brief(self, amount: int) -> str:
        """Return an amount for a narrow column, rounded down to six decimals."""
        if self.raw or self.decimals <= 6:
            return self.number(amount)
        step = 10 ** (self.decimals - 6)
        return self.number(amount // step * step)

    def at_most(self, amount: int, places: int) -> str:
        """Return an amount with its unit, rounded up to some decimals unless it is raw."""
        step = 1 if self.raw else 10 ** max(self.decimals - places, 0)
        return self.show(-(-amount // step) * step)


KNOWN = {one.symbol: DisplayToken(one.address, one.symbol, one.decimals) for one in KNOWN_TOKENS}
ETHER = DisplayToken("", "ETH", 18)
GWEI = DisplayToken("", "gwei", 9)
"""1 gwei is 10^9 wei: the unit of gas prices."""
WETH = KNOWN["WETH"]


def in_parts(amount: int, unwrapped: int, *, raw: bool = False) -> str:
    """Return what arrived of bought ETH: the part that was unwrapped, and the rest, if any."""
    ether = replace(ETHER, raw=raw).show(min(amount, unwrapped))
    rest = max(amount - unwrapped, 0)
    return f"{ether}, and {replace(WETH, raw=raw).show(rest)}" if rest else ether


_BY_ADDRESS = {token.address: token for token in KNOWN.values()}
_NATIVE = NATIVE.lower()
_AMOUNT = re.compile(r"([0-9]{1,78})(?:\.([0-9]{1,77}))?")
_SHOWN = 100


class BadText(click.UsageError):
    """A text that a person or a program gave. The message shows its beginning; `why` has none."""

    def __init__(self, text: str, why: str, option: str = "") -> None:
        super().__init__(f"{option}{text[:_SHOWN]!r} {why}")
        self.why = why


def wallet_address(text: str, what: str = "wallet address") -> str:
    """Return an address with EIP-55 checksum; `what` is its name in click.UsageError."""
    try:
        return _address(text)
    except BadAddress as error:
        raise BadText(text, f"is no {what}: {error}") from error


def _address(text: str) -> str:
    """Return the checksummed address. Only an all lower-case one may lack the checksum."""
    digits = text[2:]
    return from_any_case(text) if digits == digits.lower() else parse(text)


def address_of(text: str) -> str:
    """Return the address of a symbol known by name or of an address. Raises click.UsageError."""
    if text.upper() in KNOWN:
        return KNOWN[text.upper()].address
    try:
        return _address(text)
    except BadAddress as error:
        names = ", ".join(KNOWN)
        raise BadText(text, f"is neither {names} nor an address: {error}") from error


def is_ether(text: str) -> bool:
    """Return whether a word for a token means native ETH."""
    return text.lower() in ("eth", _NATIVE)


def refuse_ether(text: str) -> None:
    """Refuse native ETH as a token. Raises click.UsageError."""
    if is_ether(text):
        raise click.UsageError("native ETH cannot be swapped: wrap it first, then use WETH")


def by_address(
    address: str, client: "QuietswapClient", context: "CommandContext", *, by_node: bool = True
) -> DisplayToken:
    """Return the token at a checksummed address. Raises click.UsageError.

    The decimals of other than the built-in tokens are read from the caller's node. Without
    `by_node` the service tells them: for figures only, never for an amount to sign.
    """
    if address.lower() == _NATIVE:
        return replace(ETHER, raw=context.raw)
    if by_node and context.rpc_url is None and address not in _BY_ADDRESS:
        if context.raw:
            return DisplayToken(address, shown_symbol("", address), 0, raw=True)
        raise click.UsageError(
            f"the decimals of {address} are unknown: give --rpc-url, or --raw and smallest units"
        )
    return replace(client.run(token_at(address, by_node=by_node)), raw=context.raw)


def token_at(address: str, *, by_node: bool) -> "Flow[DisplayToken]":
    """Return a built-in token, or another by the node or the service. Raises click.UsageError."""
    from quietswap.client import api_calls
    from quietswap.client.flows.effects import perform
    from quietswap.client.flows.moment import at_one_moment

    if address in _BY_ADDRESS:
        return _BY_ADDRESS[address]
    decimals: int | None = None
    if by_node:
        symbol, decimals = yield from at_one_moment(_described(address))
    else:
        tokens = (yield from perform(api_calls.find_tokens(address, limit=50, offset=0))).tokens
        symbol, decimals = next(
            ((t.symbol, t.decimals) for t in tokens if t.address == address), ("", None)
        )
    if decimals is None:
        raise click.UsageError(f"{address} is not an ERC-20 token: it has no decimals")
    if decimals > MOST_DECIMALS:
        text = f"{address} has {decimals} decimals; no amount of more than {MOST_DECIMALS} is read"
        raise click.UsageError(text)
    return DisplayToken(address, shown_symbol(symbol, address), decimals)


def _described(address: str) -> "Flow[tuple[str, int | None]]":
    """Return symbol and decimals at the caller's own node."""
    from quietswap.client import node_calls
    from quietswap.client.flows.approvals import require_mainnet
    from quietswap.client.flows.effects import perform
    from quietswap.client.flows.moment import read_ahead

    read_decimals, read_symbol = node_calls.decimals(address), node_calls.symbol(address)
    yield from read_ahead(node_calls.CHAIN_ID, read_decimals, read_symbol)
    yield from require_mainnet()
    decimals = yield from perform(read_decimals)
    return "" if decimals is None else (yield from perform(read_symbol)), decimals


def shown_symbol(symbol: str, address: str) -> str:
    """Return a short symbol. One with other letters than ASCII may imitate another: the address."""
    return symbol[:11] if symbol and symbol.isascii() else f"{address[:6]}…{address[-4:]}"


def parse_amount(text: str, token: DisplayToken, option: str = "") -> int:
    """Return smallest units of an amount written in decimal digits.

    Raises click.UsageError, which names the option if the amount is not the command's AMOUNT.
    """
    name = option and f"{option}: "
    digits = _AMOUNT.fullmatch(text)
    if digits is None:
        form = "digits and a point, such as 1.5, 78 digits at most"
        raise BadText(text, f"is not an amount: {form}", name)
    whole, fraction = digits[1], (digits[2] or "").rstrip("0")
    decimals = 0 if token.raw else token.decimals
    if len(fraction) > decimals:
        most = "smallest units are whole" if token.raw else f"{token.symbol} has {decimals}"
        raise BadText(text, f"has too many decimals: {most}", name)
    units = int(whole + fraction.ljust(decimals, "0"))
    if units == 0:
        raise click.UsageError(f"{name}the amount must be greater than zero")
    if units > AMOUNT_MAX:
        raise BadText(text, "is more than a pool takes: 2^255 - 1 smallest units", name)
    return units
