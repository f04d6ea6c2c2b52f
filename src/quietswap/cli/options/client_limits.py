"""Options that set or remove the limits of a client."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

from quietswap.cli.options.client import F
from quietswap.cli.output.tokens import KNOWN, wallet_address
from quietswap.rules.clients import ClientLimits
from quietswap.rules.tokens.token import is_native
from quietswap.rules.tx.address import Address

_MOST = 10**9
_LIST = 1_000
"""Most addresses of a list: it is read with each key."""
_USD = re.compile(r"(\d{1,12})(?:\.(\d{1,2}))?", re.ASCII)
_REMOVED = -1
"""The value of an option that removes its limit."""


def _number(value: str) -> int:
    """Read a whole number from 0, or `none`. Raises click.BadParameter, as `_cents` does."""
    if value == "none":
        return _REMOVED
    if not (value.isascii() and value.isdecimal()) or int(value) > _MOST:
        raise click.BadParameter(f"{value!r} is neither a whole number up to {_MOST} nor none")
    return int(value)


def _cents(value: str) -> int:
    """Read USD with at most two decimals, as cents, or `none`."""
    if value == "none":
        return _REMOVED
    if (found := _USD.fullmatch(value)) is None:
        text = f"{value!r} is neither an amount of USD, such as 2500 or 99.50, nor none"
        raise click.BadParameter(text)
    return int(found[1]) * 100 + int((found[2] or "").ljust(2, "0"))


_NUMBERS = {
    "requests_per_minute": "By all its keys.",
    "quotes_per_day": "Swap and wrap quotes of a UTC day.",
    "open_orders": "Swaps and wraps in no final state.",
    "usd_cents_per_swap": "With this or the next limit, a swap without a known price is refused.",
    "usd_cents_per_day": "Of a UTC day.",
}
_LISTS = {
    "wallet": "Allow it; repeatable.",
    "token": "Allow it, an address or a symbol such as USDC; repeatable. Both tokens of a swap must"
    " be on the list, and WETH for wraps.",
}


def limit_options(command: F) -> F:
    """Add the options of the limits to a command."""
    options, add = [], click.option
    for name, text in _NUMBERS.items():
        kind, takes = (_cents, "USD|none") if "usd" in name else (_number, "N|none")
        spelled = f"--{name.replace('_cents', '').replace('_', '-')}"
        options.append(add(spelled, name, type=kind, metavar=takes, help=text))
    for what, text in _LISTS.items():
        takes = "ADDRESS" if what == "wallet" else "TOKEN"
        less, none = "Take it off.", f"Remove the list: every {what} is allowed."
        options += [
            add(f"--{what}", f"{what}s", multiple=True, metavar=takes, help=text),
            add(f"--remove-{what}", f"fewer_{what}s", multiple=True, metavar=takes, help=less),
            add(f"--any-{what}", is_flag=True, help=none),
        ]
    for option in reversed(options):
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
    if known := KNOWN.get(text.upper()):
        return known.address
    return wallet_address(text, "token: neither a symbol nor an address")
