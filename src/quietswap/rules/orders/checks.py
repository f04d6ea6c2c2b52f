"""What each door checks against the chain before it issues, stores or sends a transaction.

A door is a place where a transaction enters: each reads its own row here, so that a check that one
door has and another lacks is seen in this table. What a transaction must equal (quote, nonce gap,
fee bounds of a wallet) is checked by the door itself.
"""

from dataclasses import dataclass
from enum import Enum

from quietswap.rules.errors.requests import (
    ValidationError,
)
from quietswap.rules.routers import batch

_SUGGESTIONS = {
    "swap": "Nothing was sent. The market has moved: request a fresh quote and sign it.",
    "wrap": "Nothing was sent. If the wallet has code (EIP-7702), that code may refuse ETH.",
    "cancel": "Nothing was sent. The wallet's code (EIP-7702) does not take an empty transfer. A"
    " transaction with the order's nonce that removes the delegation takes its place, too.",
}


class Check(Enum):
    """One check, in the order in which they are made: a later error is less exact."""

    CONTRACT = "the sender is a contract, which cannot send (EIP-3607)"
    NONCE = "the nonce is used"
    FUNDS = "the wallet has too little ETH, or of the token that it gives"
    ALLOWANCE = "the router may not take the token"
    TRIAL = "the transaction fails on the latest state"


@dataclass(frozen=True, slots=True)
class Door:
    """One row: `signs` is what is signed there, `refuses` and `tells` what is checked.

    A quote `tells` what the wallet can still change before it signs. `rest` says which door makes
    the other checks, or why one is not needed.
    """

    name: str
    signs: str
    refuses: frozenset[Check]
    tells: frozenset[Check] = frozenset()
    rest: str = ""


_CALL = frozenset(Check) - {Check.ALLOWANCE}
"""WETH and the wallet itself take no allowance."""
_AT_ORDER = "the rest is checked when the order is posted"

SWAP_QUOTE = Door(
    "GET /quote",
    "swap",
    frozenset({Check.TRIAL}),
    frozenset({Check.CONTRACT, Check.FUNDS, Check.ALLOWANCE}),
    "a new nonce is issued; the trial overrides what is missing",
)
WRAP_QUOTE = Door(
    "POST /mev/wrap/quote",
    "wrap",
    frozenset({Check.TRIAL}),
    frozenset({Check.CONTRACT}),
    _AT_ORDER + "; a wallet that cannot pay is not tried",
)
CANCEL_QUOTE = Door(
    "POST /mev/orders/{orderId}/cancel, without bytes",
    "cancel",
    frozenset({Check.NONCE, Check.TRIAL}),
    rest=_AT_ORDER,
)
SWAP_ORDER = Door("POST /mev/orders", "swap", frozenset(Check))
WRAP_ORDER = Door("POST /mev/wrap/order", "wrap", _CALL)
CANCEL_ORDER = Door("POST /mev/orders/{orderId}/cancel, with bytes", "cancel", _CALL)
RPC_SWAP = Door("eth_sendRawTransaction, a quote", "swap", frozenset(Check))
RPC_CALL = Door(
    "eth_sendRawTransaction, anything else",
    "transaction",
    _CALL,
    rest="`transaction` behind an open order is not tried: it may depend on that order",
)

_KEYS = frozenset(Check) - {Check.CONTRACT}
"""Who signs with a key is no contract."""
_OWN_NODE = "at a node of the caller's own; without one the service's order door checks all"
CLIENT_SWAP = Door("swap of clients and CLI", "swap", _KEYS, rest=_OWN_NODE)
CLIENT_WRAP = Door("wrap of clients and CLI", "wrap", _KEYS & _CALL, rest=_OWN_NODE)
CLIENT_CANCEL = Door("cancel of clients and CLI", "cancel", _KEYS & _CALL, rest=_OWN_NODE)
PAGE = Door(
    "the page",
    "transaction",
    frozenset(),
    SWAP_QUOTE.tells,
    "shows what the quotes tell; its wallet sends to the RPC URL, whose rows hold",
)

DOORS = (
    SWAP_QUOTE, WRAP_QUOTE, CANCEL_QUOTE, SWAP_ORDER, WRAP_ORDER, CANCEL_ORDER, RPC_SWAP, RPC_CALL,
    CLIENT_SWAP, CLIENT_WRAP, CLIENT_CANCEL, PAGE,
)  # fmt: skip


CONTRACT_NOTE = (
    "the wallet is a contract, which cannot sign this transaction (EIP-3607): a contract wallet"
    " makes the call itself, and its owner sends that"
)


def is_contract(code: bytes) -> bool:
    """Return whether an account with this code cannot send; one that delegates can."""
    return bool(code) and not code.startswith(batch.DELEGATION)


def would_revert(door: Door, fault: str) -> ValidationError:
    """Return the error of a transaction that fails on the latest state, for the reason `fault`."""
    text = f"the {door.signs} would fail on the latest state: {fault}"
    advice = _SUGGESTIONS.get(door.signs, "Nothing was sent, and no nonce is used.")
    return ValidationError(text, reason="WOULD_REVERT", suggestion=advice, revert_reason=fault)
