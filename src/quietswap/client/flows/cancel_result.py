"""What is asked of a cancel, and its result."""

from collections.abc import Callable
from dataclasses import dataclass

from quietswap.client import node_calls
from quietswap.client.flows.quote_checks import require_int
from quietswap.client.flows.submission_outcome import TransactionOutcome
from quietswap.contract.cancels import CancelOrderResponse, CancelQuoteResponse
from quietswap.contract.orders import OrderStatusResponse

MOST_FEE_WEI = 2 * 10**16
"""0.02 ETH, about 950 gwei per gas. The priority fee is 0, so only the base fee is paid."""
_USER_CANCELLED = "USER_CANCELLED"


@dataclass(frozen=True, slots=True)
class CancelRequest:
    """The order of `wallet` to cancel. `most_fee_wei` is the highest gas cost to sign for, in wei.

    `nonce` and `tx_hash` are those that the order was signed with. The client knows them if it
    submitted the order; for another one the caller gives the nonce, or a hash that the caller's own
    node knows. The service's word is not enough, because it could name another transaction.

    `accept` is called with the quote before signing; False declines it.
    """

    order_id: str
    wallet: str
    most_fee_wei: int = MOST_FEE_WEI
    nonce: int | None = None
    accept: Callable[[CancelQuoteResponse], bool] | None = None
    tx_hash: str | None = None

    def __post_init__(self) -> None:
        require_int("most_fee_wei", self.most_fee_wei, 0)
        if self.nonce is not None:
            require_int("nonce", self.nonce, 0)


@dataclass(frozen=True, slots=True)
class CancelResult:
    """The result of a cancel.

    `status` is the last record of the order. `submission` is None when the service accepted no
    cancel, for example because the order had already ended. `end` is the last record of the cancel,
    or None.

    `fate` is the outcome of the cancel at the caller's own node; None without a node. `swap` is
    that node's receipt of the order's transaction; None if there is none.
    """

    quote: CancelQuoteResponse
    submission: CancelOrderResponse | None
    end: OrderStatusResponse | None
    status: OrderStatusResponse
    fate: TransactionOutcome | None
    swap: node_calls.NodeReceipt | None = None

    @property
    def checked(self) -> bool:
        """Whether the caller's own node showed the outcome; if not, only the service reports it."""
        return self.fate is not None

    @property
    def cancelled(self) -> bool:
        """Whether the cancel is in a block, and the order's transaction is in none.

        No other transaction with this nonce can then be mined. Without a node of the caller's own,
        only the service reports this.
        """
        if self.fate is not None:
            return self.swap is None and self.fate in (
                TransactionOutcome.MINED,
                TransactionOutcome.REVERTED,
            )
        by_service = self.status.error is not None and self.status.error.code == _USER_CANCELLED
        return by_service or (self.end is not None and self.end.block_number is not None)
