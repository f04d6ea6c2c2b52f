"""The exceptions of the client.

ClientError
├── ServiceUnreachable      no answer: network or timeout
│   └── NodeUnreachable     no answer of the caller's own Ethereum node
├── UnexpectedResponse      an answer that does not follow this interface
├── ApiError                the service refused; one subclass per error code
├── NodeRpcError            the Ethereum node refused a call
├── WrongChain              the caller's own Ethereum node is not on mainnet
├── UnsafeQuote             the transaction to sign differs from the request
│   └── NonceMismatch       its nonce is not the wallet's next one
├── SignerMismatch          the signer changed the transaction, or another wallet signed
├── TransactionHashMismatch the service names another transaction than the signed one
├── StatusContradiction     the caller's own node contradicts the status of the order
├── QuoteDeclined           a condition of the caller stopped the flow before signing
├── TransactionFailed       a transaction of the flow was mined and reverted
├── TransactionReplaced     another transaction of the wallet used the nonce
├── OrderStillOpen          polling ended; the order is still open
└── AfterSubmission         the signed bytes were submitted, and then something refused or failed
    ├── MayBeMined          not known yet: sign no other nonce before this one is used
    ├── MinedAnyway         the caller's own node shows that it was mined and succeeded
    └── NeverMined          the caller's own node shows that another try is safe
"""

from typing import Any, ClassVar, Generic, TypeVar, cast

import msgspec

from quietswap.client import wire
from quietswap.client.wire import convert
from quietswap.contract.errors import ErrorEnvelope
from quietswap.errors.base import NoDetails, RequestError


class ClientError(Exception):
    """Base class of all exceptions of this client.

    `is_transient` is true if the same request may succeed later.
    """

    is_transient: bool = False


class ServiceUnreachable(ClientError):
    """No answer arrived. A POST may still have taken effect."""

    is_transient = True


class NodeUnreachable(ServiceUnreachable):
    """The caller's own Ethereum node did not answer.

    `is_busy` is true if it refuses for a while, by a rate limit.
    """

    def __init__(self, message: str, *, is_busy: bool = False) -> None:
        super().__init__(message)
        self.is_busy = is_busy


class UnexpectedResponse(ClientError):
    """The answer does not follow this interface, for example a proxy's HTML page."""


class NodeRpcError(ClientError):
    """The Ethereum node answered with an error; `code` is the JSON-RPC error code."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(f"{method}: {message}")
        self.method = method
        self.code = code


class WrongChain(ClientError):
    """The node at the caller's RPC URL is on another chain; `chain_id` is that chain."""

    def __init__(self, chain_id: int) -> None:
        super().__init__(f"your RPC URL leads to a node of chain {chain_id}, not of mainnet (1)")
        self.chain_id = chain_id


D = TypeVar("D", bound=msgspec.Struct)


class ApiError(ClientError, Generic[D]):
    """The service answered with an error code.

    `details` is the Struct of the code, or None if the answer has no details that fit.
    `raw_details` holds the details as received. `status` is the HTTP status. A subclass has
    the code and the details of the service's class that it is `of`.
    """

    code: ClassVar[str] = ""
    shape: ClassVar[type[msgspec.Struct]] = NoDetails

    def __init_subclass__(cls, *, of: type[RequestError]) -> None:
        cls.code, cls.shape = of.code, of.shape

    def __init__(self, body: ErrorEnvelope, status: int) -> None:
        super().__init__(f"{body.error}: {body.message}" if body.message else body.error)
        self.error = body.error
        self.status = status
        self.message = body.message
        self.suggestion = body.suggestion
        self.raw_details = body.details
        self.retry_after = wire.retry_after(body.retry_after)
        self.limit = body.limit
        self.window = body.window
        self.details: D | None = self._typed(body.details)

    def _typed(self, details: dict[str, Any] | None) -> D | None:
        try:
            return cast("D", convert(details, self.shape))
        except msgspec.ValidationError:
            return None
