"""What the chain says about a signed transaction before it is sent, in one round trip."""

from dataclasses import dataclass

from quietswap.domain.address import Address
from quietswap.domain.errors import (
    InsufficientAllowance,
    InsufficientBalance,
    InvalidSignature,
    NonceTooLow,
)
from quietswap.domain.refusals import ProviderUnavailable
from quietswap.domain.signed_transaction import SignedTransaction
from quietswap.ports.outside import Chain, ChainDown, WalletFacts

_DELEGATION = bytes.fromhex("ef0100")
"""How the code of a wallet that delegates begins (https://eips.ethereum.org/EIPS/eip-7702)."""


@dataclass(frozen=True, slots=True)
class Spend:
    """What the transaction takes from the wallet besides ETH: `amount` in smallest units.

    `spender` is who must be approved to take it; None when the token's own contract is called.
    """

    token: Address
    amount: int
    spender: Address | None


@dataclass(frozen=True, slots=True)
class Ready:
    """The checks held, seen at block number `head`; the wallet held `eth` wei."""

    head: int
    eth: int


async def preflight(chain: Chain, signed: SignedTransaction, spend: Spend) -> Ready:
    """Return when the wallet can pay for the transaction and its nonce is free.

    A relay takes what the wallet cannot pay for and never lands it, so this is ours to check.
    Raises InvalidSignature, NonceTooLow, InsufficientBalance, InsufficientAllowance;
    ProviderUnavailable when the node is away, because then nothing is sent.
    """
    try:
        facts = await chain.wallet(signed.sender, spend.token, spend.spender or spend.token)
    except ChainDown as error:
        raise ProviderUnavailable(
            "the Ethereum node does not answer, so the transaction could not be checked",
            {"reason": "NODE_UNAVAILABLE"},
        ) from error
    _check_sender(facts)
    _check_nonce(signed, facts)
    _check_money(signed, facts, spend)
    return Ready(facts.head, facts.eth_balance)


def _check_sender(facts: WalletFacts) -> None:
    """Refuse a sender that is a contract, as every node does (EIP-3607); a delegation is none."""
    if facts.code and not facts.code.startswith(_DELEGATION):
        raise InvalidSignature(reason="its sender is a contract, which cannot send (EIP-3607)")


def _check_nonce(signed: SignedTransaction, facts: WalletFacts) -> None:
    if signed.nonce < facts.nonce:
        raise NonceTooLow(provided=signed.nonce, expected=facts.nonce)


def _check_money(signed: SignedTransaction, facts: WalletFacts, spend: Spend) -> None:
    if facts.eth_balance < signed.most_wei:
        raise InsufficientBalance(
            asset="ETH", required=signed.most_wei, available=facts.eth_balance
        )
    if facts.token_balance < spend.amount:
        raise InsufficientBalance(
            asset=spend.token, required=spend.amount, available=facts.token_balance
        )
    if spend.spender is not None and facts.allowance < spend.amount:
        raise InsufficientAllowance(
            token=spend.token,
            router=spend.spender,
            required=spend.amount,
            current=facts.allowance,
        )
