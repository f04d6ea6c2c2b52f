"""A typed client of the service, blocking and asynchronous.

    from eth_account import Account
    from quietswap.client import QuietswapClient, SwapRequest

    account = Account.from_key(key)
    with QuietswapClient(url, api_key, rpc_url=node) as client:
        result = client.swap(SwapRequest(WETH, USDC, 10**18, account.address), account)
        print(result.status.status, result.received)

Amounts are ints in smallest units, ETH amounts of wraps decimal strings. Signing happens in the
caller's process: with an eth_account account, or a function that signs elsewhere.
"""

from quietswap.client.approvals import Approved
from quietswap.client.asynchronous import AsyncQuietswapClient
from quietswap.client.blocking import QuietswapClient
from quietswap.client.chain import Receipt
from quietswap.client.errors import (
    ApiError,
    BadAnswer,
    ClientError,
    Contradicted,
    Declined,
    NodeRefused,
    NodeUnreachable,
    OtherTransaction,
    Replaced,
    StillOpen,
    TransactionFailed,
    Unreachable,
    UnsafeQuote,
    WrongChain,
    WronglySigned,
)
from quietswap.client.outages import (
    CATALOGUE,
    InternalServerError,
    MethodNotAllowed,
    NotFound,
    PayloadTooLarge,
    ProviderUnavailable,
    RateLimitExceeded,
    ServiceUnavailable,
    SignatureReplay,
    UnsupportedMediaType,
    ValidationError,
)
from quietswap.client.polling import Polling
from quietswap.client.refusals import (
    DeadlineExpired,
    InsufficientAllowance,
    InsufficientBalance,
    InsufficientLiquidity,
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
    OrderNotFound,
    TokenNotSupported,
    Unauthorized,
    UserAddressRequired,
)
from quietswap.client.safety import ROUTERS, Approval, SwapRequest
from quietswap.client.swaps import SwapResult
from quietswap.client.wraps import WETH, WrapRequest, WrapResult

__all__ = [
    "CATALOGUE",
    "ROUTERS",
    "WETH",
    "ApiError",
    "Approval",
    "Approved",
    "AsyncQuietswapClient",
    "BadAnswer",
    "ClientError",
    "Contradicted",
    "DeadlineExpired",
    "Declined",
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
    "MethodNotAllowed",
    "MissingParameter",
    "NativeEthNotSupported",
    "NodeRefused",
    "NodeUnreachable",
    "NonceTooLow",
    "NotFound",
    "OrderNotFound",
    "OtherTransaction",
    "PayloadTooLarge",
    "Polling",
    "ProviderUnavailable",
    "QuietswapClient",
    "RateLimitExceeded",
    "Receipt",
    "Replaced",
    "ServiceUnavailable",
    "SignatureReplay",
    "StillOpen",
    "SwapRequest",
    "SwapResult",
    "TokenNotSupported",
    "TransactionFailed",
    "Unauthorized",
    "Unreachable",
    "UnsafeQuote",
    "UnsupportedMediaType",
    "UserAddressRequired",
    "ValidationError",
    "WrapRequest",
    "WrapResult",
    "WrongChain",
    "WronglySigned",
]
