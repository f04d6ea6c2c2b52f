"""Base of the errors that a caller sees: one subclass per error code.

A constructor's arguments are the `details` of the code, so the type checker verifies every raise.
The HTTP status of each code is in `quietswap.contract.errors`.
"""

from typing import Any, ClassVar

Details = dict[str, Any]


class RequestError(Exception):
    """An error for the caller.

    `message` is for people, `details` for programs (its members depend on `code`), `suggestion`
    is the next step, if there is one.
    """

    code: ClassVar[str]

    def __init__(
        self, message: str, details: Details | None = None, suggestion: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.suggestion = suggestion
