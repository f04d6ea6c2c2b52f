"""Error codes for what a request contains: missing, malformed or unsupported values."""

from collections.abc import Sequence
from typing import Annotated, Any, Self

from msgspec import UNSET, UnsetType

from quietswap.rules.errors.base import (
    Details,
    FieldPath,
    PossiblyMined,
    Provided,
    Reason,
    RequestError,
    Required,
    present,
)
from quietswap.rules.tokens.token import NATIVE, WETH
from quietswap.rules.wire import ROUTER, USDC, AmountText, WireStruct, doc, ref


class InvalidTokenAddressDetails(WireStruct, frozen=True, kw_only=True):
    """The token address."""

    field: FieldPath = ""
    provided: Provided = ""
    reason: Reason = ""


class InvalidTokenAddress(RequestError, status=400, shape=InvalidTokenAddressDetails):
    """The token address is missing or invalid, or both tokens are the same."""

    example = {
        "field": "sellToken",
        "provided": "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2",
        "reason": "the EIP-55 checksum does not match: a digit, or its letter case, is wrong",
    }

    def __init__(
        self,
        *,
        field: str,
        provided: str,
        reason: str,
        suggestion: str = "Use the EIP-55 checksummed address of an ERC-20 token.",
    ) -> None:
        super().__init__(
            f"{field} is not a valid token address: {reason}",
            suggestion,
            field=field,
            provided=provided,
            reason=reason,
        )


class NativeEthNotSupportedDetails(WireStruct, frozen=True, kw_only=True):
    """The token address."""

    field: FieldPath = ""
    provided: Provided = ""


class NativeEthNotSupported(RequestError, status=400, shape=NativeEthNotSupportedDetails):
    """A placeholder for native ETH was given in place of an ERC-20 token."""

    example = {
        "field": "sellToken",
        "provided": NATIVE,
        "weth": WETH,
    }

    def __init__(self, *, field: str, provided: str, weth: str) -> None:
        if field == "tokens":
            text = f"{field} has a placeholder for native ETH, which is no ERC-20"
            advice = "Leave it out: the balance of ETH is in every answer."
        else:
            text = f"{field} is a placeholder for native ETH, which cannot be swapped here"
            advice = f"Wrap ETH first and use WETH: {weth}"
        super().__init__(text, advice, field=field, provided=provided)


class InvalidAmountDetails(WireStruct, frozen=True, kw_only=True):
    """The amount."""

    provided: Provided = ""
    field: FieldPath = ""


class InvalidAmount(RequestError, status=400, shape=InvalidAmountDetails):
    """The amount is missing, zero, negative or not a plain decimal number."""

    example = {
        "field": "amount",
        "provided": "-1",
        "reason": "the amount must be greater than zero",
    }

    def __init__(self, *, field: str, provided: str, reason: str) -> None:
        super().__init__(f"{field} is not a valid amount: {reason}", provided=provided, field=field)


class UserAddressRequiredDetails(WireStruct, frozen=True, kw_only=True):
    """The field."""

    field: FieldPath = ""
    required: Required = None


class UserAddressRequired(RequestError, status=400, shape=UserAddressRequiredDetails):
    """The swap quote needs the wallet that will sign."""

    def __init__(self) -> None:
        super().__init__(
            "userAddress is missing: the quote builds a transaction for one wallet",
            field="userAddress",
            required=True,
        )


class InvalidOperationDetails(WireStruct, frozen=True, kw_only=True):
    """The operation."""

    provided: Provided
    allowed: Annotated[
        tuple[Annotated[str, doc("Operation", enum=["wrap", "unwrap"])], ...],
        doc("Operations that exist"),
    ]


class InvalidOperation(RequestError, status=400, shape=InvalidOperationDetails):
    """The operation is neither wrap nor unwrap."""

    example = {"provided": "burn"}

    def __init__(self, *, provided: str) -> None:
        super().__init__(
            "operation must be wrap or unwrap",
            provided=provided,
            allowed=["wrap", "unwrap"],
        )


class InvalidAddressDetails(WireStruct, frozen=True, kw_only=True):
    """The wallet address."""

    field: Annotated[str, doc("Name of the parameter or member", "userAddress")] = "userAddress"
    provided: Provided = ""
    address: Provided = ""
    reason: Reason = ""


class InvalidAddress(RequestError, status=400, shape=InvalidAddressDetails):
    """A wallet address has a wrong form or checksum."""

    example = {"provided": "0x1234", "reason": "an address is 0x followed by 40 hexadecimal digits"}

    def __init__(self, *, provided: str, reason: str, field: str = "userAddress") -> None:
        super().__init__(
            f"{field} is not a valid wallet address: {reason}",
            "Use the EIP-55 checksummed address of the wallet that signs.",
            field=field,
            provided=provided,
            address=provided,
            reason=reason,
        )


class InvalidParameterDetails(WireStruct, frozen=True, kw_only=True):
    """The parameter."""

    parameter: Annotated[str, doc("Name of the parameter")]
    provided: Annotated[
        Any, doc("What was sent, at most its first 100 characters", type="string")
    ] = None
    max: Annotated[int | None, doc("Largest value allowed, where there is one")] = None


