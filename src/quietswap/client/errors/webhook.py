"""Exceptions of the codes for webhooks. Details are Structs of the contract."""

from quietswap.client.errors.base import ApiError
from quietswap.contract.error_details import NoDetails, WebhookLimitReachedDetails


class WebhookNotFound(ApiError[NoDetails]):
    """The client has no webhook with this id."""

    code = "WEBHOOK_NOT_FOUND"


class WebhookLimitReached(ApiError[WebhookLimitReachedDetails]):
    """The client has as many webhooks as the service allows."""

    code = "WEBHOOK_LIMIT_REACHED"


class WebhooksNotConfigured(ApiError[NoDetails]):
    """The service has no key to encrypt webhook secrets."""

    code = "WEBHOOKS_NOT_CONFIGURED"
