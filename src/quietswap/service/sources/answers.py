"""Untrusted answers of vendors: numbers, addresses, calldata, and the reasons for no route."""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, TypeGuard, TypeVar

import msgspec

from quietswap.rules.amounts import UINT256_MAX
from quietswap.rules.foreign_text import quoted
from quietswap.rules.quotes.indicative_price import SourcePriceRequest
from quietswap.rules.quotes.quote import NoRoute, NoRouteReason, RouteRequest
from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address
from quietswap.service.base.http_client import HttpReply, InvalidBody, UnexpectedShape

T = TypeVar("T")


class Token(msgspec.Struct):
    address: Any = None


class Failure(msgspec.Struct):
    error: Any = None
    errorType: Any = None
    description: Any = None
    detail: Any = None
    details: Any = None
    name: Any = None
    message: Any = None


class Transaction(msgspec.Struct):
    """The transaction of an answer, with the names that most vendors use."""

    to: Any = None
    data: Any = None
    value: Any = None
    gas: Any = None


_MOST_DIGITS = 78
_MOST_GAS = 10**9
LONGEST_PAUSE_S = 300.0
_MOST_CALLDATA = 120_000
"""Bytes. Nodes refuse transactions above 128 KiB, `txMaxSize` of
https://github.com/ethereum/go-ethereum/blob/master/core/txpool/legacypool/legacypool.go."""
_LARGEST_EXPONENT = 40
_MOST_WORDS = 500
_LONGEST_SENTENCE = 90
_MOST_CODES = 10**6
_LONGEST_PATH = 16
"""In tokens, both ends included."""
_MOST_STEPS_READ = 64


def bad_reply(reason: str) -> NoRoute:
    """Return the NoRoute for a readable, but wrong response."""
    return NoRoute(NoRouteReason.BAD_REPLY, reason[:120])


def parse(reply: HttpReply, shape: type[T]) -> T:
    """Return the body as `shape`. HTML and invalid JSON mean that the source is unavailable."""
    try:
        return reply.read(shape)
    except UnexpectedShape as error:
        raise bad_reply(str(error)) from None
    except InvalidBody as error:
        raise NoRoute(NoRouteReason.UNAVAILABLE, str(error)) from None


def no_route_for_status(reply: HttpReply) -> NoRoute:
    """Return the NoRoute for an HTTP status, for any vendor, with what the reply says."""
    if reply.status == 429:
        pause = retry_after_s(reply, "retry-after")
        return NoRoute(NoRouteReason.RATE_LIMITED, "too many requests", retry_after=pause)
    miss, plain = NoRouteReason.UNAVAILABLE, f"status {reply.status}"
    if reply.is_html:  # from a gateway in front of the vendor
        plain = f"a web page with status {reply.status}"
    elif reply.status in (401, 403, 451):
        miss, plain = NoRouteReason.REFUSED, f"refused with status {reply.status}"
    no_route = refusal(miss, reply.words(), otherwise=plain)
    if no_route.reason != plain:
        no_route.reason += f" (status {reply.status})"
    return no_route


def retry_after_s(reply: HttpReply, header: str) -> float | None:
    """Return the pause in seconds of a header, at most 300; None for a date or no header."""
    value = reply.headers.get(header, "")
    return min(float(value), LONGEST_PAUSE_S) if value.isdecimal() else None


def _is_digits(value: object, most: int) -> TypeGuard[str]:
    if not isinstance(value, str) or len(value) > most:
        return False
    return value.isascii() and value.isdigit()


def amount(value: object, name: str) -> int:
    """Return a positive amount of at most 2**256 - 1 from a JSON integer or digit string."""
    if _is_digits(value, _MOST_DIGITS):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= UINT256_MAX:
        raise bad_reply(f"{name} is not a positive integer amount")
    return value


def output(value: object, name: str) -> int:
    """Return a promised output. One of 0 is no route: so little was asked for."""
    if value in ("0", 0) and not isinstance(value, bool | float):
        raise NoRoute(NoRouteReason.NO_ROUTE, f"{name} is 0")
    return amount(value, name)


