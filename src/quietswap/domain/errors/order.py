"""Error codes for a signed transaction and its order: signature, balance, nonce, deadline."""

from quietswap.domain.errors.base import RequestError


class InvalidSignature(RequestError):
    """The signed transaction cannot be decoded, or its signature does not prove the wallet."""

    code = "INVALID_SIGNATURE"

    def __init__(self, *, reason: str) -> None:
        super().__init__(f"the signed transaction is not valid: {reason}", {"reason": reason})


class InsufficientAllowance(RequestError):
    """The router may not yet move enough of the sell token; amounts in smallest units."""

    code = "INSUFFICIENT_ALLOWANCE"

    def __init__(self, *, token: str, router: str, required: int, current: int) -> None:
        super().__init__(
            "the router is not approved to move the sell amount",
            {"token": token, "router": router, "required": str(required), "current": str(current)},
            f"Approve {router} for at least {required} of {token}, then submit again.",
        )


class InsufficientBalance(RequestError):
    """Not enough of `asset` ("ETH" or a token address); amounts in wei or smallest units."""

    code = "INSUFFICIENT_BALANCE"

    def __init__(self, *, asset: str, required: int, available: int) -> None:
        details = {"required": str(required), "available": str(available), "asset": asset}
        if available < required:
            units = "wei" if asset == "ETH" else "smallest units"
            text = f"the wallet holds too little {asset}: {available} of {required} {units}"
            super().__init__(text, details)
            return
        # the relay said so; our own figures contradict it
        super().__init__(
            f"the relay says the wallet cannot pay for it, although the node shows enough {asset}",
            details,
            "Pending transactions may also need it: wait for them, then request a fresh quote.",
        )


class DeadlineExpired(RequestError):
    """The order's own deadline has passed; Unix seconds."""

    code = "DEADLINE_EXPIRED"

    def __init__(self, *, deadline: int, now: int) -> None:
        super().__init__(
            "the order's deadline has passed",
            {"deadline": deadline, "now": now},
            "Request a fresh quote and sign it again.",
        )


class NonceTooLow(RequestError):
    """The wallet has already used this nonce."""

    code = "NONCE_TOO_LOW"

    def __init__(self, *, provided: int, expected: int) -> None:
        super().__init__(
            f"nonce {provided} is already used; the next one is {expected}",
            {"provided": provided, "expected": expected},
            "Request a fresh quote and sign it again.",
        )


class InvalidTransaction(RequestError):
    """The transaction breaks a rule of its type (EIP-1559, EIP-2681, EIP-7825) or its chain."""

    code = "INVALID_TRANSACTION"

    def __init__(self, *, reason: str, field: str | None = None) -> None:
        super().__init__(
            f"the transaction is not valid: {reason}", {"reason": reason, "field": field}
        )


class OrderNotFound(RequestError):
    """This key has no such order; an order of another key gives the same error."""

    code = "ORDER_NOT_FOUND"

    def __init__(self, suggestion: str | None = None) -> None:
        super().__init__("no order with this id exists for this API key", suggestion=suggestion)


class SignatureReplay(RequestError):
    """The same signed transaction was already submitted; `order_id` only if this client owns it."""

    code = "SIGNATURE_REPLAY"

    def __init__(self, *, order_id: str | None = None) -> None:
        super().__init__(
            "this signed transaction was already submitted",
            {"orderId": order_id} if order_id else None,
            "Poll the existing order instead of submitting again." if order_id else None,
        )
