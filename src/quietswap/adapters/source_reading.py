"""What all aggregator adapters read alike: hostile numbers, addresses, calldata, and failures."""

from collections.abc import Awaitable
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

from quietswap.adapters.http import BadBody, HttpReply, HttpTrouble, TimedOut
from quietswap.domain import address as addresses
from quietswap.domain.address import Address
from quietswap.domain.amounts import UINT256_MAX
from quietswap.domain.route import Miss, SourceMiss

T = TypeVar("T")

_MOST_DIGITS = 78
_MOST_GAS = 10**9
_LONGEST_PAUSE_S = 300.0


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
        found: T = reply.read(shape)
    except BadBody as error:
        miss = Miss.BAD_REPLY if "another shape" in str(error) else Miss.UNAVAILABLE
        raise SourceMiss(miss, str(error)) from None
    return found


def by_status(reply: HttpReply) -> SourceMiss:
    """Return the miss an HTTP status alone amounts to, for any vendor."""
    if reply.status == 429:
        pause = reply.headers.get("retry-after", "")
        seconds = min(float(pause), _LONGEST_PAUSE_S) if pause.isdecimal() else None
        return SourceMiss(Miss.RATE_LIMITED, "too many requests", retry_after=seconds)
    if reply.status in (401, 403, 451):
        return SourceMiss(Miss.REFUSED, f"refused with status {reply.status}")
    return SourceMiss(Miss.UNAVAILABLE, f"status {reply.status}")


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
    try:
        data = bytes.fromhex(value[2:])
    except ValueError:
        raise bad("the calldata is not hex") from None
    if len(data) < 4:
        raise bad("the calldata holds no call")
    return data


def decimal(value: object) -> Decimal | None:
    """Return a finite number written as JSON number or text; None otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(str(value)[:40])
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def text(value: Any, fallback: str) -> str:
    """Return a short printable name."""
    return value[:40] if isinstance(value, str) and value.isprintable() and value else fallback
