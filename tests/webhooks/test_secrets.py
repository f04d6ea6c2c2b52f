"""Secrets are encrypted at rest, bound to their webhook, and keys can be changed."""

import base64
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from quietswap.rules.orders.order import OrderStatus
from quietswap.rules.webhooks.webhook import RETRY_AFTER_S, WebhookState
from quietswap.service.server.settings import BadSettings
from quietswap.service.server.webhooks import make_callers
from quietswap.service.settings import Settings, WebhooksConfig
from quietswap.service.webhooks.http import encoded_test_event
from quietswap.service.webhooks.manage import ManageWebhooks, rotate_secrets
from quietswap.service.webhooks.secrets import (
    BadEncryptionKey,
    SecretBox,
    SecretUnreadable,
    read_key,
)
from tests.storage.examples import HandClock
from tests.webhooks.scenes import FORMER, KEY, PRIMARY, Scene

SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDBxVQxQ6n1tE="


def text(key: bytes) -> str:
    return base64.b64encode(key).decode()


def test_only_the_key_and_the_webhook_open_a_secret() -> None:
    box = SecretBox([PRIMARY])
    sealed = box.seal("whk_1", SECRET)
    assert SECRET.encode() not in sealed
    assert box.seal("whk_1", SECRET) != sealed  # another nonce
    assert box.open("whk_1", sealed) == SECRET
    with pytest.raises(SecretUnreadable, match="another webhook"):
        box.open("whk_2", sealed)
    with pytest.raises(SecretUnreadable, match="its key is not in"):
        SecretBox([FORMER]).open("whk_1", sealed)
    for place in range(len(sealed)):
        changed = bytearray(sealed)
        changed[place] ^= 1
        with pytest.raises(SecretUnreadable):
            box.open("whk_1", bytes(changed))
    with pytest.raises(SecretUnreadable):
        box.open("whk_1", b"")


@pytest.mark.parametrize("bad", ["", "secret", text(bytes(31)), text(bytes(33)), "é" * 44])
def test_a_key_is_32_bytes_of_base64(bad: str) -> None:
    with pytest.raises(BadEncryptionKey, match="openssl rand -base64 32") as caught:
        read_key(bad)
    assert not bad or bad not in str(caught.value)


async def test_a_secret_is_never_stored_in_clear(scene: Scene) -> None:
    webhook, secret = await scene.create()
    assert secret.startswith("whsec_")
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32
    ((identity, sealed),) = await scene.storage.webhooks.secrets()
    assert identity == webhook.webhook_id
    assert secret.removeprefix("whsec_").encode() not in sealed
    assert scene.caller.box.open(identity, sealed) == secret


async def test_keys_are_changed_without_a_new_secret(scene: Scene) -> None:
    webhook, secret = await scene.create()
    renewed = SecretBox([FORMER, PRIMARY])
    assert await rotate_secrets(scene.storage.webhooks, renewed) == 1
    assert await rotate_secrets(scene.storage.webhooks, renewed) == 0
    ((_, sealed),) = await scene.storage.webhooks.secrets()
    assert SecretBox([FORMER]).open(webhook.webhook_id, sealed) == secret
    with capture_logs() as lines:
        assert await rotate_secrets(scene.storage.webhooks, SecretBox([bytes([1]) * 32])) == 0
    assert [line["event"] for line in lines] == ["webhook_secret_unreadable"]


@pytest.mark.parametrize("keys", [[], [FORMER]], ids=["no key", "another key"])
async def test_a_lost_key_pauses_deliveries_and_disables_nothing(
    scene: Scene, keys: list[bytes]
) -> None:
    webhook, _ = await scene.create()
    await scene.order(OrderStatus.SUBMITTED)
    right, scene.caller = scene.caller, replace(scene.caller, box=SecretBox(keys))
    scene.worker = scene.worker_with()
    for _ in range(2 * len(RETRY_AFTER_S)):
        with capture_logs() as lines:
            await scene.deliver()
            await scene.deliver()  # too early
        (line,) = lines
        assert line["event"] == "webhook_secret_unreadable"
        assert "its key is not in webhooks.encryption_key" in line["reason"]
        state = await scene.state(webhook)
        assert (state.state, state.failures) == (WebhookState.ACTIVE, 0)
        assert state.next_try_ms == scene.clock.ms + 60_000
        scene.clock.ms += 60_000
    assert (await scene.tries(webhook), scene.receiver.connections) == ([], 0)
    scene.caller = right
    scene.worker = scene.worker_with()
    await scene.deliver()
    assert [one.attempt for one in await scene.tries(webhook)] == [1, 1]
    state = await scene.state(webhook)
    assert (state.cursor, state.next_try_ms) == (2, 0)


async def test_a_test_without_the_key_says_why(scene: Scene) -> None:
    webhook, _ = await scene.create()
    broken = replace(scene.caller, box=SecretBox([FORMER]))
    manage = ManageWebhooks(
        scene.storage.webhooks, scene.storage.events, broken, scene.clock, encoded_test_event,
        max_per_client=1,
    )  # fmt: skip
    tried = await manage.test(KEY, webhook.webhook_id)
    assert tried.error is not None
    assert "its key is not in webhooks.encryption_key" in tried.error
    assert await scene.tries(webhook) == [tried]
    assert scene.receiver.connections == 0


@pytest.mark.parametrize(
    ("chosen", "reason"),
    [
        (WebhooksConfig(encryption_key="secret"), "webhooks.encryption_key: it is Base64"),
        (
            WebhooksConfig(encryption_key=text(PRIMARY), old_encryption_keys=("x",)),
            "webhooks.old_encryption_keys: it is Base64",
        ),
        (
            WebhooksConfig(old_encryption_keys=(text(PRIMARY),)),
            "webhooks.old_encryption_keys: webhooks.encryption_key is not set",
        ),
        (WebhooksConfig(ca_file="/nowhere.pem"), "webhooks.ca_file: No such file"),
        (WebhooksConfig(ca_file=__file__), "webhooks.ca_file: it holds no PEM"),
    ],
)
def test_bad_settings_are_refused_at_the_start(chosen: WebhooksConfig, reason: str) -> None:
    with pytest.raises(BadSettings, match=reason):
        make_callers(Settings(webhooks=chosen), HandClock())
