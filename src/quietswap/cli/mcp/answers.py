"""Results and errors of tools: JSON as structured content, and the same JSON as text.

Text that others wrote is marked as data, because a model may take any text for an instruction: the
name of a token, the words of a relay, a reason of a vendor, a message of the service. Such text
stands only in a member `untrustedText`, bounded and without control characters. A text stays in its
own place if the contract declares its values or its pattern and it has one of them, or if it is an
order id or the name of a source known here. So a new member of the interface is marked until the
contract declares what it may hold.
"""

import functools
import inspect
import re
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, ParamSpec, get_args, get_origin

import click
import msgspec
from mcp.types import CallToolResult, TextContent
from msgspec import UNSET
from pydantic import ValidationError

from quietswap.cli.output.errors import JSON_NAMES, exit_code
from quietswap.cli.output.exit_codes import UNDECIDED
from quietswap.cli.output.tokens import BadText
from quietswap.client import ApiError, ClientError, errors
from quietswap.client.wire import encode
from quietswap.rules.contract.errors import ERRORS
from quietswap.rules.foreign_text import harmless
from quietswap.rules.vendors import VENDORS
from quietswap.rules.wire import WireAmount, WireStruct

P = ParamSpec("P")
UNTRUSTED = "untrustedText"
LONGEST_TEXT = 200
"""Characters of one text that others wrote."""
LONGEST_ANSWER = 200_000
"""Characters of one result: more would fill a model's context."""
_ORDER_ID = re.compile(r"[a-z]{3}_[0-9a-f]{32}", re.ASCII)
_HASH = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)
"""A hash is no text, whoever names it, so it always stands in its own place."""
_STRAIGHT = str.maketrans(dict.fromkeys("‘’“”", "'"))
"""`harmless` puts typographic quotation marks against HTML, which a model's JSON is not."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")
_WITH_TRANSACTION = errors.AfterSubmission | errors.OrderStillOpen | errors.TransactionHashMismatch


class Refused(Exception):
    """This server refuses a call. `field` names the argument at fault; None if it is none.

    `given` is what the caller wrote: it is shown as foreign text, never within the message.
    """

    def __init__(
        self, error: str, message: str, field: str | None = None, given: str | None = None
    ) -> None:
        super().__init__(message)
        self.error, self.field, self.given = error, field, given


class BadInput(Refused):
    """An argument is not what the tool takes."""

    def __init__(self, field: str, message: str, given: str | None = None) -> None:
        super().__init__("BAD_INPUT", f"{field}: {message}", field, given)


def bad_argument(error: ValidationError, known: Iterable[str]) -> BadInput:
    """Return the refusal of the first argument that a tool does not take; it has those `known`.

    The message of pydantic names what is expected; it does not repeat the argument.
    """
    fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = str(fault["loc"][0])
    if fault["type"] != "extra_forbidden":
        return BadInput(field, fault["msg"])
    message = f"no such argument; there are: {', '.join(known)}"
    return BadInput(field if _NAME.fullmatch(field) else "arguments", message, field)


def read_with(field: str, read: Callable[[str], Any], text: str) -> Any:
    """Return an argument read by a function of the command line. Raises BadInput."""
    try:
        return read(text)
    except BadText as error:
        raise BadInput(field, error.why, text) from None
    except click.UsageError as error:
        raise BadInput(field, error.message) from None


def answering(
    tool: Callable[P, Awaitable[dict[str, Any]]],
) -> Callable[P, Awaitable[CallToolResult]]:
    """Return the tool with its result, or its refusal, as the protocol has them."""

    @functools.wraps(tool)
    async def answered(*args: P.args, **kwargs: P.kwargs) -> CallToolResult:
        try:
            return _result(await tool(*args, **kwargs))
        except Refused as error:
            return refusal(error)
        except ClientError as error:
            return _result(_error(error), is_error=True)

    shown = inspect.signature(tool).replace(return_annotation=CallToolResult)
    answered.__signature__ = shown  # type: ignore[attr-defined]
    return answered


def refusal(error: Refused) -> CallToolResult:
    """Return a refusal as the protocol has it."""
    body: dict[str, Any] = {"error": error.error, "message": str(error)}
    body |= {"field": error.field} if error.field else {}
    return _result(body | untrusted(given=error.given), is_error=True)


def _result(body: dict[str, Any], *, is_error: bool = False) -> CallToolResult:
    text = encode(body).decode()
    if len(text) > LONGEST_ANSWER:
        body = {"error": "TOO_LONG", "message": "the answer is too long: ask for less at a time"}
        text, is_error = encode(body).decode(), True
    content = TextContent(type="text", text=text)
    return CallToolResult(content=[content], structured_content=body, is_error=is_error)


def _error(error: ClientError) -> dict[str, Any]:
    """Return an error of the client; its message may repeat what the service or a node said."""
    body: dict[str, Any] = {"error": JSON_NAMES.get(type(error), type(error).__name__)}
    if isinstance(error, ApiError):
        body |= {"error": error.error} if error.error in ERRORS else {}
        details = marked(error.details) if error.details is not None else None
        body |= {"details": details} if details else {}
        body |= {"retryAfter": error.retry_after} if error.retry_after is not None else {}
        return body | untrusted(message=error.message, suggestion=error.suggestion)
    if isinstance(error, errors.UnfinishedTrade):
        body |= {"trade": error.trade, "next": "resume_swap, or new_trade if the person wants it"}
    if isinstance(error, _WITH_TRANSACTION):
        body |= {"txHash": error.tx_hash, "nonce": error.nonce}
        body |= {"mayBeMined": exit_code(error) == UNDECIDED}
        return body | order_named(error.order_id) | untrusted(message=str(error))
    return body | untrusted(message=str(error))


def marked(value: object, *leave_out: str) -> Any:
    """Return decoded JSON of the contract with all foreign text marked.

    Unknown members (None) and the members `leave_out` of the outermost object are absent. Amounts
    are decimal strings, times ISO 8601.
    """
    if isinstance(value, WireStruct):
        return _members(value, leave_out)
    if isinstance(value, WireAmount):
        return str(int(value))
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return msgspec.json.decode(encode(value))
    if isinstance(value, tuple | list):
        return [marked(item) for item in value]
    return value


def untrusted(**texts: object) -> dict[str, Any]:
    """Return the member that holds these texts; None is absent."""
    foreign = {name: _harmless(text) for name, text in texts.items() if text is not None}
    return {UNTRUSTED: foreign} if foreign else {}


def order_named(order_id: str | None) -> dict[str, Any]:
    """Return the member `orderId` if there is one, and it is an id of this service."""
    is_id = order_id is not None and _ORDER_ID.fullmatch(order_id) is not None
    return {"orderId": order_id} if is_id else {}


def _members(value: WireStruct, leave_out: tuple[str, ...]) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    foreign: dict[str, object] = {}
    for field in msgspec.structs.fields(type(value)):
        name, member = field.encode_name, getattr(value, field.name)
        if member is None or member is UNSET or name in leave_out:
            continue
        if _is_declared(type(value), field.name, member):
            plain[name] = marked(member)
        else:
            foreign[name] = member
    return plain | untrusted(**foreign)


def _harmless(text: object) -> Any:
    if isinstance(text, str):
        return harmless(text, LONGEST_TEXT).translate(_STRAIGHT)
    if isinstance(text, tuple | list):
        return [_harmless(item) for item in text]
    return harmless(encode(text).decode(), LONGEST_TEXT).translate(_STRAIGHT)


def _is_declared(kind: type[WireStruct], name: str, member: object) -> bool:
    """Return whether a member holds no text of its writer's choice."""
    if isinstance(member, str):
        values, patterns = _declared(kind)[name]
        return (
            member in values
            or member in VENDORS
            or _ORDER_ID.fullmatch(member) is not None
            or _HASH.fullmatch(member) is not None
            or any(pattern.search(member) for pattern in patterns)
        )
    if isinstance(member, tuple | list):
        return all(_is_declared(kind, name, item) for item in member)
    return not isinstance(member, dict)


_Declared = tuple[frozenset[str], tuple[re.Pattern[str], ...]]


@functools.cache
def _declared(kind: type[WireStruct]) -> dict[str, _Declared]:
    """Return the values and patterns that the contract declares for each member."""
    return {field.name: _of_type(field.type) for field in msgspec.structs.fields(kind)}


def _of_type(annotation: Any) -> _Declared:
    values: set[str] = set()
    patterns: set[str] = set()
    if get_origin(annotation) is Literal:
        return frozenset(get_args(annotation)), ()
    for meta in getattr(annotation, "__metadata__", ()):
        schema = getattr(meta, "extra_json_schema", None) or {}
        values |= {*schema.get("enum", ()), schema.get("const", "")}
        patterns |= {schema["pattern"].removesuffix("$") + r"\Z"} if "pattern" in schema else set()
    compiled = tuple(re.compile(pattern, re.ASCII) for pattern in patterns)
    for part in get_args(annotation):
        inner_values, inner_patterns = _of_type(part)
        values |= inner_values
        compiled += inner_patterns
    return frozenset(values), compiled
