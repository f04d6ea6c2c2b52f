"""Options that set or remove the limits of a client."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import click

from quietswap.cli.output.tokens import KNOWN, wallet_address
from quietswap.domain.address import Address
from quietswap.domain.client_limits import ClientLimits
from quietswap.domain.token import is_native

F = TypeVar("F", bound=Callable[..., Any])

_MOST = 10**9
_LIST = 1_000
"""Most addresses of a list: it is read with each key."""
_USD = re.compile(r"(\d{1,12})(?:\.(\d{1,2}))?", re.ASCII)
_REMOVED = -1
"""The value of an option that removes its limit."""


class _Number(click.ParamType):  # type: ignore[type-arg]
    """A whole number from 0, or `none`."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "none":
            return _REMOVED
        if not (value.isascii() and value.isdecimal()) or int(value) > _MOST:
            self.fail(f"{value!r} is neither a whole number up to {_MOST} nor none")
        return int(value)


class _Usd(click.ParamType):  # type: ignore[type-arg]
    """USD with at most two decimals, as cents, or `none`."""

    name = "usd"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "none":
            return _REMOVED
        found = _USD.fullmatch(value)
        if found is None:
            self.fail(f"{value!r} is neither an amount of USD, such as 2500 or 99.50, nor none")
        return int(found[1]) * 100 + int((found[2] or "").ljust(2, "0"))


_OPTIONS = (
    click.option(
        "--requests-per-minute", type=_Number(), metavar="N|none", help="By all its keys."
    ),
    click.option(
        "--quotes-per-day",
        type=_Number(),
        metavar="N|none",
        help="Swap and wrap quotes of a UTC day.",
    ),
    click.option(
        "--open-orders", type=_Number(), metavar="N|none", help="Swaps and wraps in no final state."
    ),
    click.option(
        "--usd-per-swap",
        "usd_cents_per_swap",
        type=_Usd(),
        metavar="USD|none",
        help="With this or the next limit, a swap without a known price is refused.",
    ),
    click.option(
        "--usd-per-day", "usd_cents_per_day", type=_Usd(), metavar="USD|none", help="Of a UTC day."
    ),
    click.option(
        "--wallet", "wallets", multiple=True, metavar="ADDRESS", help="Allow it; repeatable."
    ),
    click.option(
        "--remove-wallet", "fewer_wallets", multiple=True, metavar="ADDRESS", help="Take it off."
    ),
    click.option("--any-wallet", is_flag=True, help="Remove the list: every wallet is allowed."),
    click.option(
        "--token",
        "tokens",
        multiple=True,
        metavar="TOKEN",
        help="Allow it, an address or a symbol such as USDC; repeatable. Both tokens of a swap must"
        " be on the list, and WETH for wraps.",
    ),
    click.option(
        "--remove-token", "fewer_tokens", multiple=True, metavar="TOKEN", help="Take it off."
    ),
    click.option("--any-token", is_flag=True, help="Remove the list: every token is allowed."),
)
_NUMBERS = (
    "requests_per_minute",
    "quotes_per_day",
    "open_orders",
    "usd_cents_per_swap",
    "usd_cents_per_day",
)


def limit_options(command: F) -> F:
    """Add the options of the limits to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def limits_from(before: ClientLimits, given: Mapping[str, Any]) -> ClientLimits:
    """Return the limits after the given options. Raises click.UsageError."""
    numbers = {
        name: None if given[name] == _REMOVED else given[name]
        for name in _NUMBERS
        if given[name] is not None
    }
    return replace(
        before,
        **numbers,
        wallets=_list("wallet", before.wallets, given, wallet_address),
        tokens=_list("token", before.tokens, given, _token),
    )


def _list(
    what: str, before: frozenset[Address], given: Mapping[str, Any], read: Callable[[str], str]
) -> frozenset[Address]:
    def addresses(texts: Sequence[str]) -> frozenset[Address]:
        return frozenset(Address(read(text)) for text in texts)

    more, fewer = addresses(given[f"{what}s"]), addresses(given[f"fewer_{what}s"])
    if what == "token" and any(map(is_native, more)):
        raise click.UsageError("--token: native ETH is no token; a wrap counts as WETH")
    if given[f"any_{what}"]:
        if more or fewer:
            raise click.UsageError(f"--any-{what} removes the list: give no other {what} with it")
        return frozenset()
    if missing := fewer - before:
        raise click.UsageError(f"--remove-{what}: {min(missing)} is not on the list")
    after = (before - fewer) | more
    if before and not after:
        raise click.UsageError(
            f"an empty list would allow every {what}: write --any-{what} if that is meant"
        )
    if len(after) > _LIST:
        raise click.UsageError(f"--{what}: a list has at most {_LIST} addresses")
    return after


def _token(text: str) -> str:
    known = KNOWN.get(text.upper())
    return (
        known.address if known else wallet_address(text, "token: neither a symbol nor an address")
    )
