"""Error output: the message, the figures in token units, and what to do next."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.text import Text

from quietswap.cli.output.exit_codes import REFUSED, UNDECIDED, UNREACHABLE
from quietswap.cli.output.quote import why
from quietswap.cli.output.tokens import ETHER, KNOWN, DisplayToken
from quietswap.client.errors import api, base, flow

if TYPE_CHECKING:
    from quietswap.cli.context import CommandContext

_NO_TRUST = "Do not trust this service unless its operator can explain it"
_NEXT: dict[type[base.ClientError], str] = {
    base.NodeUnreachable: "Is --rpc-url (QUIETSWAP_RPC_URL) right (http or https?), and the node"
    " up?",
    base.ServiceUnreachable: "Is --url (QUIETSWAP_URL) right (http or https?), and the service up?"
    " To try without one, run: quietswap sandbox",
    base.UnexpectedResponse: "Is --url (QUIETSWAP_URL) a quietswap service,"
    " and --rpc-url an Ethereum node?",
    base.WrongChain: "Is --rpc-url (QUIETSWAP_RPC_URL) a mainnet node? Nothing more was sent.",
    flow.NonceMismatch: "Nothing was signed.",
    flow.UnsafeQuote: f"Nothing was signed. {_NO_TRUST}",
    flow.TransactionHashMismatch: f"The signed transaction may still be mined. {_NO_TRUST}.",
    flow.StatusContradiction: f"What your own node says counts. {_NO_TRUST}.",
    base.NodeRpcError: "Your Ethereum node refused; nothing more was sent.",
    flow.MayBeMined: "Do not repeat it with another nonce: both could be mined.",
    flow.MinedAnyway: "The transaction was mined. What your own node says counts.",
    flow.NeverMined: "Nothing was swapped.",
}


def exit_code(error: base.ClientError) -> int:
    """Return the exit code of an error: 4 if a signed transaction may still be mined."""
    if isinstance(error, flow.NeverMined):
        return REFUSED
    if isinstance(error, flow.AfterSubmission | flow.OrderStillOpen | flow.TransactionHashMismatch):
        return UNDECIDED
    if isinstance(error, flow.StatusContradiction):
        return REFUSED if error.status == "confirmed" else UNDECIDED
    if isinstance(error, base.ServiceUnreachable | base.UnexpectedResponse):
        return UNREACHABLE
    return REFUSED


JSON_NAMES: dict[type, str] = {
    base.ServiceUnreachable: "Unreachable",
    base.UnexpectedResponse: "BadAnswer",
    base.NodeRpcError: "NodeRefused",
    flow.SignerMismatch: "WronglySigned",
    flow.NonceMismatch: "OtherNonce",
    flow.TransactionHashMismatch: "OtherTransaction",
    flow.StatusContradiction: "Contradicted",
    flow.QuoteDeclined: "Declined",
    flow.TransactionReplaced: "Replaced",
    flow.OrderStillOpen: "StillOpen",
}
"""The values of `error` in JSON for classes with another name in Python. Programs read them."""


def error_name(error: BaseException | None) -> str:
    """Return the JSON member `error`: the API's error code, or the name of the error class."""
    if isinstance(error, base.ApiError):
        return error.error
    return JSON_NAMES.get(type(error), type(error).__name__)


def print_error(context: "CommandContext", error: base.ClientError) -> None:
    """Print an error with figures and advice, and with `--json` also as JSON."""
    context.say(Text.assemble(("✗ ", "bold red"), str(error)))
    cause = error.cause if isinstance(error, flow.AfterSubmission) else None
    figures = _figures(cause or error, raw=context.raw)
    for line in (*figures, *_advice(error)):
        context.say(f"  {line}")
    body: dict[str, Any] = {"ok": False, "error": error_name(error), "message": str(error)}
    body |= context.approval
    signed = flow.AfterSubmission | flow.TransactionHashMismatch | flow.OrderStillOpen
    if isinstance(error, signed) and error.tx_hash is not None:
        body |= {"orderId": error.order_id, "txHash": error.tx_hash, "nonce": error.nonce}
    if isinstance(error, flow.AfterSubmission):
        body |= {"cause": error_name(cause)}
    if isinstance(error, flow.TransactionHashMismatch):
        body |= {"namedHash": error.named_hash, "fate": error.fate}
    if isinstance(error, base.ApiError):
        rate = {"retryAfter": error.retry_after, "limit": error.limit, "window": error.window}
        body |= {"message": error.message, "details": error.raw_details}
        body |= {"suggestion": error.suggestion}
        body |= {name: value for name, value in rate.items() if value is not None}
    context.result(body)


def _advice(error: base.ClientError) -> Iterator[str]:
    if isinstance(error, base.ApiError):
        if error.suggestion:
            yield error.suggestion
        if error.error == "NOT_FOUND":
            yield "Is --url (QUIETSWAP_URL) the base address of the service, without a path?"
        if error.retry_after is not None:
            yield f"Try again in {error.retry_after:g} s."
        return
    for kind, text in _NEXT.items():
        if isinstance(error, kind):
            yield text + _way_out(error) if kind is flow.UnsafeQuote else text
            return


def _way_out(error: base.ClientError) -> str:
    """Return the options that only a refused router has; a cancel has none of them."""
    if "not a router known here" not in str(error):
        return "."
    return "; a router you trust can be named with --router and --accept-unbound."


def _figures(error: base.ClientError, *, raw: bool) -> Iterator[str]:
    """Yield the error's details as lines, with amounts in token units."""
    if isinstance(error, api.InsufficientBalance) and error.details:
        has = error.details
        token = _token(has.asset or "ETH", raw=raw)
        needs, held = token.show(has.required), token.show(has.available)
        is_short = has.available < has.required
        yield f"It needs {needs} and holds {held}." if is_short else f"{needs} at most, of {held}."
    if isinstance(error, api.InsufficientAllowance) and error.details:
        may = error.details
        token = _token(may.token, raw=raw)
        needs, now = token.show(may.required), token.show(may.current)
        yield f"{may.router} may move {now}, the swap needs {needs}."
    if isinstance(error, api.ValidationError) and error.details:
        for field in error.details.fields:
            wanted, given = field.get("expected"), field.get("provided")
            yield f"{field.get('field', '?')}: expected {wanted}, provided {given}"
    if isinstance(error, base.ApiError) and error.raw_details:
        sources = error.raw_details.get("sources")
        for each in sources if isinstance(sources, list) else []:
            if not isinstance(each, dict):
                continue
            said = why(str(each.get("outcome", "")), each.get("reason") and str(each["reason"]))
            yield f"{each.get('source')}: {said}"


def _token(asset: str, *, raw: bool) -> DisplayToken:
    known = {"ETH": ETHER} | {token.address: token for token in KNOWN.values()}
    return replace(known.get(asset, DisplayToken(asset, f"smallest units of {asset}", 0)), raw=raw)
