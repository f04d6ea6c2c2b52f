"""What each door checks against the chain before it issues, stores or sends a transaction.

A door is a place where a transaction enters: each reads its own row here, so that a check that one
door has and another lacks is seen in this table. What a transaction must equal (quote, nonce gap,
fee bounds of a wallet) is checked by the door itself.
"""

from dataclasses import dataclass
from enum import Enum

from quietswap.rules.chain.records import (
    ChainReader,
    DryRun,
    NodeUnavailable,
    SignedSwap,
    WalletSnapshot,
)
from quietswap.rules.errors.base import ProviderUnavailable, RequestError
from quietswap.rules.errors.requests import (
    InsufficientAllowance,
    InsufficientBalance,
    InvalidSignature,
    NonceTooLow,
    ValidationError,
)
from quietswap.rules.quotes.issued_quote import Trade
from quietswap.rules.routers import batch
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import SignedTransaction

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
    return ValidationError(text, reason="WOULD_REVERT", suggestion=advice, revertReason=fault)


# The checks of a signed transaction before it is sent, in one round trip.


@dataclass(frozen=True, slots=True)
class RequiredSpend:
    """The tokens that the transaction takes from the wallet: `amount` in smallest units.

    `spender` needs an allowance; None if the token's own contract is called. `batched`: the
    transaction itself gives that allowance (`quietswap.rules.routers.batch`).
    """

    token: Address
    amount: int
    spender: Address | None
    batched: bool = False


def swap_spend(trade: Trade, signed: SignedTransaction) -> RequiredSpend:
    """Return what a swap takes; `signed` is one of the two forms of a quote."""
    call = batch.unwrapped(signed.params, signed.sender)
    is_batched = call is not signed.params
    return RequiredSpend(trade.sell_token, trade.sell_amount, call.to, is_batched)


@dataclass(frozen=True, slots=True)
class PreflightResult:
    """The result of passed checks at block number `head`; the wallet had `eth` wei.

    `nonce` is the wallet's next nonce on the chain. `run` is the result of the dry run,
    None without one.
    """

    head: int
    eth: int
    nonce: int
    run: DryRun | None = None


async def preflight(
    chain: ChainReader,
    signed: SignedTransaction,
    spend: RequiredSpend,
    door: Door,
    trial: SignedSwap | None,
) -> PreflightResult:
    """Make the checks of `door`: the wallet can pay, the nonce is free, and `trial` succeeds.

    The simulation is checked last, because the other errors are more exact. The check is necessary:
    a relay accepts a transaction that the wallet cannot pay for, and never includes it. A refusal
    rests on the newest block of several backends of the node: an older one may lack an approval.
    Raises InvalidSignature, NonceTooLow, InsufficientBalance, InsufficientAllowance,
    ValidationError with reason WOULD_REVERT; ProviderUnavailable if the node does not answer:
    nothing is sent then.
    """

    def passed(facts: WalletSnapshot, run: DryRun | None) -> PreflightResult:
        checks = {
            Check.CONTRACT: lambda: _check_sender(facts, spend),
            Check.NONCE: lambda: _check_nonce(signed, facts, spend),
            Check.FUNDS: lambda: _check_funds(signed, facts, spend),
            Check.ALLOWANCE: lambda: _check_allowance(facts, spend),
            Check.TRIAL: lambda: _check_trial(trial, run, door),
        }
        for check in Check:
            if check in door.refuses:
                checks[check]()
        return PreflightResult(facts.head, facts.eth_balance, facts.nonce, run)

    try:
        facts, run = await _read(chain, signed, spend, trial)
        try:
            return passed(facts, run)
        except RequestError:
            if facts.head >= await chain.newest_number():
                raise
        return passed(*await _read(chain, signed, spend, trial))
    except NodeUnavailable as error:
        raise ProviderUnavailable(
            "the Ethereum node does not answer, so the transaction could not be checked",
            {"reason": "NODE_UNAVAILABLE"},
        ) from error


async def _read(
    chain: ChainReader, signed: SignedTransaction, spend: RequiredSpend, trial: SignedSwap | None
) -> tuple[WalletSnapshot, DryRun | None]:
    spender = spend.spender or spend.token
    if trial is None:
        return await chain.wallet(signed.sender, spend.token, spender), None
    return await chain.wallet_and_dry_run(trial, spend.token, spender)


def _check_sender(facts: WalletSnapshot, spend: RequiredSpend) -> None:
    """Refuse a sender that is a contract, as every node does (EIP-3607); a delegation may send."""
    if is_contract(facts.code):
        raise InvalidSignature(reason="its sender is a contract, which cannot send (EIP-3607)")
    if spend.batched:
        _refuse_batch(batch.refused_code(facts.code))


def _check_nonce(signed: SignedTransaction, facts: WalletSnapshot, spend: RequiredSpend) -> None:
    if signed.nonce < facts.nonce:
        raise NonceTooLow(provided=signed.nonce, expected=facts.nonce)
    if spend.batched and signed.nonce > facts.nonce:
        _refuse_batch(batch.LATER)


def _refuse_batch(reason: str | None) -> None:
    if reason is not None:
        advice = "Nothing was sent. Request a fresh quote and sign its plain form."
        text = f"approve and swap in one: {reason}"
        raise ValidationError(text, reason="BATCH_REFUSED", suggestion=advice)


def _check_funds(signed: SignedTransaction, facts: WalletSnapshot, spend: RequiredSpend) -> None:
    if facts.eth_balance < signed.max_cost_wei:
        raise InsufficientBalance(
            asset="ETH", required=signed.max_cost_wei, available=facts.eth_balance
        )
    if facts.token_balance < spend.amount:
        raise InsufficientBalance(
            asset=spend.token, required=spend.amount, available=facts.token_balance
        )


def _check_allowance(facts: WalletSnapshot, spend: RequiredSpend) -> None:
    if spend.batched:
        _refuse_batch(batch.refused_allowance(facts.allowance))
        return
    if spend.spender is not None and facts.allowance < spend.amount:
        raise InsufficientAllowance(
            token=spend.token, router=spend.spender, required=spend.amount, current=facts.allowance
        )


def _check_trial(trial: SignedSwap | None, run: DryRun | None, door: Door) -> None:
    """Refuse what would fail now: nothing was sent and no nonce is used."""
    fault = None if trial is None or run is None else run.fault(trial)
    if fault is not None:
        raise would_revert(door, fault)
