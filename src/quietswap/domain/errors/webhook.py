"""Error codes for webhooks."""

from quietswap.domain.errors.base import RequestError


class WebhookNotFound(RequestError):
    """This client has no such webhook; a webhook of another client gives the same error."""

    code = "WEBHOOK_NOT_FOUND"

    def __init__(self) -> None:
        super().__init__("no webhook with this id exists for this API key")


class WebhookLimitReached(RequestError):
    """The client has as many webhooks as the settings allow."""

    code = "WEBHOOK_LIMIT_REACHED"

    def __init__(self, *, limit: int) -> None:
        super().__init__(
            f"there are {limit} webhooks already, and no more are allowed",
            {"limit": limit},
            "Delete one first, or ask the operator to raise webhooks.max_per_client.",
        )


class WebhooksNotConfigured(RequestError):
    """The operator has set no key to encrypt the secrets of webhooks."""

    code = "WEBHOOKS_NOT_CONFIGURED"

    def __init__(self) -> None:
        super().__init__(
            "this service has no key to encrypt webhook secrets, so it creates no webhooks",
            suggestion="Ask the operator to set webhooks.encryption_key. The event stream works "
            "without it.",
        )
