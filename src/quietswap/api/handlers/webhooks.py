"""The handlers of webhooks."""

from quietswap.api.handlers.request import AuthenticatedRequest
from quietswap.api.request_parsing import parse_webhooks
from quietswap.api.request_parsing.parse_requests import parse_int
from quietswap.api.responses import webhooks
from quietswap.api.use_cases import UseCases
from quietswap.contract import webhooks as contract


async def webhook_create(
    use_cases: UseCases, request: AuthenticatedRequest
) -> contract.WebhookCreatedEnvelope:
    """POST /api/v1/mev/webhooks."""
    wanted = parse_webhooks.parse_new_webhook(request.body)
    webhook, secret = await use_cases.webhooks.create(request.key, wanted)
    data = webhooks.created_webhook_response(webhook, secret)
    return contract.WebhookCreatedEnvelope(ok=True, data=data)


async def webhook_list(
    use_cases: UseCases, request: AuthenticatedRequest
) -> contract.WebhookListEnvelope:
    """GET /api/v1/mev/webhooks."""
    found = await use_cases.webhooks.list(request.key)
    data = contract.WebhookListResponse(
        webhooks=tuple(webhooks.webhook_response(webhook) for webhook in found)
    )
    return contract.WebhookListEnvelope(ok=True, data=data)


async def webhook_status(
    use_cases: UseCases, request: AuthenticatedRequest
) -> contract.WebhookEnvelope:
    """GET /api/v1/mev/webhooks/:webhookId."""
    webhook = await use_cases.webhooks.find(request.key, _id(request))
    return contract.WebhookEnvelope(ok=True, data=webhooks.webhook_response(webhook))


async def webhook_delete(
    use_cases: UseCases, request: AuthenticatedRequest
) -> contract.WebhookDeletedEnvelope:
    """DELETE /api/v1/mev/webhooks/:webhookId."""
    webhook_id = _id(request)
    await use_cases.webhooks.delete(request.key, webhook_id)
    data = contract.DeletedWebhookResponse(id=webhook_id, deleted=True)
    return contract.WebhookDeletedEnvelope(ok=True, data=data)


async def webhook_test(
    use_cases: UseCases, request: AuthenticatedRequest
) -> contract.WebhookTestEnvelope:
    """POST /api/v1/mev/webhooks/:webhookId/test."""
    delivery = await use_cases.webhooks.test(request.key, _id(request))
    return contract.WebhookTestEnvelope(ok=True, data=webhooks.delivery_response(delivery))


async def webhook_deliveries(
    use_cases: UseCases, request: AuthenticatedRequest
) -> contract.WebhookDeliveriesEnvelope:
    """GET /api/v1/mev/webhooks/:webhookId/deliveries."""
    query = request.query_values(contract.WebhookDeliveriesQuery)
    limit = parse_int(query, contract.WebhookDeliveriesQuery, "limit")
    offset = parse_int(query, contract.WebhookDeliveriesQuery, "offset")
    found = await use_cases.webhooks.deliveries(request.key, _id(request), limit, offset)
    data = contract.DeliveriesResponse(
        deliveries=tuple(webhooks.delivery_response(delivery) for delivery in found)
    )
    return contract.WebhookDeliveriesEnvelope(ok=True, data=data)


def _id(request: AuthenticatedRequest) -> str:
    return parse_webhooks.parse_webhook_id(request.path_params["webhookId"])
