"""What went wrong, for people: the reason, the figures behind it, and what to do next."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.text import Text

from quietswap.cli.tokens import ETHER, KNOWN, Token
from quietswap.client import (
    ApiError,
    BadAnswer,
    ClientError,
    Contradicted,
    InsufficientAllowance,
    InsufficientBalance,
    NodeRefused,
    NodeUnreachable,
    OtherTransaction,
    Unreachable,
    UnsafeQuote,
    ValidationError,
    WrongChain,
)

if TYPE_CHECKING:
    from quietswap.cli.connection import Link

_NEXT: dict[type[ClientError], str] = {
    NodeUnreachable: "Is --rpc-url (QUIETSWAP_RPC_URL) right, and the node up?",
    Unreachable: "Is --url (QUIETSWAP_URL) right, and the service up? To try without one, run:"
    " quietswap sandbox",
    BadAnswer: "Is --url (QUIETSWAP_URL) a quietswap service, and --rpc-url an Ethereum node?",
    WrongChain: "Is --rpc-url (QUIETSWAP_RPC_URL) the right one? Nothing more was sent.",
    UnsafeQuote: "Nothing was signed. Do not trust this service unless its operator can explain"
    " it; a router you trust can be named with --router.",
    OtherTransaction: "The signed transaction may still be mined. Do not trust this service unless"
    " its operator can explain it.",
    Contradicted: "What your own node says counts. Do not trust this service unless its operator"
    " can explain it.",
    NodeRefused: "Your Ethereum node refused; nothing more was sent.",
}


def complain(link: "Link", error: ClientError) -> None:
    """Print an error with all that helps, and its machine's form where that is wanted."""
    link.say(Text.assemble(("✗ ", "bold red"), str(error)))
    for line in (*_figures(error, raw=link.raw), *_advice(error)):
        link.say(Text(f"  {line}"))
    body: dict[str, Any] = {
        "ok": False,
        "error": error.error if isinstance(error, ApiError) else type(error).__name__,
        "message": str(error),
    }
    if isinstance(error, ApiError):
        rate = {"retryAfter": error.retry_after, "limit": error.limit, "window": error.window}
        body |= {"message": error.message, "details": error.raw_details}
        body |= {"suggestion": error.suggestion}
        body |= {name: value for name, value in rate.items() if value is not None}
    link.result(body)


def _advice(error: ClientError) -> Iterator[str]:
    if isinstance(error, ApiError):
        if error.suggestion:
            yield error.suggestion
        if error.retry_after is not None:
            yield f"Try again in {error.retry_after:g} s."
        return
    for kind, text in _NEXT.items():
        if isinstance(error, kind):
            yield text
            return


def _figures(error: ClientError, *, raw: bool) -> Iterator[str]:
    """Yield the details that a code carries, in units of their tokens."""
    if isinstance(error, InsufficientBalance) and error.details:
        has = error.details
        token = _token(has.asset or "ETH")
        needs = token.show(has.required, raw=raw)
        held = token.show(has.available, raw=raw)
        is_short = has.available < has.required
        yield f"It needs {needs} and holds {held}." if is_short else f"{needs} at most, of {held}."
    if isinstance(error, InsufficientAllowance) and error.details:
        may = error.details
        token = _token(may.token)
        needs, now = token.show(may.required, raw=raw), token.show(may.current, raw=raw)
        yield f"{may.router} may move {now}, the swap needs {needs}."
    if isinstance(error, ValidationError) and error.details:
        for field in error.details.fields:
            wanted, given = field.get("expected"), field.get("provided")
            yield f"{field.get('field', '?')}: expected {wanted}, provided {given}"
    if isinstance(error, ApiError) and error.raw_details:
        sources = error.raw_details.get("sources")
        for each in sources if isinstance(sources, list) else []:
            outcome = str(each.get("outcome", "")).replace("_", " ")
            yield ": ".join(filter(None, (str(each.get("source")), outcome, each.get("reason"))))


def _token(asset: str) -> Token:
    if asset == "ETH":
        return ETHER
    found = {token.address: token for token in KNOWN.values()}.get(asset)
    return found or Token(asset, f"smallest units of {asset}", 0)