class InvalidParameter(RequestError, status=400, shape=InvalidParameterDetails):
    """A query parameter is outside its range; `max` is its upper bound, if it has one."""

    example = {
        "parameter": "limit",
        "provided": "201",
        "reason": "it must be a whole number from 1 to 200",
        "maximum": 200,
    }

    def __init__(
        self, *, parameter: str, provided: str, reason: str, maximum: int | None = None
    ) -> None:
        super().__init__(
            f"{parameter} is not valid: {reason}",
            parameter=parameter,
            provided=provided,
            max=maximum,
        )


class MissingParameterDetails(WireStruct, frozen=True, kw_only=True):
    """The field."""

    field: FieldPath
    required: Required = None


class MissingParameter(RequestError, status=400, shape=MissingParameterDetails):
    """A required field is absent; `field` is its dotted path."""

    example = {"field": "signedTransaction"}

    def __init__(self, *, field: str) -> None:
        super().__init__(f"{field} is required", field=field, required=True)


class TokenNotSupportedDetails(WireStruct, frozen=True, kw_only=True):
    """The token."""

    token: Annotated[str, doc("Token")]
    reason: Reason = ""


class TokenNotSupported(RequestError, status=404, shape=TokenNotSupportedDetails):
    """A token has no code on mainnet, is not allowed here, or is unknown to an aggregator.

    The last only if no other aggregator has a route.
    """

    example = {"token": USDC, "reason": "buyToken is not an ERC-20 on mainnet"}

    def __init__(self, *, token: str, reason: str) -> None:
        super().__init__(f"the token is not supported: {reason}", token=token, reason=reason)


class ValidationErrorDetails(PossiblyMined, frozen=True, kw_only=True):
    """What does not match."""

    reason: Annotated[
        str,
        doc(
            "MALFORMED: not JSON, wrong JSON types, or a time in another unit. MISMATCH: differs "
            "from the quote. NO_QUOTE: no quote was issued to this key and wallet. QUOTE_EXPIRED: "
            "the quote is no longer valid. QUOTE_USED: an order of the quote is open. "
            "WOULD_REVERT: the transaction would revert on the "
            "latest state; nothing was sent. ORDER_ENDED, NOT_CANCELLABLE: the order cannot be "
            "cancelled. GAS_TOO_HIGH: the wallet's delegated code uses too much gas for a cancel. "
            "BATCH_REFUSED: the wallet cannot approve and swap in one, as its code, nonce or "
            "allowance now is. "
            "Other values are the relay's reason",
            "MISMATCH",
        ),
    ] = ""
    fields: Annotated[
        tuple[Annotated[dict[str, Any], doc("One field", **ref("FieldFault"))], ...],
        doc("All fields that do not match"),
    ] = ()
    revert_reason: Annotated[str | None, doc("Why it would revert; with WOULD_REVERT")] = None


class ValidationError(RequestError, status=422, shape=ValidationErrorDetails):
    """The submission differs from the issued quote, or has wrong JSON types.

    Each entry of `fields` names its `field` (dotted path) with `expected` and `provided`.
    """

    example = {
        "message": "no known quote has this transaction; the closest one differs in"
        " transaction.gasLimit",
        "fields": [{"field": "transaction.gasLimit", "expected": "262500", "provided": "300000"}],
    }

    def __init__(
        self,
        message: str,
        fields: Sequence[Details] = (),
        *,
        reason: str = "MISMATCH",
        suggestion: str | None = None,
        order_id: str | None = None,
        tx_hash: str | None = None,
        may_be_mined: bool | None = None,
        revert_reason: str | None = None,
    ) -> None:
        if suggestion is None and reason != "MALFORMED":
            suggestion = (
                "Request a fresh quote, sign its transactionParams unchanged and send its "
                "providerMetadata back unchanged."
            )
        more = present(
            order_id=order_id,
            tx_hash=tx_hash,
            may_be_mined=may_be_mined,
            revert_reason=revert_reason,
        )
        super().__init__(message, suggestion, reason=reason, fields=list(fields), **more)


class InvalidSignatureDetails(WireStruct, frozen=True, kw_only=True):
    """The signature."""

    reason: Reason


class InvalidSignature(RequestError, status=400, shape=InvalidSignatureDetails):
    """The signed transaction cannot be decoded, or its signature does not prove the wallet."""

    example = {"reason": "the signer is not userAddress"}

    def __init__(self, *, reason: str) -> None:
        super().__init__(f"the signed transaction is not valid: {reason}", reason=reason)

    @classmethod
    def other_signer(cls, signer: str, wanted: str) -> Self:
        """Return the error for a signature that recovers `signer` where `wanted` must sign."""
        return cls(reason=f"{recovered(signer)}, not {wanted}")


def recovered(signer: str) -> str:
    """Return the words for the wallet that a signature recovers."""
    return f"the signature recovers {signer} (altered bytes recover an address of their own)"


