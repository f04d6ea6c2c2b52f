"""The checks of a signed transaction before it is sent, in one round trip."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

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
from quietswap.rules.orders.checks import Check, Door, is_contract, would_revert
from quietswap.rules.quotes.issued_quote import Trade
from quietswap.rules.routers import batch
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import SignedTransaction


@dataclass(frozen=True, slots=True)
class RequiredSpend:
    """The tokens that the transaction takes from the wallet: `amount` in smallest units.

    `spender` needs an allowance; None if the token's own contract is called. `batched`: the
    transaction itself gives that allowance (`quietswap.rules.routers.batch`). `ether` is what a
    batch wraps of the wallet's own ETH, in wei, beside the transaction's value and gas.
    """

    token: Address
    amount: int
    spender: Address | None
    batched: bool = False
    ether: int = 0


def swap_spend(trade: Trade, signed: SignedTransaction) -> RequiredSpend:
    """Return what a swap takes; `signed` is one of the two forms of a quote."""
    calls = batch.read(signed.params, signed.sender)
    if calls is None:
        return RequiredSpend(trade.sell_token, trade.sell_amount, signed.params.to)
    amount = trade.sell_amount - calls.wrapped
    return RequiredSpend(trade.sell_token, amount, calls.router, batched=True, ether=calls.wrapped)


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

    with node_required():
        facts, run = await _read(chain, signed, spend, trial)
        try:
            return passed(facts, run)
        except RequestError:
            if facts.head >= await chain.newest_number():
                raise
        return passed(*await _read(chain, signed, spend, trial))


@contextmanager
def node_required() -> Iterator[None]:
    """Turn NodeUnavailable into ProviderUnavailable: an unchecked transaction is not sent."""
    try:
        yield
    except NodeUnavailable as error:
        text = f"{error.for_caller}, so the transaction could not be checked"
        raise node_unavailable(text) from error


def node_unavailable(message: str) -> ProviderUnavailable:
    """Return the error of a transaction that was not sent because a node did not tell enough.

    An earlier post may have sent the same bytes, and they may be mined: another signature would be
    executed beside them.
    """
    advice = "This post sent nothing. Post the same transaction again in a few seconds."
    return ProviderUnavailable(message, advice, reason="NODE_UNAVAILABLE")


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
    ether = signed.max_cost_wei + spend.ether
    if facts.eth_balance < ether:
        raise InsufficientBalance(asset="ETH", required=ether, available=facts.eth_balance)
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
