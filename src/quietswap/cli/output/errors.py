"""Error output: the message, the figures in token units, and what to do next."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.text import Text

from quietswap.cli.option_names import in_options
from quietswap.cli.output.exit_codes import REFUSED, UNDECIDED, UNREACHABLE
from quietswap.cli.output.quote import why
from quietswap.cli.output.tokens import ETHER, KNOWN, DisplayToken
from quietswap.client import errors
from quietswap.client.flows.finality import TransactionOutcome

if TYPE_CHECKING:
    from quietswap.cli.context import CommandContext

_NO_TRUST = "Do not trust this service unless its operator can explain it"
_NEXT: dict[type[errors.ClientError], str] = {
    errors.NodeUnreachable: "Is --rpc-url (QUIETSWAP_RPC_URL) right (http or https?), and the node"
    " up?",
    errors.ServiceUnreachable: "Is --url (QUIETSWAP_URL) right (http or https?), and the service"
    " up? To try without one, run: quietswap sandbox",
    errors.UnexpectedResponse: "Is --url (QUIETSWAP_URL) a quietswap service,"
    " and --rpc-url an Ethereum node?",
    errors.WrongChain: "Is --rpc-url (QUIETSWAP_RPC_URL) a mainnet node? Nothing more was sent.",
    errors.NonceMismatch: "Nothing was signed.",
    errors.UnsafeQuote: f"Nothing was signed. {_NO_TRUST}.",
    errors.TransactionHashMismatch: f"The signed transaction may still be mined. {_NO_TRUST}.",
    errors.StatusContradiction: f"What your own node says counts. {_NO_TRUST}.",
    errors.NodeRpcError: "Your Ethereum node refused; nothing more was sent.",
    errors.MayBeMined: "Do not repeat it with another nonce: both could be mined.",
    errors.MinedAnyway: "The transaction was mined. What your own node says counts.",
    errors.NeverMined: "Nothing was swapped.",
}
_SIGNED = errors.AfterSubmission | errors.TransactionHashMismatch | errors.OrderStillOpen


def exit_code(error: errors.ClientError) -> int:
    """Return the exit code of an error: 4 if a signed transaction may still be mined."""
    if isinstance(error, errors.NeverMined):
        return REFUSED
    if isinstance(
        error, errors.AfterSubmission | errors.OrderStillOpen | errors.TransactionHashMismatch
    ):
        return UNDECIDED
    if isinstance(error, errors.StatusContradiction):
        return REFUSED if error.status == "confirmed" else UNDECIDED
    if isinstance(error, errors.ServiceUnreachable | errors.UnexpectedResponse):
        return UNREACHABLE
    return REFUSED


JSON_NAMES: dict[type, str] = {
    errors.ServiceUnreachable: "Unreachable",
    errors.UnexpectedResponse: "BadAnswer",
    errors.NodeRpcError: "NodeRefused",
    errors.SignerMismatch: "WronglySigned",
    errors.NonceMismatch: "OtherNonce",
    errors.TransactionHashMismatch: "OtherTransaction",
    errors.StatusContradiction: "Contradicted",
    errors.QuoteDeclined: "Declined",
    errors.TransactionReplaced: "Replaced",
    errors.OrderStillOpen: "StillOpen",
}
"""The values of `error` in JSON for classes with another name in Python. Programs read them."""


def error_name(error: BaseException | None) -> str:
    """Return the JSON member `error`: the API's error code, or the name of the error class."""
    if isinstance(error, errors.ApiError):
        return error.error
    return JSON_NAMES.get(type(error), type(error).__name__)


