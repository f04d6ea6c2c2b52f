"""A typed client of the service, blocking and asynchronous.

    from eth_account import Account
    from quietswap.client import QuietswapClient, SwapRequest

    account = Account.from_key(key)
    with QuietswapClient(url, api_key, rpc_url=node) as client:
        result = client.swap(SwapRequest(WETH, USDC, 10**18, account.address), account)
        print(result.status.status, result.received)

Amounts are ints in smallest units; the ETH amounts of wraps are decimal strings. The signer is an
eth_account account, or a function that signs elsewhere. The service never receives a private key.
"""

from quietswap.client.async_client import AsyncQuietswapClient
from quietswap.client.errors.api import (
    DailyValueLimitExceeded,
    DeadlineExpired,
    EventsPruned,
    Forbidden,
    InsufficientAllowance,
    InsufficientBalance,
    InvalidAddress,
    InvalidAmount,
    InvalidOperation,
    InvalidParameter,
    InvalidSignature,
    InvalidTokenAddress,
    InvalidTransaction,
    MissingParameter,
    NativeEthNotSupported,
    NonceTooLow,
    OpenOrderLimitExceeded,
    OrderNotFound,
    QuoteLimitExceeded,
    RpcTokenNotFound,
    SignatureReplay,
    SwapValueLimitExceeded,
    SwapValueUnknown,
    TokenNotAllowed,
    TokenNotSupported,
    TooManyStreams,
    UserAddressRequired,
    ValidationError,
    WalletNotAllowed,
    WebhookLimitReached,
    WebhookNotFound,
    WebhooksNotConfigured,
)
from quietswap.client.errors.base import (
    ApiError,
    ClientError,
    HostNotAllowed,
    InsufficientLiquidity,
    InternalServerError,
    MethodNotAllowed,
    NodeRpcError,
    NodeUnreachable,
    NotFound,
    PayloadTooLarge,
    ProviderUnavailable,
    RateLimitExceeded,
    ServiceUnavailable,
    ServiceUnreachable,
    Unauthorized,
    UnexpectedResponse,
    UnsupportedMediaType,
    WrongChain,
)
from quietswap.client.errors.by_code import ERROR_CLASSES
from quietswap.client.errors.flow import (
    AfterSubmission,
    MayBeMined,
    MinedAnyway,
    NeverMined,
    NonceMismatch,
    OrderStillOpen,
    QuoteDeclined,
    SignerMismatch,
    StatusContradiction,
    TransactionFailed,
    TransactionHashMismatch,
    TransactionReplaced,
    UnsafeQuote,
)
from quietswap.client.flows.approvals import ApprovalSent, Approved
from quietswap.client.flows.cancel import CancelRequest, CancelResult
from quietswap.client.flows.polling import PollingPolicy
from quietswap.client.flows.quote_checks import ROUTERS, Approval, SwapRequest
from quietswap.client.flows.simulation import SwapSimulation
from quietswap.client.flows.submission_outcome import (
    OutcomeWatch,
    SubmittedTransaction,
    TransactionOutcome,
)
from quietswap.client.flows.swap import SwapResult
from quietswap.client.flows.wrap import WETH, WrapRequest, WrapResult
from quietswap.client.node_calls import NodeReceipt
from quietswap.client.sync_client import QuietswapClient
from quietswap.quoting.loss import Loss

__all__ = [
    "ERROR_CLASSES",
    "ROUTERS",
    "WETH",
    "AfterSubmission",
    "ApiError",
    "Approval",
    "ApprovalSent",
    "Approved",
    "AsyncQuietswapClient",
    "CancelRequest",
    "CancelResult",
    "ClientError",
    "DailyValueLimitExceeded",
    "DeadlineExpired",
    "EventsPruned",
    "Forbidden",
    "HostNotAllowed",
    "InsufficientAllowance",
    "InsufficientBalance",
    "InsufficientLiquidity",
    "InternalServerError",
    "InvalidAddress",
    "InvalidAmount",
    "InvalidOperation",
    "InvalidParameter",
    "InvalidSignature",
    "InvalidTokenAddress",
    "InvalidTransaction",
    "Loss",
    "MayBeMined",
    "MethodNotAllowed",
    "MinedAnyway",
    "MissingParameter",
    "NativeEthNotSupported",
    "NeverMined",
    "NodeReceipt",
    "NodeRpcError",
    "NodeUnreachable",
    "NonceMismatch",
    "NonceTooLow",
    "NotFound",
    "OpenOrderLimitExceeded",
    "OrderNotFound",
    "OrderStillOpen",
    "OutcomeWatch",
    "PayloadTooLarge",
    "PollingPolicy",
    "ProviderUnavailable",
    "QuietswapClient",
    "QuoteDeclined",
    "QuoteLimitExceeded",
    "RateLimitExceeded",
    "RpcTokenNotFound",
    "ServiceUnavailable",
    "ServiceUnreachable",
    "SignatureReplay",
    "SignerMismatch",
    "StatusContradiction",
    "SubmittedTransaction",
    "SwapRequest",
    "SwapResult",
    "SwapSimulation",
    "SwapValueLimitExceeded",
    "SwapValueUnknown",
    "TokenNotAllowed",
    "TokenNotSupported",
    "TooManyStreams",
    "TransactionFailed",
    "TransactionHashMismatch",
    "TransactionOutcome",
    "TransactionReplaced",
    "Unauthorized",
    "UnexpectedResponse",
    "UnsafeQuote",
    "UnsupportedMediaType",
    "UserAddressRequired",
    "ValidationError",
    "WalletNotAllowed",
    "WebhookLimitReached",
    "WebhookNotFound",
    "WebhooksNotConfigured",
    "WrapRequest",
    "WrapResult",
    "WrongChain",
]
