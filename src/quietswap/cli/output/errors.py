"""Error output: the message, the figures in token units, and what to do next."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.text import Text

from quietswap.cli.output.exit_codes import REFUSED, UNDECIDED, UNREACHABLE
from quietswap.cli.output.quote import why
from quietswap.cli.output.tokens import ETHER, KNOWN, DisplayToken
from quietswap.client.errors.api import InsufficientAllowance, InsufficientBalance, ValidationError
from quietswap.client.errors.base import (
    ApiError,
    ClientError,
    NodeRpcError,
    NodeUnreachable,
    ServiceUnreachable,
    UnexpectedResponse,
    WrongChain,
)
from quietswap.client.errors.flow import (
    AfterSubmission,
    MayBeMined,
    MinedAnyway,
    NeverMined,
    NonceMismatch,
    OrderStillOpen,
    QuoteDeclined,
    SignerMismatch,
    StatusContradiction,
    TransactionHashMismatch,
    TransactionReplaced,
    UnsafeQuote,
)

if TYPE_CHECKING:
    from quietswap.cli.context import CommandContext

_NEXT: dict[type[ClientError], str] = {
    NodeUnreachable: "Is --rpc-url (QUIETSWAP_RPC_URL) right (http or https?), and the node up?",
    ServiceUnreachable: "Is --url (QUIETSWAP_URL) right (http or https?), and the service up?"
    " To try without one, run: quietswap sandbox",
    UnexpectedResponse: "Is --url (QUIETSWAP_URL) a quietswap service,"
    " and --rpc-url an Ethereum node?",
    WrongChain: "Is --rpc-url (QUIETSWAP_RPC_URL) a mainnet node? Nothing more was sent.",
    NonceMismatch: "Nothing was signed.",
    UnsafeQuote: "Nothing was signed. Do not trust this service unless its operator can explain it",
    TransactionHashMismatch: "The signed transaction may still be mined. Do not trust this service"
    " unless its operator can explain it.",
    StatusContradiction: "What your own node says counts. Do not trust this service unless its"
    " operator can explain it.",
    NodeRpcError: "Your Ethereum node refused; nothing more was sent.",
    MayBeMined: "Do not repeat it with another nonce: both could be mined.",
    MinedAnyway: "The transaction was mined. What your own node says counts.",
    NeverMined: "Nothing was swapped.",
}


def exit_code(error: ClientError) -> int:
    """Return the exit code of an error: 4 if a signed transaction may still be mined."""
    if isinstance(error, NeverMined):
        return REFUSED
    if isinstance(error, AfterSubmission | OrderStillOpen | TransactionHashMismatch):
        return UNDECIDED
    if isinstance(error, StatusContradiction):
        return REFUSED if error.status == "confirmed" else UNDECIDED
    return UNREACHABLE if isinstance(error, ServiceUnreachable | UnexpectedResponse) else REFUSED


JSON_NAMES: dict[type, str] = {
    ServiceUnreachable: "Unreachable",
    UnexpectedResponse: "BadAnswer",
    NodeRpcError: "NodeRefused",
    SignerMismatch: "WronglySigned",
    NonceMismatch: "OtherNonce",
    TransactionHashMismatch: "OtherTransaction",
    StatusContradiction: "Contradicted",
    QuoteDeclined: "Declined",
    TransactionReplaced: "Replaced",
    OrderStillOpen: "StillOpen",
}
"""The values of `error` in JSON for classes with another name in Python. Programs read them."""


def error_name(error: BaseException | None) -> str:
    """Return the JSON member `error`: the API's error code, or the name of the error class."""
    if isinstance(error, ApiError):
        return error.error
    return JSON_NAMES.get(type(error), type(error).__name__)


def print_error(context: "CommandContext", error: ClientError) -> None:
    """Print an error with figures and advice, and with `--json` also as JSON."""
    context.say(Text.assemble(("✗ ", "bold red"), str(error)))
    cause = error.cause if isinstance(error, AfterSubmission) else None
    figures = _figures(cause or error, raw=context.raw)
    for line in (*figures, *_advice(error)):
        context.say(f"  {line}")
    body: dict[str, Any] = {
        "ok": False,
        "error": error_name(error),
        "message": str(error),
    } | context.approval
    if isinstance(error, AfterSubmission):
        body |= {"orderId": error.order_id, "txHash": error.tx_hash, "nonce": error.nonce}
        body |= {"cause": error_name(cause)}
    if isinstance(error, TransactionHashMismatch | OrderStillOpen) and error.tx_hash is not None:
        body |= {"orderId": error.order_id, "txHash": error.tx_hash, "nonce": error.nonce}
    if isinstance(error, TransactionHashMismatch):
        body |= {"namedHash": error.named_hash, "fate": error.fate}
    if isinstance(error, ApiError):
        rate = {"retryAfter": error.retry_after, "limit": error.limit, "window": error.window}
        body |= {"message": error.message, "details": error.raw_details}
        body |= {"suggestion": error.suggestion}
        body |= {name: value for name, value in rate.items() if value is not None}
    context.result(body)


def _advice(error: ClientError) -> Iterator[str]:
    if isinstance(error, ApiError):
        if error.suggestion:
            yield error.suggestion
        if error.error == "NOT_FOUND":
            yield "Is --url (QUIETSWAP_URL) the base address of the service, without a path?"
        if error.retry_after is not None:
            yield f"Try again in {error.retry_after:g} s."
        return
    for kind, text in _NEXT.items():
        if isinstance(error, kind):
            yield text + _way_out(error) if kind is UnsafeQuote else text
            return


def _way_out(error: ClientError) -> str:
    """Return the options that only a refused router has; a cancel has none of them."""
    if "not a router known here" not in str(error):
        return "."
    return "; a router you trust can be named with --router and --accept-unbound."


def _figures(error: ClientError, *, raw: bool) -> Iterator[str]:
    """Yield the error's details as lines, with amounts in token units."""
    if isinstance(error, InsufficientBalance) and error.details:
        has = error.details
        token = _token(has.asset or "ETH", raw=raw)
        needs, held = token.show(has.required), token.show(has.available)
        is_short = has.available < has.required
        yield f"It needs {needs} and holds {held}." if is_short else f"{needs} at most, of {held}."
    if isinstance(error, InsufficientAllowance) and error.details:
        may = error.details
        token = _token(may.token, raw=raw)
        needs, now = token.show(may.required), token.show(may.current)
        yield f"{may.router} may move {now}, the swap needs {needs}."
    if isinstance(error, ValidationError) and error.details:
        for field in error.details.fields:
            wanted, given = field.get("expected"), field.get("provided")
            yield f"{field.get('field', '?')}: expected {wanted}, provided {given}"
    if isinstance(error, ApiError) and error.raw_details:
        sources = error.raw_details.get("sources")
        for each in sources if isinstance(sources, list) else []:
            if not isinstance(each, dict):
                continue
            said = why(str(each.get("outcome", "")), each.get("reason") and str(each["reason"]))
            yield f"{each.get('source')}: {said}"


def _token(asset: str, *, raw: bool) -> DisplayToken:
    known = {"ETH": ETHER} | {token.address: token for token in KNOWN.values()}
    return replace(known.get(asset, DisplayToken(asset, f"smallest units of {asset}", 0)), raw=raw)
