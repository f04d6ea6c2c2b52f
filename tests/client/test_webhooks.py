"""Webhooks by both clients: what goes out, and what the answer becomes."""

from datetime import UTC, datetime
from typing import Any

import pytest

from quietswap.client.errors import WebhookLimitReached, WebhookNotFound, WebhooksNotConfigured
from quietswap.rules import errors
from quietswap.rules.contract.webhooks import (
    DeletedWebhookResponse,
    DeliveriesResponse,
    WebhookListResponse,
)
from quietswap.service.webhooks import http as webhooks_http
from tests.api.scripted_use_cases import DELIVERY, WEBHOOK
from tests.client.conftest import Do
from tests.client.fake_servers import FakeService, Reply, ok, refused
from tests.response_json import as_json
from tests.stored_orders import NOW_MS

PATH = "/api/v1/mev/webhooks"
NOON = datetime.fromtimestamp(NOW_MS / 1000, UTC)


def answers(service: FakeService, value: Any) -> None:
    service.next("status", ok(as_json(value)))


def test_create(do: Do, service: FakeService) -> None:
    answers(service, webhooks_http.created_webhook_response(WEBHOOK, "whsec_AAAA"))
    made = do("create_webhook", WEBHOOK.url, events=["order.confirmed"], description="a note")
    (asked,) = service.asked
    assert (asked.method, asked.path) == ("POST", PATH)
    assert asked.body == {
        "url": WEBHOOK.url, "events": ["order.confirmed"], "description": "a note",
    }  # fmt: skip
    assert (made.id, made.secret, made.state) == ("whk_1", "whsec_AAAA", "active")
    assert (made.events, made.created_at) == (("order.confirmed",), NOON)


def test_create_for_all_events(do: Do, service: FakeService) -> None:
    answers(service, webhooks_http.created_webhook_response(WEBHOOK, "whsec_AAAA"))
    do("create_webhook", WEBHOOK.url)
    assert service.asked[0].body == {"url": WEBHOOK.url}


def test_read_and_delete(do: Do, service: FakeService) -> None:
    shown = webhooks_http.webhook_response(WEBHOOK)
    answers(service, WebhookListResponse(webhooks=(shown,)))
    answers(service, shown)
    answers(service, DeletedWebhookResponse(id="whk_1", deleted=True))
    (listed,) = do("webhooks").webhooks
    found = do("webhook", "whk_1")
    assert listed == found
    assert (found.sequence, found.failures, found.next_try_at) == (41, 0, None)
    assert do("delete_webhook", "whk/1").deleted
    assert [(one.method, one.path) for one in service.asked] == [
        ("GET", PATH), ("GET", f"{PATH}/whk_1"), ("DELETE", f"{PATH}/whk%2F1"),
    ]  # fmt: skip


def test_test_and_deliveries(do: Do, service: FakeService) -> None:
    tried = webhooks_http.delivery_response(DELIVERY)
    answers(service, tried)
    answers(service, DeliveriesResponse(deliveries=(tried,)))
    delivery = do("test_webhook", "whk_1")
    assert (delivery.delivered, delivery.status, delivery.ms, delivery.at) == (
        False,
        503,
        120,
        NOON,
    )
    assert do("webhook_deliveries", "whk_1", limit=7, offset=2).deliveries == (delivery,)
    test, page = service.asked
    assert (test.method, test.path, test.body) == ("POST", f"{PATH}/whk_1/test", None)
    assert (page.path, page.query) == (f"{PATH}/whk_1/deliveries", {"limit": "7", "offset": "2"})


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (errors.WebhookNotFound(), WebhookNotFound),
        (errors.WebhookLimitReached(limit=3), WebhookLimitReached),
        (errors.WebhooksNotConfigured(), WebhooksNotConfigured),
    ],
)
def test_refusals_have_their_class(
    do: Do, service: FakeService, error: errors.RequestError, kind: type[Exception]
) -> None:
    reply: Reply = refused(error)
    service.next("status", reply)
    with pytest.raises(kind, match=error.message):
        do("webhook", "whk_1")
