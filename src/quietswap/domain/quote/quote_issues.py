"""The balances and allowances that a wallet lacks to submit a quote."""

from dataclasses import dataclass

from quietswap.domain.address import Address
from quietswap.domain.transaction.unsigned import UnsignedTransaction


@dataclass(frozen=True, slots=True)
class Shortfall:
    """What the wallet has and what the transaction needs, in smallest units or wei.

    `address` is the spender without enough allowance, or the missing token; None for ETH.
    """

    actual: int
    needed: int
    address: Address | None = None


@dataclass(frozen=True, slots=True)
class QuoteIssues:
    """The shortfalls of the wallet's current state; None where nothing is missing."""

    allowance: Shortfall | None = None
    balance: Shortfall | None = None
    gas: Shortfall | None = None


def find_issues(
    params: UnsignedTransaction,
    sell_token: Address,
    sell_amount: int,
    *,
    sell_balance: int,
    allowance: int,
    eth_balance: int,
) -> QuoteIssues:
    """Return the wallet's shortfalls; all amounts in smallest units or wei."""
    locked = params.gas_limit * params.max_fee_per_gas + params.value
    return QuoteIssues(
        allowance=_short(allowance, sell_amount, params.to),
        balance=_short(sell_balance, sell_amount, sell_token),
        gas=_short(eth_balance, locked),
    )


def _short(actual: int, needed: int, address: Address | None = None) -> Shortfall | None:
    return Shortfall(actual, needed, address) if actual < needed else None
