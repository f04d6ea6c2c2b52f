"""One example of every error, made by the class that raises it."""

from quietswap.contract import examples
from quietswap.domain import errors
from quietswap.domain.errors.base import RequestError
from quietswap.domain.token import WETH

_LOWER = WETH.lower()
_NATIVE = "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"

_ALL: tuple[RequestError, ...] = (
    errors.InvalidTokenAddress(
        field="sellToken",
        provided=_LOWER,
        reason="the EIP-55 checksum does not match: a digit, or its letter case, is wrong",
    ),
    errors.NativeEthNotSupported(field="sellToken", provided=_NATIVE, weth=WETH),
    errors.InvalidAmount(
        field="amount", provided="-1", reason="the amount must be greater than zero"
    ),
    errors.UserAddressRequired(),
    errors.InvalidOperation(provided="burn"),
    errors.InvalidAddress(
        provided="0x1234", reason="an address is 0x followed by 40 hexadecimal digits"
    ),
    errors.InvalidParameter(
        parameter="limit", provided="201", reason="it must be a whole number 1-200", maximum=200
    ),
    errors.MissingParameter(field="signedTransaction"),
    errors.InvalidSignature(reason="the signer is not userAddress"),
    errors.InsufficientAllowance(token=WETH, router=examples.ROUTER, required=10**18, current=0),
    errors.InsufficientBalance(asset="ETH", required=15 * 10**17, available=10**18),
    errors.DeadlineExpired(deadline=1_800_000_000, now=1_800_000_031),
    errors.NonceTooLow(provided=6, expected=7),
    errors.InvalidTransaction(reason="the chain id must be 1", field="chainId"),
    errors.Unauthorized(),
    errors.InsufficientLiquidity(
        sources=[{"source": "kyberswap", "outcome": "no_route", "reason": "no route for this pair"}]
    ),
    errors.TokenNotSupported(token=examples.USDC, reason="buyToken is not an ERC-20 on mainnet"),
    errors.OrderNotFound(),
    errors.SignatureReplay(order_id="ord_01"),
    errors.ValidationError(
        "what was submitted differs from the quote",
        [{"field": "transaction.gasLimit", "expected": "262500", "provided": "300000"}],
    ),
    errors.RateLimitExceeded(retry_after=12, limit=300, window=60),
    errors.InternalServerError(request_id="9f86d081884c7d65"),
    errors.ServiceUnavailable("the Ethereum node does not answer"),
    errors.ProviderUnavailable("the relay could not be reached"),
    errors.RpcTokenNotFound(),
    errors.NotFound(path="/api/v1/nothing"),
    errors.MethodNotAllowed(method="DELETE", allowed=["GET", "HEAD"]),
    errors.UnsupportedMediaType(provided="text/plain"),
    errors.PayloadTooLarge(limit=1 << 20),
    errors.WebhookNotFound(),
    errors.WebhookLimitReached(limit=10),
    errors.WebhooksNotConfigured(),
    errors.HostNotAllowed(provided="evil.example"),
    errors.EventsPruned(provided=17, oldest=1200),
    errors.TooManyStreams(limit=20),
    errors.Forbidden(scope="read", required="trade"),
    errors.WalletNotAllowed(wallet=examples.WALLET),
    errors.TokenNotAllowed(token=examples.USDC),
    errors.SwapValueUnknown(),
    errors.SwapValueLimitExceeded(limit_cents=150_000, value_cents=300_000),
    errors.QuoteLimitExceeded(limit=10_000, reset_ms=1_800_057_600_000, retry_after=57_600),
    errors.OpenOrderLimitExceeded(limit=20),
    errors.DailyValueLimitExceeded(
        limit_cents=500_000,
        used_cents=450_000,
        value_cents=100_000,
        reset_ms=1_800_057_600_000,
        retry_after=57_600,
    ),
)

EXAMPLES = {error.code: error for error in _ALL}
