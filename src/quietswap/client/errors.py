"""What can go wrong, as exceptions.

ClientError
├── Unreachable        no answer: network, timeout
├── BadAnswer          an answer that is not this interface
├── ApiError           the service refused; one subclass per error code (see refusals)
├── NodeRefused        the Ethereum node refused a call
├── WrongChain         the caller's own Ethereum node is on another chain than mainnet
├── UnsafeQuote        the service asked to sign something that was not asked for
├── WronglySigned      the signer returned another transaction or another wallet's signature
├── OtherTransaction   the service speaks of another transaction than the one that was signed
├── Contradicted       the service and the caller's own Ethereum node disagree on how a swap ended
├── Declined           the caller's own condition stopped the flow before anything was signed
├── TransactionFailed  a transaction of the flow was mined and reverted
├── Replaced           another transaction of the wallet used the nonce
└── StillOpen          polling gave up; the order goes on without us
"""

from typing import Any, ClassVar, Generic, TypeVar, cast

import msgspec

from quietswap.client.wire import convert


class ClientError(Exception):
    """Base of everything this client raises on purpose.

    `is_transient` says whether the same request may succeed when it is repeated later.
    """

    is_transient: bool = False


class Unreachable(ClientError):
    """No answer came. For a POST this does not mean that nothing happened."""

    is_transient = True


class NodeUnreachable(Unreachable):
    """The caller's own Ethereum node did not answer."""


class BadAnswer(ClientError):
    """What answered does not speak this interface (a proxy's HTML page, another service)."""


class NodeRefused(ClientError):
    """The Ethereum node answered with an error; `code` is JSON-RPC's."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(f"{method}: {message}")
        self.method = method
        self.code = code


class WrongChain(ClientError):
    """The node at the caller's RPC URL is on another chain; `chain_id` says which."""

    def __init__(self, chain_id: int) -> None:
        super().__init__(f"your RPC URL leads to a node of chain {chain_id}, not of mainnet (1)")
        self.chain_id = chain_id


class UnsafeQuote(ClientError):
    """The transaction to sign differs from what was asked for; nothing was signed."""


class WronglySigned(ClientError):
    """What the signer returned is not the transaction it was given; nothing was submitted."""


class OtherTransaction(ClientError):
    """The service names `named_hash`, but what was signed and submitted is `signed_hash`.

    The signed transaction may have been sent all the same, and may still be mined.
    """

    def __init__(self, signed_hash: str, named_hash: str) -> None:
        super().__init__(
            f"the service speaks of transaction {named_hash}, not of {signed_hash}, which was"
            " signed: look the signed one up at your own node or an explorer"
        )
        self.signed_hash = signed_hash
        self.named_hash = named_hash


class Contradicted(ClientError):
    """The service says that the order is `status`; the caller's own node has a receipt against it.

    `confirmed`: `tx_hash` was mined and reverted. `failed`, `cancelled`: it was mined and
    succeeded, and swapping again would spend twice.
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


class Declined(ClientError):
    """The quote did not meet the caller's condition; nothing was signed."""


class TransactionFailed(ClientError):
    """A transaction was mined and reverted."""

    def __init__(self, what: str, tx_hash: str) -> None:
        super().__init__(f"{what} was mined but reverted: {tx_hash}")
        self.tx_hash = tx_hash


class Replaced(ClientError):
    """The wallet's nonce was used by another transaction; this one can never be mined."""

    def __init__(self, tx_hash: str) -> None:
        super().__init__(f"another transaction of the wallet took the place of {tx_hash}")
        self.tx_hash = tx_hash


class StillOpen(ClientError):
    """Waiting ended before the chain decided; `reference` is an order id or transaction hash."""

    def __init__(self, reference: str, status: str, waited_s: float) -> None:
        super().__init__(f"{reference} is still {status} after {waited_s:.0f} s")
        self.reference = reference
        self.status = status


D = TypeVar("D", bound=msgspec.Struct)


class ErrorBody(msgspec.Struct, frozen=True, kw_only=True):
    """The error envelope as it came."""

    error: str
    message: str = ""
    details: dict[str, Any] | None = None
    suggestion: str | None = None
    retry_after: float | None = msgspec.field(default=None, name="retryAfter")
    limit: int | None = None
    window: int | None = None


class NoDetails(msgspec.Struct, frozen=True):
    """The code carries no details."""


class ApiError(ClientError, Generic[D]):
    """The service refused, for a reason it named.

    `details` has the shape of the code's class, or is None when the service sent none that fits;
    `raw_details` is what came. `status` is the HTTP status.
    """

    code: ClassVar[str] = ""
    shape: ClassVar[type[msgspec.Struct]] = NoDetails

    def __init__(self, body: ErrorBody, status: int) -> None:
        super().__init__(f"{body.error}: {body.message}" if body.message else body.error)
        self.error = body.error
        self.status = status
        self.message = body.message
        self.suggestion = body.suggestion
        self.raw_details = body.details
        self.retry_after = body.retry_after
        self.limit = body.limit
        self.window = body.window
        self.details: D | None = self._typed(body.details)

    def _typed(self, details: dict[str, Any] | None) -> D | None:
        try:
            return cast("D", convert(details, self.shape))
        except msgspec.ValidationError:
            return None
