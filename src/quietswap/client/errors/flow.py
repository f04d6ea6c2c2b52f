"""Exceptions of the flows: before signing, after submission, and while polling.

The tree of all exceptions is in `quietswap.client.errors.base`.
"""

from typing import Any

from quietswap.client.errors.base import ClientError


class UnsafeQuote(ClientError):
    """The transaction to sign differs from the request, or is not safe; nothing was signed."""


class NonceMismatch(UnsafeQuote):
    """The quote's nonce is not the requested one or, if none was requested, the wallet's next."""


class SignerMismatch(ClientError):
    """The signer returned another transaction than the one to sign; nothing was submitted."""


class TransactionHashMismatch(ClientError):
    """The service names `named_hash`, but the signed and submitted transaction is `signed_hash`.

    The signed transaction may have been sent, and may still be mined. In a flow, `nonce` is its
    nonce and `order_id` the order that the service named. `fate` is the outcome at the caller's own
    node (`TransactionOutcome`); None without a node.
    """

    nonce: int | None = None
    order_id: str | None = None
    fate: str | None = None

    def __init__(self, signed_hash: str, named_hash: str) -> None:
        super().__init__(
            f"the service speaks of transaction {named_hash}, not of {signed_hash}, which was"
            " signed: look the signed one up at your own node or an explorer"
        )
        self.signed_hash = signed_hash
        self.named_hash = named_hash

    @property
    def tx_hash(self) -> str:
        """The hash of the signed transaction."""
        return self.signed_hash


class StatusContradiction(ClientError):
    """The service reports `status`, but the caller's own node has a receipt that contradicts it.

    With status `confirmed`, `tx_hash` was mined and reverted. With `failed` or `cancelled`, it was
    mined and succeeded, and a second swap would spend twice.
    """

    def __init__(self, order_id: str, status: str, tx_hash: str) -> None:
        shown, so = "succeeded", "the swap took place, do not swap again"
        if status == "confirmed":
            shown, so = "reverted", "nothing was swapped"
        super().__init__(
            f"the service says that order {order_id} is {status}, but your own node says that its"
            f" transaction {tx_hash} was mined and {shown}: the chain is right, {so}"
        )
        self.order_id = order_id
        self.status = status
        self.tx_hash = tx_hash


class QuoteDeclined(ClientError):
    """The quote did not meet the caller's condition; nothing was signed."""


class TransactionFailed(ClientError):
    """A transaction was mined and reverted."""

    def __init__(self, what: str, tx_hash: str) -> None:
        super().__init__(f"{what} was mined but reverted: {tx_hash}")
        self.tx_hash = tx_hash


class TransactionReplaced(ClientError):
    """Another transaction used the nonce, so this one can never be mined."""

    def __init__(self, tx_hash: str) -> None:
        super().__init__(f"another transaction of the wallet took the place of {tx_hash}")
        self.tx_hash = tx_hash


class OrderStillOpen(ClientError):
    """The wait ended before a final status; `reference` is an order id or a transaction hash.

    After a flow's submission, `tx_hash`, `nonce` and `order_id` are those of the signed
    transaction.
    """

    tx_hash: str | None = None
    nonce: int | None = None
    order_id: str | None = None

    def __init__(self, reference: str, status: str, waited_s: float) -> None:
        super().__init__(f"{reference} is still {status} after {waited_s:.0f} s")
        self.reference = reference
        self.status = status


class AfterSubmission(ClientError):
    """An error after the signed transaction was submitted, or an approval was sent.

    `cause` is the exception that ended the flow, or None if the caller's own node does not confirm
    the service's answer. `tx_hash` and `nonce` are those of the signed transaction. `order_id` is
    None if the service did not name the order. A service that refuses a transaction may have sent
    it.
    """

    def __init__(
        self,
        why: str,
        *,
        tx_hash: str,
        nonce: int,
        order_id: str | None,
        cause: ClientError | None = None,
    ) -> None:
        order = f" of order {order_id}" if order_id else ""
        super().__init__(f"{why}: {self._told(f'transaction {tx_hash}{order}', nonce)}")
        self.tx_hash = tx_hash
        self.nonce = nonce
        self.order_id = order_id
        self.cause = cause

    def _told(self, transaction: str, nonce: int) -> str:
        raise NotImplementedError


class MayBeMined(AfterSubmission):
    """The signed transaction may still be mined while its nonce is unused."""

    def _told(self, transaction: str, nonce: int) -> str:
        return (
            f"the signed {transaction} was submitted and may still be mined as long as nonce"
            f" {nonce} is unused; only another transaction with nonce {nonce} rules it out"
        )


class MinedAnyway(AfterSubmission):
    """The caller's own node shows that the transaction succeeded: do not repeat it.

    `receipt` is that node's receipt (`NodeReceipt`).
    """

    receipt: Any = None

    def _told(self, transaction: str, nonce: int) -> str:
        return (
            f"but your own node says that {transaction} was mined and succeeded: do not repeat it"
        )


class NeverMined(AfterSubmission):
    """The caller's own node shows that it reverted, or that another transaction used its nonce."""

    def _told(self, transaction: str, nonce: int) -> str:
        return (
            f"your own node says that {transaction} came to nothing (it reverted, or another"
            f" transaction used nonce {nonce}): another try is safe"
        )