def wei(value: object, name: str) -> int:
    """Return an amount that may be 0 or absent (0), decimal or 0x-hex."""
    if value in (None, "", "0", 0, "0x", "0x0"):
        return 0
    if isinstance(value, str) and value.startswith("0x") and len(value) <= 66:
        try:
            value = int(value, 16)
        except ValueError:
            raise bad_reply(f"{name} is not an amount") from None
    return amount(value, name)


def gas(value: object) -> int | None:
    """Return gas units; None if the value is absent, 0 or not a number."""
    if _is_digits(value, 11):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < _MOST_GAS:
        return None
    return value


def address(value: object, name: str) -> Address:
    """Return an address in any case with EIP-55 checksum."""
    try:
        return addresses.from_any_case(value if isinstance(value, str) else "")
    except addresses.BadAddress:
        raise bad_reply(f"{name} is not an address") from None


def same_token(value: object, expected: Address, name: str) -> None:
    """Raise BAD_REPLY if the response is for another token. An absent value passes."""
    if value is not None and address(value, name) != expected:
        raise bad_reply(f"{name} is another token than asked")


def same_swap(request: RouteRequest | SourcePriceRequest, **fields: object) -> None:
    """Raise BAD_REPLY if the response is for another swap.

    `fields` are, in this order and by the vendor's names, the sold and the bought token and the
    sold amount.
    """
    (sold, sell), (bought, buy), (name, sell_amount) = fields.items()
    same_token(sell, request.sell.address, sold)
    same_token(buy, request.buy.address, bought)
    if amount(sell_amount, name) != request.sell_amount:
        raise bad_reply("it sells another amount than asked")


def path(tokens: Sequence[object], sell: Address, buy: Address) -> tuple[Address, ...]:
    """Return the token addresses of the path from the sell to the buy token, without repetitions.

    Invalid addresses are omitted, and the path is cut at 16 tokens: it is only displayed.
    """
    steps: list[Address] = [sell]
    for token in tokens[:_MOST_STEPS_READ]:
        if len(steps) == _LONGEST_PATH - 1:
            break
        try:
            step = addresses.from_any_case(token if isinstance(token, str) else "")
        except addresses.BadAddress:
            continue
        if step not in (steps[-1], sell, buy):
            steps.append(step)
    return (*steps, buy)


def hexdata(value: object) -> bytes:
    """Return calldata: at least a selector, as 0x-prefixed hex."""
    if not isinstance(value, str) or not value.startswith("0x"):
        raise bad_reply("the calldata is not 0x-prefixed hex")
    if len(value) > 2 * _MOST_CALLDATA:
        raise bad_reply("the calldata does not fit into a transaction")
    try:
        data = bytes.fromhex(value[2:])
    except ValueError:
        raise bad_reply("the calldata is not hex") from None
    if len(data) < 4:
        raise bad_reply("the calldata holds no call")
    return data


def decimal(value: object) -> Decimal | None:
    """Return a number from a JSON number or text of at most 40 digits; else None."""
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
    return value[:40] if isinstance(value, str) and value.isprintable() and value else fallback


def words(*values: object) -> str:
    """Return the texts among `values` in lower case, for a search for known error texts."""
    return " ".join(value[:_MOST_WORDS] for value in values if isinstance(value, str)).lower()


def refusal(
    miss: NoRouteReason | None, *sentence: object, code: object = None, otherwise: str = ""
) -> NoRoute:
    """Return the NoRoute for a vendor's refusal, with its sentence as the reason.

    The sentence is cut, on one line and in quotation marks: no other reason holds foreign text.
    `miss` None is a refusal of unknown meaning; without sentence and code it is a bad reply.
    """
    sentence_text = " ".join(text[:_MOST_WORDS] for text in sentence if isinstance(text, str))
    sentence_text = quoted(sentence_text, _LONGEST_SENTENCE)
    is_code = isinstance(code, int) and not isinstance(code, bool) and 0 <= code < _MOST_CODES
    number = f"code {code}" if is_code else ""
    if miss is None:
        miss = NoRouteReason.REFUSED if sentence_text or number else NoRouteReason.BAD_REPLY
    if sentence_text:
        return NoRoute(miss, f"vendor: {sentence_text}" + (f" ({number})" if number else ""))
    return NoRoute(miss, number or otherwise or "refused without a reason")
