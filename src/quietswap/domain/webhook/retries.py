"""When a failed delivery is repeated, and when a webhook is disabled."""

RETRY_AFTER_S = (
    5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600,
)  # fmt: skip
"""Seconds after each failed try, as Standard Webhooks proposes. After the tenth try there is none.

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""
GONE = 410
"""The status by which a receiver disables its webhook."""


def is_success(status: int) -> bool:
    """Return whether this HTTP status confirms a delivery."""
    return 200 <= status <= 299
