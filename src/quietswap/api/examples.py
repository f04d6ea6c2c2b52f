"""One example of every error, made by the error's own class: the document cannot drift from it."""

from quietswap.api.fields import EXAMPLE_ROUTER, EXAMPLE_USDC
from quietswap.domain import errors, refusals
from quietswap.domain.errors import ApiError
from quietswap.domain.token import WETH

_LOWER = WETH.lower()
_NATIVE = "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"

_ALL: tuple[ApiError, ...] = (
    errors.InvalidTokenAddress(
        field="sellToken",
        provided=_LOWER,
        reason="the EIP-55 checksum does not match; use the mixed-case spelling",
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
    errors.InsufficientAllowance(token=WETH, router=EXAMPLE_ROUTER, required=10**18, current=0),
    errors.InsufficientBalance(asset="ETH", required=15 * 10**17, available=10**18),
    errors.DeadlineExpired(deadline=1_800_000_000, now=1_800_000_031),
    errors.NonceTooLow(provided=6, expected=7),
    errors.InvalidTransaction(reason="the chain id must be 1", field="chainId"),
    errors.Unauthorized(),
    errors.InsufficientLiquidity(
        sources=[{"source": "kyberswap", "outcome": "no_route", "reason": "no route for this pair"}]
    ),
    errors.TokenNotSupported(token=EXAMPLE_USDC, reason="buyToken is not an ERC-20 on mainnet"),
    errors.OrderNotFound(),
    refusals.SignatureReplay(order_id="ord_01"),
    refusals.ValidationError(
        "what was submitted differs from the quote",
        [{"field": "transaction.gasLimit", "expected": "262500", "provided": "300000"}],
    ),
    refusals.RateLimitExceeded(retry_after=12, limit=300, window=60),
    refusals.InternalServerError(request_id="9f86d081884c7d65"),
    refusals.ServiceUnavailable("the Ethereum node does not answer"),
    refusals.ProviderUnavailable("the relay could not be reached"),
    refusals.NotFound(path="/api/v1/nothing"),
    refusals.MethodNotAllowed(method="DELETE", allowed=["GET", "HEAD"]),
    refusals.UnsupportedMediaType(provided="text/plain"),
    refusals.PayloadTooLarge(limit=1 << 20),
)

EXAMPLES = {error.code: error for error in _ALL}
