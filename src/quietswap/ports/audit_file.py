"""A file that records the actions of operators, for copies outside the database."""

from typing import Protocol


class AuditUnavailable(Exception):
    """The audit file cannot be written; the message names it and the reason."""


class AuditFile(Protocol):
    """Appends records. Both methods raise AuditUnavailable."""

    def check(self) -> None:
        """Check that a record can be written now."""

    def write(self, event: str, **details: object) -> None:
        """Append one record with time, event, account, host and `details`.

        Details are names and ids, never secrets.
        """
