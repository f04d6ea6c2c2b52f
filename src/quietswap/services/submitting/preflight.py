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
from quietswap.domain.errors.request import ValidationError
from quietswap.domain.order.dry_run import DryRun, SignedSwap
from quietswap.domain.transaction.signed import SignedTransaction
from quietswap.ports.chain import ChainReader, NodeUnavailable, WalletSnapshot

_DELEGATION = bytes.fromhex("ef0100")
"""Prefix of the code of a wallet that delegates (https://eips.ethereum.org/EIPS/eip-7702)."""


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

    `nonce` is the wallet's next nonce on the chain. `run` is the result of the swap's dry run, None
    without a swap.
    """

    head: int
    eth: int
    nonce: int
    run: DryRun | None = None


async def preflight(
    chain: ChainReader,
    signed: SignedTransaction,
    spend: RequiredSpend,
    swap: SignedSwap | None = None,
) -> PreflightResult:
    """Check that the wallet can pay, that the nonce is free and that `swap` would succeed.

    The simulation is checked last, because the other errors are more exact. The check is necessary:
    a relay accepts a transaction that the wallet cannot pay for, and never includes it.
    Raises InvalidSignature, NonceTooLow, InsufficientBalance, InsufficientAllowance,
    ValidationError with reason WOULD_REVERT; ProviderUnavailable if the node does not answer:
    nothing is sent then.
    """
    try:
        spender, run = spend.spender or spend.token, None
        if swap is None:
            facts = await chain.wallet(signed.sender, spend.token, spender)
        else:
            facts, run = await chain.wallet_and_dry_run(swap, spend.token, spender)
    except NodeUnavailable as error:
        raise ProviderUnavailable(
            "the Ethereum node does not answer, so the transaction could not be checked",
            {"reason": "NODE_UNAVAILABLE"},
        ) from error
    _check_sender(facts)
    _check_nonce(signed, facts)
    _check_money(signed, facts, spend)
    if swap is not None and run is not None:
        _check_outcome(swap, run)
    return PreflightResult(facts.head, facts.eth_balance, facts.nonce, run)


def _check_sender(facts: WalletSnapshot) -> None:
    """Refuse a sender that is a contract, as every node does (EIP-3607); a delegation may send."""
    if facts.code and not facts.code.startswith(_DELEGATION):
        raise InvalidSignature(reason="its sender is a contract, which cannot send (EIP-3607)")


def _check_nonce(signed: SignedTransaction, facts: WalletSnapshot) -> None:
    if signed.nonce < facts.nonce:
        raise NonceTooLow(provided=signed.nonce, expected=facts.nonce)


def _check_money(signed: SignedTransaction, facts: WalletSnapshot, spend: RequiredSpend) -> None:
    if facts.eth_balance < signed.max_cost_wei:
        raise InsufficientBalance(
            asset="ETH", required=signed.max_cost_wei, available=facts.eth_balance
        )
    if facts.token_balance < spend.amount:
        raise InsufficientBalance(
            asset=spend.token, required=spend.amount, available=facts.token_balance
        )
    if spend.spender is not None and facts.allowance < spend.amount:
        raise InsufficientAllowance(
            token=spend.token, router=spend.spender, required=spend.amount, current=facts.allowance
        )


def _check_outcome(swap: SignedSwap, run: DryRun) -> None:
    """Refuse a swap that would fail now: nothing was sent and no nonce is used."""
    fault = run.fault(swap)
    if fault is None:
        return
    error = ValidationError(
        f"the swap would fail on the latest state: {fault}", reason="WOULD_REVERT"
    )
    assert error.details is not None
    error.details["revertReason"] = fault
    error.suggestion = "Nothing was sent. The market has moved: request a fresh quote and sign it."
    raise error