def print_error(context: "CommandContext", error: errors.ClientError) -> None:
    """Print an error with figures and advice, and with `--json` also as JSON."""
    message = _in_tokens(in_options(str(error)), error, raw=context.raw)
    context.say(Text.assemble(("✗ ", "bold red"), message))
    cause = error.cause if isinstance(error, errors.AfterSubmission) else None
    figures = _figures(cause or error, raw=context.raw)
    for line in (*figures, *_advice(error)):
        context.say(f"  {line}")
    body: dict[str, Any] = {"ok": False, "error": error_name(error), "message": message}
    body |= context.approval
    if isinstance(error, _SIGNED) and error.tx_hash is not None:
        body |= {"orderId": error.order_id, "txHash": error.tx_hash, "nonce": error.nonce}
    if isinstance(error, errors.AfterSubmission):
        body |= {"cause": error_name(cause)}
    if isinstance(error, errors.TransactionHashMismatch):
        body |= {"namedHash": error.named_hash, "fate": error.fate}
    if isinstance(error, errors.ApiError):
        rate = {"retryAfter": error.retry_after, "limit": error.limit, "window": error.window}
        body |= {"message": error.message, "details": error.raw_details}
        body |= {"suggestion": error.suggestion}
        body |= {name: value for name, value in rate.items() if value is not None}
    context.result(body)


def _in_tokens(text: str, error: errors.ClientError, *, raw: bool) -> str:
    """Return the text with the amounts of a declined quote in token units."""
    if raw or not isinstance(error, errors.QuoteDeclined) or error.short is None:
        return text
    address, has, needs = error.short
    token = _token(address, raw=raw)
    available, needed = token.show(has), token.show(needs)
    text = text.replace(
        f"{has} of {needs} smallest units of the sell token", f"{available} of {needed}"
    )
    return text.replace(
        f"{needs} smallest units, more than {has}", f"{needed}, more than {available}"
    )


def _advice(error: errors.ClientError) -> Iterator[str]:
    if isinstance(error, errors.ApiError):
        if error.suggestion:
            yield error.suggestion
        if error.error == "NOT_FOUND":
            yield "Is --url (QUIETSWAP_URL) the base address of the service, without a path?"
        if error.retry_after is not None:
            yield f"Try again in {error.retry_after:g} s."
        return
    open_fates = None, TransactionOutcome.OPEN
    if isinstance(error, errors.TransactionHashMismatch) and error.fate not in open_fates:
        yield _NEXT[errors.StatusContradiction]
        return
    for kind, text in _NEXT.items():
        if isinstance(error, kind):
            yield text
            return


def _figures(error: errors.ClientError, *, raw: bool) -> Iterator[str]:
    """Yield the error's details as lines, with amounts in token units."""
    if isinstance(error, errors.InsufficientBalance) and error.details:
        has = error.details
        token = _token(has.asset or "ETH", raw=raw)
        needs, balance = token.show(has.required), token.show(has.available)
        is_short = has.available < has.required
        yield (
            f"It needs {needs} and holds {balance}."
            if is_short
            else f"{needs} at most, of {balance}."
        )
    if isinstance(error, errors.InsufficientAllowance) and error.details:
        may = error.details
        token = _token(may.token, raw=raw)
        needs, now = token.show(may.required), token.show(may.current)
        yield f"{may.router} may move {now}, the swap needs {needs}."
    if isinstance(error, errors.ValidationError) and error.details:
        for field in error.details.fields:
            expected, provided = field.get("expected"), field.get("provided")
            yield f"{field.get('field', '?')}: expected {expected}, provided {provided}"
    if isinstance(error, errors.ApiError) and error.raw_details:
        sources = error.raw_details.get("sources")
        for each in sources if isinstance(sources, list) else []:
            if not isinstance(each, dict):
                continue
            reason = why(str(each.get("outcome", "")), each.get("reason") and str(each["reason"]))
            if reason:  # it had a route
                yield f"{each.get('source')}: {reason}"


def _token(asset: str, *, raw: bool) -> DisplayToken:
    tokens = {"ETH": ETHER} | {token.address: token for token in KNOWN.values()}
    return replace(tokens.get(asset, DisplayToken(asset, f"smallest units of {asset}", 0)), raw=raw)
