"""Results and errors of tools: JSON as structured content, and the same JSON as text."""

import functools
import inspect
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, ParamSpec

import click
from mcp.types import CallToolResult, TextContent
from pydantic import ValidationError

from quietswap.cli.mcp.marked import LONGEST_ANSWER, marked, order_named, untrusted
from quietswap.cli.output.errors import JSON_NAMES, exit_code
from quietswap.cli.output.exit_codes import UNDECIDED
from quietswap.cli.output.tokens import BadText
from quietswap.client.errors import (
    AfterSubmission,
    ApiError,
    ClientError,
    OrderStillOpen,
    TransactionHashMismatch,
)
from quietswap.client.wire import encode
from quietswap.contract.errors import ERRORS

P = ParamSpec("P")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")
_WITH_TRANSACTION = (AfterSubmission, OrderStillOpen, TransactionHashMismatch)


class Refused(Exception):
    """This server refuses a call. `field` names the argument at fault; None if it is none.

    `given` is what the caller wrote: it is shown as foreign text, never within the message.
    """

    def __init__(
        self, error: str, message: str, field: str | None = None, given: str | None = None
    ) -> None:
        super().__init__(message)
        self.error = error
        self.field = field
        self.given = given


class BadInput(Refused):
    """An argument is not what the tool takes."""

    def __init__(self, field: str, message: str, given: str | None = None) -> None:
        super().__init__("BAD_INPUT", f"{field}: {message}", field, given)


def bad_argument(error: ValidationError, known: Iterable[str]) -> BadInput:
    """Return the refusal of the first argument that a tool does not take; it has those `known`.

    The message of pydantic names what is expected; it does not repeat the argument.
    """
    found = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = str(found["loc"][0])
    if found["type"] != "extra_forbidden":
        return BadInput(field, found["msg"])
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
    known = isinstance(error, ApiError) and error.error in ERRORS
    code = error.error if known and isinstance(error, ApiError) else JSON_NAMES.get(type(error))
    body: dict[str, Any] = {"error": code or type(error).__name__}
    if isinstance(error, ApiError):
        details = marked(error.details) if error.details is not None else None
        body |= {"details": details} if details else {}
        body |= {"retryAfter": error.retry_after} if error.retry_after is not None else {}
        return body | untrusted(message=error.message, suggestion=error.suggestion)
    if isinstance(error, _WITH_TRANSACTION):
        body |= {"txHash": error.tx_hash, "nonce": error.nonce}
        body |= {"mayBeMined": exit_code(error) == UNDECIDED}
        return body | order_named(error.order_id) | untrusted(message=str(error))
    return body | untrusted(message=str(error))
