"""Checks of a signed transaction against the chain before it is sent, in one round trip."""

from dataclasses import dataclass

from quietswap.domain.address import Address
from quietswap.domain.errors.availability import ProviderUnavailable
from quietswap.domain.errors.order import (
    InsufficientAllowance,
    InsufficientBalance,
    InvalidSignature,
    NonceTooLow,
)
from quietswap.domain.order.checks import Check, Door, is_contract, would_revert
from quietswap.domain.order.dry_run import DryRun, SignedSwap
from quietswap.domain.transaction.signed import SignedTransaction
from quietswap.ports.chain import ChainReader, NodeUnavailable, WalletSnapshot


@dataclass(frozen=True, slots=True)
class RequiredSpend:
    """The tokens that the transaction takes from the wallet: `amount` in smallest units.

    `spender` needs an allowance; None if the token's own contract is called.
    """

    token: Address
    amount: int
    spender: Address | None


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
    a relay accepts a transaction that the wallet cannot pay for, and never includes it.
    Raises InvalidSignature, NonceTooLow, InsufficientBalance, InsufficientAllowance,
    ValidationError with reason WOULD_REVERT; ProviderUnavailable if the node does not answer:
    nothing is sent then.
    """
    try:
        spender, run = spend.spender or spend.token, None
        if trial is None:
            facts = await chain.wallet(signed.sender, spend.token, spender)
        else:
            facts, run = await chain.wallet_and_dry_run(trial, spend.token, spender)
    except NodeUnavailable as error:
        raise ProviderUnavailable(
            "the Ethereum node does not answer, so the transaction could not be checked",
            {"reason": "NODE_UNAVAILABLE"},
        ) from error
    checks = {
        Check.CONTRACT: lambda: _check_sender(facts),
        Check.NONCE: lambda: _check_nonce(signed, facts),
        Check.FUNDS: lambda: _check_funds(signed, facts, spend),
        Check.ALLOWANCE: lambda: _check_allowance(facts, spend),
        Check.TRIAL: lambda: _check_trial(trial, run, door),
    }
    for check in Check:
        if check in door.refuses:
            checks[check]()
    return PreflightResult(facts.head, facts.eth_balance, facts.nonce, run)


def _check_sender(facts: WalletSnapshot) -> None:
    """Refuse a sender that is a contract, as every node does (EIP-3607); a delegation may send."""
    if is_contract(facts.code):
        raise InvalidSignature(reason="its sender is a contract, which cannot send (EIP-3607)")


def _check_nonce(signed: SignedTransaction, facts: WalletSnapshot) -> None:
    if signed.nonce < facts.nonce:
        raise NonceTooLow(provided=signed.nonce, expected=facts.nonce)


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
    if spend.spender is not None and facts.allowance < spend.amount:
        raise InsufficientAllowance(
            token=spend.token, router=spend.spender, required=spend.amount, current=facts.allowance
        )


def _check_trial(trial: SignedSwap | None, run: DryRun | None, door: Door) -> None:
    """Refuse what would fail now: nothing was sent and no nonce is used."""
    fault = None if trial is None or run is None else run.fault(trial)
    if fault is not None:
        raise would_revert(door, fault)
