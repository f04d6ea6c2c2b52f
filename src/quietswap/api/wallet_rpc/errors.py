"""Errors of JSON-RPC 2.0 and EIP-1474 (https://eips.ethereum.org/EIPS/eip-1474)."""

from typing import Any

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
RESOURCE_NOT_FOUND = -32001
RESOURCE_UNAVAILABLE = -32002
TRANSACTION_REJECTED = -32003
LIMIT_EXCEEDED = -32005


class RpcError(Exception):
    """The error of one call; `data` is a JSON value or None."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


def bad_parameters(reason: str) -> RpcError:
    """Return the error of parameters that a method does not take; `reason` names the parameter."""
    return RpcError(INVALID_PARAMS, f"invalid parameters: {reason}")
