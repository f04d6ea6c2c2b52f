"""A foreign receiver verifies deliveries with the package `standardwebhooks`."""

from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook as Verifier
from standardwebhooks import WebhookVerificationError
from standardwebhooks import webhooks as library

from tests.webhooks.receiver import OK, always, answer
from tests.webhooks.scenes import Scene


def clock_at(ms: int) -> type[datetime]:
    """Return a datetime for the library, whose present is that of the test."""

    class Fixed(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:
            return datetime.fromtimestamp(ms / 1000, UTC)

    return Fixed


async def test_forged_and_replayed_deliveries_fail_at_a_foreign_receiver(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, secret = await scene.create()
    await scene.order()
    await scene.deliver()
    (request,) = scene.receiver.requests
    assert request.headers["webhook-timestamp"] == str(scene.clock.ms // 1000)
    assert request.headers["webhook-signature"].startswith("v1,")
    monkeypatch.setattr(library, "datetime", clock_at(scene.clock.ms))
    receiver = Verifier(secret)
    assert receiver.verify(request.body, request.headers)["type"] == "order.created"
    forged = request.body.replace(b"order.created", b"order.confirmed")
    for body, headers in (
        (forged, request.headers),
        (request.body, request.headers | {"webhook-id": "evt_other"}),
        (request.body, request.headers | {"webhook-timestamp": str(scene.clock.ms // 1000 + 1)}),
        (request.body, request.headers | {"webhook-signature": "v1,AAAA"}),
    ):
        with pytest.raises(WebhookVerificationError):
            receiver.verify(body, headers)
    _, other_secret = await scene.create()
    with pytest.raises(WebhookVerificationError):
        Verifier(other_secret).verify(request.body, request.headers)
    monkeypatch.setattr(library, "datetime", clock_at(scene.clock.ms + 301_000))
    with pytest.raises(WebhookVerificationError, match="too old"):  # a replay
        receiver.verify(request.body, request.headers)


async def test_a_second_try_has_the_same_id_and_a_new_signature(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A receiver knows a repeated event by its id, and accepts it hours after the first try."""
    _, secret = await scene.create()
    await scene.order()
    scene.receiver.answering = always(answer(500))
    await scene.deliver()
    scene.clock.ms += 7_200_000
    scene.receiver.answering = always(OK)
    await scene.deliver()
    first, second = scene.receiver.requests
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body
    monkeypatch.setattr(library, "datetime", clock_at(scene.clock.ms))
    assert Verifier(secret).verify(second.body, second.headers)
    with pytest.raises(WebhookVerificationError, match="too old"):
        Verifier(secret).verify(first.body, first.headers)