class InsufficientAllowanceDetails(WireStruct, frozen=True, kw_only=True):
    """Allowance of the router."""

    token: Annotated[str, doc("Sell token")]
    router: Annotated[str, doc("Router to approve")]
    required: Annotated[AmountText, doc("Allowance needed, smallest units")]
    current: Annotated[AmountText, doc("Present allowance, smallest units")]


class InsufficientAllowance(RequestError, status=400, shape=InsufficientAllowanceDetails):
    """The router may not yet move enough of the sell token; amounts in smallest units."""

    example = {
        "token": WETH,
        "router": ROUTER,
        "required": 10**18,
        "current": 0,
    }

    def __init__(self, *, token: str, router: str, required: int, current: int) -> None:
        super().__init__(
            "the router is not approved to move the sell amount",
            f"Approve {router} for at least {required} of {token}, then submit again.",
            token=token,
            router=router,
            required=str(required),
            current=str(current),
        )


class InsufficientBalanceDetails(PossiblyMined, frozen=True, kw_only=True):
    """Balance of the wallet."""

    required: Annotated[AmountText, doc("Balance needed, wei or smallest units")]
    available: Annotated[AmountText, doc("Present balance, wei or smallest units")]
    asset: Annotated[str, doc("ETH or a token address")] = ""


class InsufficientBalance(RequestError, status=400, shape=InsufficientBalanceDetails):
    """Not enough of `asset` ("ETH" or a token address); amounts in wei or smallest units."""

    example = {"asset": "ETH", "required": 15 * 10**17, "available": 10**18}

    def __init__(self, *, asset: str, required: int, available: int) -> None:
        units = "wei" if asset == "ETH" else "smallest units"
        text = f"the wallet holds too little {asset}: {available} of {required} {units}"
        advice = None
        if available >= required:  # the relay said so; our own figures contradict it
            text = "the relay says the wallet cannot pay for it, although the node shows enough "
            text += asset
            advice = (
                "Pending transactions may also need it: wait for them, then request a fresh quote."
            )
        super().__init__(
            text, advice, required=str(required), available=str(available), asset=asset
        )


class DeadlineExpiredDetails(WireStruct, frozen=True, kw_only=True):
    """Times."""

    deadline: Annotated[int | float, doc("The order's deadline in Unix seconds", type="number")]
    now: Annotated[int | None, doc("Time of the service in Unix seconds", type="integer")] = None


class DeadlineExpired(RequestError, status=400, shape=DeadlineExpiredDetails):
    """The order's own deadline has passed; Unix seconds."""

    example = {"deadline": 1_800_000_000, "now": 1_800_000_031}

    def __init__(self, *, deadline: int, now: int) -> None:
        super().__init__(
            "the order's deadline has passed",
            "Request a fresh quote and sign it again.",
            deadline=deadline,
            now=now,
        )


class NonceTooLowDetails(PossiblyMined, frozen=True, kw_only=True):
    """The submitted nonce, and the next nonce on the chain."""

    provided: Annotated[int, doc("Nonce that was signed")]
    expected: Annotated[int, doc("Next nonce of the wallet")]


class NonceTooLow(RequestError, status=409, shape=NonceTooLowDetails):
    """The wallet has already used this nonce."""

    example = {"provided": 6, "expected": 7}

    def __init__(self, *, provided: int, expected: int) -> None:
        super().__init__(
            f"nonce {provided} is already used; the next one is {expected}",
            "Request a fresh quote and sign it again.",
            provided=provided,
            expected=expected,
        )


class InvalidTransactionDetails(PossiblyMined, frozen=True, kw_only=True):
    """The transaction."""

    reason: Reason
    field: Annotated[str | UnsetType | None, doc("Field of the transaction")] = UNSET


class InvalidTransaction(RequestError, status=400, shape=InvalidTransactionDetails):
    """The transaction breaks a rule of its type (EIP-1559, EIP-2681, EIP-7825) or its chain."""

    example = {"reason": "the chain id must be 1", "field": "chainId"}

    def __init__(self, *, reason: str, field: str | None = None) -> None:
        super().__init__(f"the transaction is not valid: {reason}", reason=reason, field=field)


class OrderNotFound(RequestError, status=404):
    """This key has no such order; an order of another key gives the same error."""

    def __init__(
        self,
        message: str = "no order with this id exists for this API key",
        suggestion: str | None = None,
    ) -> None:
        super().__init__(message, suggestion=suggestion)


class SignatureReplayDetails(WireStruct, frozen=True, kw_only=True):
    """The order that was created from the same signed transaction."""

    order_id: Annotated[str, doc("Order id")]


class SignatureReplay(RequestError, status=409, shape=SignatureReplayDetails, sometimes=True):
    """The same signed transaction was already submitted; `order_id` only if this client owns it."""

    example = {"order_id": "ord_01"}

    def __init__(self, *, order_id: str | None = None) -> None:
        super().__init__(
            "this signed transaction was already submitted",
            "Poll the existing order instead of submitting again." if order_id else None,
            **present(order_id=order_id),
        )
