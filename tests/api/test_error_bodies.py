"""Message and details of errors that the domain declares, as the API sends them."""

from typing import Any

import pytest

from quietswap.rules import errors
from quietswap.rules.errors.base import RequestError

LIMITED = {"retry_after": 7, "limit": 300, "window": 60}


@pytest.mark.parametrize(
    ("kind", "given", "message", "details"),
    [
        (
            errors.MissingParameter,
            {"field": "sell.token"},
            "sell.token is required",
            {"field": "sell.token", "required": True},
        ),
        (
            errors.InvalidParameter,
            {"parameter": "limit", "provided": "900", "reason": "large", "maximum": 200},
            "limit is not valid: large",
            {"parameter": "limit", "provided": "900", "max": 200},
        ),
        (
            errors.InvalidOperation,
            {"provided": "bridge"},
            "operation must be wrap or unwrap",
            {"provided": "bridge", "allowed": ["wrap", "unwrap"]},
        ),
        (
            errors.NotFound,
            {"path": "/v2"},
            "there is no endpoint at this path",
            {"path": "/v2"},
        ),
        (
            errors.MethodNotAllowed,
            {"method": "PUT", "allowed": ("GET", "POST")},
            "PUT is not allowed here; there is GET, POST",
            {"method": "PUT", "allowed": ["GET", "POST"]},
        ),
        (errors.RateLimitExceeded, LIMITED, "more than 300 requests in 60 seconds", None),
        (errors.RateLimitExceeded, LIMITED | {"message": "too many"}, "too many", None),
    ],
)
def test_an_error_has_its_message_and_details(
    kind: type[RequestError], given: dict[str, Any], message: str, details: object
) -> None:
    error = kind(**given)
    assert (error.message, str(error), error.details) == (message, message, details)


def test_a_rate_limit_says_when_it_ends() -> None:
    error = errors.RateLimitExceeded(**LIMITED)
    assert (error.retry_after, error.limit, error.window) == (7, 300, 60)
