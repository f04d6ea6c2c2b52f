"""`quietswap webhooks`: what is asked, what is printed, and the exit codes."""

import json
from dataclasses import replace
from typing import Any

import pytest

from quietswap.rules import errors
from quietswap.rules.contract.webhooks import (
    DeletedWebhookResponse,
    DeliveriesResponse,
    WebhookListResponse,
)
from quietswap.rules.orders.order_changes import OrderChange
from quietswap.rules.webhooks.webhook import DisabledReason, WebhookState
from quietswap.service.webhooks import http as webhooks_http
from tests.api.scripted_use_cases import DELIVERY, WEBHOOK
from tests.cli.conftest import Quietswap
from tests.client.fake_servers import FakeService, ok, refused
from tests.response_json import as_json
from tests.stored_orders import NOW_MS

DONE = replace(DELIVERY, status=204, error=None)


def answers(service: FakeService, value: Any) -> None:
    service.next("status", ok(as_json(value)))


def test_create_prints_the_secret_alone_on_standard_output(
    quietswap: Quietswap, service: FakeService
) -> None:
    answers(service, webhooks_http.created_webhook_response(WEBHOOK, "whsec_AAAA"))
    words = ("--event", "order.confirmed", "--event", "order.failed", "--description", "a note")
    done = quietswap("webhooks", "create", WEBHOOK.url, *words)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0] == "whsec_AAAA"
    assert "quietswap webhooks test whk_1" in done.stdout
    assert "cannot be shown again" in done.stderr
    assert service.asked[0].body == {
        "url": WEBHOOK.url, "events": ["order.confirmed", "order.failed"], "description": "a note",
    }  # fmt: skip


def test_an_event_that_does_not_exist_is_wrong_usage(
    quietswap: Quietswap, service: FakeService
) -> None:
    done = quietswap("webhooks", "create", WEBHOOK.url, "--event", "order.nonsense", "--json")
    assert (done.exit_code, json.loads(done.stdout)["error"]) == (2, "USAGE")
    assert "'order.nonsense' is not one of 'order.created'" in done.stderr
    assert service.asked == []


@pytest.mark.parametrize("change", list(OrderChange))
def test_every_event_type_can_be_chosen(
    quietswap: Quietswap, service: FakeService, change: OrderChange
) -> None:
    answers(service, webhooks_http.created_webhook_response(WEBHOOK, "whsec_AAAA"))
    done = quietswap("webhooks", "create", WEBHOOK.url, "--event", change.value)
    assert done.exit_code == 0, done.output
    assert service.asked[0].body["events"] == [change.value]


def test_create_in_json(quietswap: Quietswap, service: FakeService) -> None:
    made = webhooks_http.created_webhook_response(WEBHOOK, "whsec_AAAA")
    answers(service, made)
    done = quietswap("webhooks", "create", WEBHOOK.url, "--json")
    printed = json.loads(done.stdout)
    assert printed.pop("createdAt") == "2027-01-15T08:00:00Z"
    assert printed == {k: v for k, v in as_json(made).items() if k != "createdAt"}
    assert service.asked[0].body == {"url": WEBHOOK.url}


def test_a_refused_url_is_explained(quietswap: Quietswap, service: FakeService) -> None:
    reason = "its host has an address that is not public (loopback)"
    service.next(
        "status", refused(errors.InvalidParameter(parameter="url", provided="x", reason=reason))
    )
    done = quietswap("webhooks", "create", "https://localhost/")
    assert done.exit_code == 1
    assert f"url is not valid: {reason}" in done.stdout


def test_list_shows_the_state_of_each(quietswap: Quietswap, service: FakeService) -> None:
    off = replace(
        WEBHOOK, webhook_id="whk_2", events=(), state=WebhookState.DISABLED,
        disabled_reason=DisabledReason.FAILED,
    )  # fmt: skip
    late = replace(WEBHOOK, webhook_id="whk_3", failures=2, next_try_ms=NOW_MS)
    shown = tuple(webhooks_http.webhook_response(one) for one in (WEBHOOK, off, late))
    answers(service, WebhookListResponse(webhooks=shown))
    first, second, third = quietswap("webhooks", "list").stdout.splitlines()
    assert first == f"whk_1  {WEBHOOK.url}  order.confirmed  active  (a note)"
    assert "all events  disabled: ten tries of one event failed" in second
    assert "2 failed tries, next at 20" in third
    answers(service, WebhookListResponse(webhooks=()))
    assert "quietswap webhooks create URL" in quietswap("webhooks", "list").stdout


@pytest.mark.parametrize(("delivery", "code"), [(DONE, 0), (DELIVERY, 1)])
def test_test_has_the_exit_code_of_its_result(
    quietswap: Quietswap, service: FakeService, delivery: Any, code: int
) -> None:
    answers(service, webhooks_http.delivery_response(delivery))
    done = quietswap("webhooks", "test", "whk_1")
    assert done.exit_code == code
    said = "HTTP 204" if code == 0 else "not delivered: the receiver answered HTTP 503"
    assert said in done.stdout
    answers(service, webhooks_http.delivery_response(delivery))
    machine = quietswap("webhooks", "test", "whk_1", "--json")
    assert (machine.exit_code, json.loads(machine.stdout)["delivered"]) == (code, code == 0)


def test_deliveries_and_delete(quietswap: Quietswap, service: FakeService) -> None:
    tries = tuple(
        webhooks_http.delivery_response(one) for one in (DONE, replace(DELIVERY, attempt=3))
    )
    answers(service, DeliveriesResponse(deliveries=tries))
    lines = quietswap("webhooks", "deliveries", "whk_1", "--limit", "2").stdout.splitlines()
    assert "order.confirmed #41  HTTP 204  120 ms" in lines[0]
    assert "order.confirmed #41 (try 3)  not delivered" in lines[1]
    assert service.asked[0].query == {"limit": "2", "offset": "0"}
    answers(service, DeliveriesResponse(deliveries=()))
    assert quietswap("webhooks", "deliveries", "whk_1").stdout == "No deliveries.\n"
    answers(service, DeletedWebhookResponse(id="whk_1", deleted=True))
    assert quietswap("webhooks", "delete", "whk_1").stdout == "Webhook whk_1 is deleted.\n"
    service.next("status", refused(errors.WebhookNotFound()))
    assert quietswap("webhooks", "delete", "whk_1").exit_code == 1
