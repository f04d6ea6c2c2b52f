"""The dry run of a signed swap on the latest state. Amounts in smallest units."""

from dataclasses import dataclass

from quietswap.domain.address import Address
from quietswap.domain.order.order import Order
from quietswap.domain.transaction.signed import SignedTransaction, decode
from quietswap.domain.transaction.unsigned import UnsignedTransaction


@dataclass(frozen=True, slots=True)
class SignedSwap:
    """The signed fields with the priority fee `tip` in wei, and the least amount to receive."""

    wallet: Address
    params: UnsignedTransaction
    buy_token: Address
    min_buy_amount: int
    tip: int = 0


def signed_swap(signed: SignedTransaction, buy_token: Address, min_buy_amount: int) -> SignedSwap:
    """Return the dry run's input for a decoded transaction."""
    return SignedSwap(signed.sender, signed.params, buy_token, min_buy_amount, signed.priority_fee)


def stored_swap(order: Order, raw: bytes) -> SignedSwap | None:
    """Return the dry run's input for a stored order; None for missing or damaged bytes."""
    try:
        signed = decode("0x" + raw.hex())
    except ValueError:
        return None
    return signed_swap(signed, order.buy_token, order.min_buy_amount)


@dataclass(frozen=True, slots=True)
class DryRun:
    """The result; `succeeded` None: unknown, for the given `reason`.

    `received` is None if only success or failure is known.
    """

    succeeded: bool | None
    received: int | None = None
    reason: str = ""

    def fault(self, swap: SignedSwap) -> str | None:
        """Return why the swap would fail its terms; None if it would not, or if that is unknown."""
        if self.succeeded is False:
            return self.reason or "it reverts without a reason"
        if self.succeeded and self.received is not None and self.received < swap.min_buy_amount:
            return f"it would deliver {self.received}, less than its minimum {swap.min_buy_amount}"
        return None

    @property
    def words(self) -> str:
        """Return the result as text for the event log."""
        if self.succeeded is None:
            return f"not simulated: {self.reason}"
        if self.received is None:
            return "simulated by eth_call: it does not revert"
        return f"simulated: it delivers {self.received}"
