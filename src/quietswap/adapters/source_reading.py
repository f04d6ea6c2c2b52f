"""What all aggregator adapters read alike: hostile numbers, addresses, calldata, and failures."""

from collections.abc import Awaitable
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

from quietswap.adapters.http import BadBody, HttpReply, HttpTrouble, OtherShape, TimedOut
from quietswap.domain import address as addresses
from quietswap.domain.address import Address
from quietswap.domain.amounts import UINT256_MAX
from quietswap.domain.route import Miss, SourceMiss

T = TypeVar("T")

_MOST_DIGITS = 78
_MOST_GAS = 10**9
_LONGEST_PAUSE_S = 300.0
_MOST_CALLDATA = 120_000
"""Nodes refuse transactions above 128 KiB, `txMaxSize` of
https://github.com/ethereum/go-ethereum/blob/master/core/txpool/legacypool/legacypool.go."""
_LARGEST_EXPONENT = 40
_MOST_WORDS = 500


def bad(reason: str) -> SourceMiss:
    """Return a miss for an answer that is readable but wrong."""
    return SourceMiss(Miss.BAD_REPLY, reason[:120])


async def fetched(exchange: Awaitable[HttpReply]) -> HttpReply:
    """Return the answer; a failure of the transport becomes a SourceMiss."""
    try:
        return await exchange
    except TimedOut as error:
        raise SourceMiss(Miss.TIMED_OUT, str(error)) from None
    except HttpTrouble as error:
        raise SourceMiss(Miss.UNAVAILABLE, str(error)) from None


def parsed(reply: HttpReply, shape: type[T]) -> T:
    """Return the body as `shape`. HTML and broken JSON mean the source is down."""
    try:
        return reply.read(shape)
    except OtherShape as error:
        raise bad(str(error)) from None
    except BadBody as error:
        raise SourceMiss(Miss.UNAVAILABLE, str(error)) from None


def by_status(reply: HttpReply) -> SourceMiss:
    """Return the miss an HTTP status alone amounts to, for any vendor."""
    if reply.status == 429:
        pause = pause_s(reply, "retry-after")
        return SourceMiss(Miss.RATE_LIMITED, "too many requests", retry_after=pause)
    if reply.is_html:  # of a gateway before the vendor, which asks for a browser or is broken
        return SourceMiss(Miss.UNAVAILABLE, f"a web page with status {reply.status}")
    if reply.status in (401, 403, 451):
        return SourceMiss(Miss.REFUSED, f"refused with status {reply.status}")
    return SourceMiss(Miss.UNAVAILABLE, f"status {reply.status}")


def pause_s(reply: HttpReply, header: str) -> float | None:
    """Return the seconds a header asks us to stay away, at most 300; None for a date or nothing."""
    value = reply.headers.get(header, "")
    return min(float(value), _LONGEST_PAUSE_S) if value.isdecimal() else None


def amount(value: object, name: str) -> int:
    """Return a positive amount of at most 2**256 - 1 from a JSON integer or digit string."""
    if (
        isinstance(value, str)
        and value.isascii()
        and value.isdigit()
        and len(value) <= _MOST_DIGITS
    ):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= UINT256_MAX:
        raise bad(f"{name} is not a positive integer amount")
    return value


def wei(value: object, name: str) -> int:
    """Return an amount that may be 0 or absent (meaning 0), decimal or 0x-hex."""
    if value in (None, "", "0", 0, "0x", "0x0"):
        return 0
    if isinstance(value, str) and value.startswith("0x") and len(value) <= 66:
        try:
            value = int(value, 16)
        except ValueError:
            raise bad(f"{name} is not an amount") from None
    return amount(value, name)


def gas(value: object) -> int | None:
    """Return gas units, or None when the source's figure is absent, 0 or no number."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 12:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < _MOST_GAS:
        return None
    return value


def address(value: object, name: str) -> Address:
    """Return an address in any case as EIP-55."""
    try:
        return addresses.from_any_case(value if isinstance(value, str) else "")
    except addresses.BadAddress:
        raise bad(f"{name} is not an address") from None


def same_token(value: object, expected: Address, name: str) -> None:
    """Raise BAD_REPLY when the source answers for another token; absent passes."""
    if value is not None and address(value, name) != expected:
        raise bad(f"{name} is another token than asked")


def path(tokens: list[object], sell: Address, buy: Address) -> tuple[Address, ...]:
    """Return token addresses along the path, each once in a row, from the sold to the bought one.

    What is not an address is left out: the path is for people, it moves no money.
    """
    found: list[Address] = [sell]
    for token in tokens:
        try:
            step = addresses.from_any_case(token if isinstance(token, str) else "")
        except addresses.BadAddress:
            continue
        if step not in (found[-1], sell, buy):
            found.append(step)
    return (*found, buy)


def hexdata(value: object) -> bytes:
    """Return calldata: at least a selector, as 0x-prefixed hex."""
    if not isinstance(value, str) or not value.startswith("0x"):
        raise bad("the calldata is not 0x-prefixed hex")
    if len(value) > 2 * _MOST_CALLDATA:
        raise bad("the calldata does not fit into a transaction")
    try:
        data = bytes.fromhex(value[2:])
    except ValueError:
        raise bad("the calldata is not hex") from None
    if len(data) < 4:
        raise bad("the calldata holds no call")
    return data


def decimal(value: object) -> Decimal | None:
    """Return a number written as JSON number or text, at most 40 digits before or behind the
    point; None otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(str(value)[:40])
    except InvalidOperation:
        return None
    if not number.is_finite() or abs(number.adjusted()) > _LARGEST_EXPONENT:
        return None
    return number


def text(value: Any, fallback: str) -> str:
    """Return a short printable name."""
    return value[:40] if isinstance(value, str) and value.isprintable() and value else fallback


def words(*values: object) -> str:
    """Return the texts among `values` in lower case, to look for a vendor's known words in."""
    return " ".join(value[:_MOST_WORDS] for value in values if isinstance(value, str)).lower()
