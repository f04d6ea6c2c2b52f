"""How an order ended, in words that say who shows it: the caller's own node or the service."""

from typing import Any

import msgspec

from quietswap.cli.output.exit_codes import REFUSED, UNDECIDED
from quietswap.cli.output.order_progress import AS_REPORTED
from quietswap.client.flows.finality import OrderEnd, TransactionOutcome
from quietswap.client.wire import encode
from quietswap.rules.orders.order import FailureCode

_SHOWN = {
    TransactionOutcome.MINED: "your own node shows that it was mined and succeeded",
    TransactionOutcome.REVERTED: "your own node shows that it was mined and reverted: it came to"
    " nothing, another one is safe",
    TransactionOutcome.REPLACED: "your own node shows that another transaction used its nonce: it"
    " can never be mined, another one is safe",
}


_STATE = {
    TransactionOutcome.MINED: ("confirmed", "green"),
    TransactionOutcome.REVERTED: ("failed", "red"),
    TransactionOutcome.REPLACED: ("cancelled", "yellow"),
}
_OF_RECEIPT = ("txHash", "blockNumber", "gasUsed", "effectiveGasPrice", "feePaidWei")


def shown_state(fate: TransactionOutcome | None) -> str | None:
    """Return the state that the own node shows; None while it shows no end."""
    return _STATE[fate][0] if fate in _STATE else None


def headline(end: OrderEnd) -> tuple[str, str]:
    """Return the state by the own node, or as the service reports it; and its style."""
    if end.is_final and end.fate is not None:
        return _STATE[end.fate]
    return end.record.status + AS_REPORTED, "yellow"


def conclusion(end: OrderEnd) -> str:
    """Return what is certain about an order, and what that means for another one."""
    reported = f"the service reports {end.record.status}"
    if end.fate is None:
        return f"{reported}, {end.unchecked}{_caution(end)}"
    if end.fate is TransactionOutcome.OPEN:
        shows = f"cannot show it ({end.trouble})" if end.trouble else "shows it in no block"
        shows = "shows it in the newest block only" if end.receipt else shows
        return f"{reported}; your own node {shows}{_caution(end)}"
    again = ": do not repeat it" if end.fate is TransactionOutcome.MINED else ""
    contrary = f"{reported}, but " if end.is_contradicted else ""
    return f"{contrary}{_SHOWN[end.fate]}{again}"


def _caution(end: OrderEnd) -> str:
    if end.fate is None and end.confirmed:
        return ""
    failure = end.record.error
    is_unsent = failure is not None and failure.code == FailureCode.NOT_SENT
    doubt = "if it was sent all the same, it may still be" if is_unsent else "it may still be"
    return f": {doubt} mined; repeat it only with the same nonce"


def exit_code(end: OrderEnd) -> int:
    """Return 0 for confirmed, 1 for what came to nothing, 4 for what is or may be mined."""
    if end.is_contradicted and end.confirmed:
        return UNDECIDED
    if end.confirmed:
        return 0
    return UNDECIDED if end.may_be_mined else REFUSED


def members(end: OrderEnd) -> dict[str, Any]:
    """Return as JSON what the own node shows, null where it shows nothing.

    What the service says of the order stands in `reportedByService` alone.
    """
    record: dict[str, Any] = msgspec.json.decode(encode(end.own_record))
    is_in_block = end.is_final and end.receipt is not None
    return {
        "orderId": end.record.order_id,
        "final": end.is_final,
        "fate": end.fate,
        "mayBeMined": end.may_be_mined,
        "conclusion": conclusion(end),
        "status": shown_state(end.fate),
        **{name: record[name] if is_in_block else None for name in _OF_RECEIPT},
        "reportedByService": msgspec.json.decode(encode(end.record)),
    }
