"""One signed request to a webhook, and its result."""

import secrets
from dataclasses import dataclass, replace
from itertools import count

from quietswap import observe
from quietswap.domain.webhook.retries import is_success
from quietswap.ports.clock import Clock
from quietswap.ports.webhook_sender import (
    DeliveryFailed,
    SenderBusy,
    WebhookSender,
    WebhookUrlRefused,
)
from quietswap.ports.webhooks import Delivery, Webhook
from quietswap.services.webhooks.secret_box import SecretBox, SecretUnreadable
from quietswap.services.webhooks.signature import signed_headers

_SECRET_PAUSE_S = 60.0
"""Until the operator has put the key back and started the service again."""
_BUSY_PAUSE_S = 5.0
_serial = count()


def new_delivery_id(now_ms: int) -> str:
    """Return an id that sorts by time, and in one process within a millisecond, too."""
    return f"dlv_{now_ms:012x}{next(_serial) & 0xFFFF:04x}{secrets.token_hex(4)}"


class NotTried(Exception):
    """No request was sent, for a reason that lies in this service: it is no failed try.

    `pause_s` are the seconds until it may be sent.
    """

    def __init__(self, reason: str, pause_s: float) -> None:
        super().__init__(reason)
        self.pause_s = pause_s


@dataclass(frozen=True, slots=True)
class Message:
    """What is sent: the id of the event, its type and sequence, and its JSON."""

    event_id: str
    event_type: str
    sequence: int
    body: bytes


def untried(webhook: Webhook, message: Message, at_ms: int, reason: str | None = None) -> Delivery:
    """Return the record of a message that was not sent."""
    return Delivery(
        delivery_id=new_delivery_id(at_ms),
        webhook_id=webhook.webhook_id,
        event_id=message.event_id,
        event_type=message.event_type,
        sequence=message.sequence,
        attempt=1,
        at_ms=at_ms,
        ms=0,
        status=None,
        error=reason,
    )


@dataclass(frozen=True, slots=True)
class WebhookCaller:
    """Signs and sends."""

    sender: WebhookSender
    box: SecretBox
    clock: Clock

    async def call(self, webhook: Webhook, message: Message, attempt: int) -> Delivery:
        """Send once and return the result; every failure of the receiver is a result.

        Raises NotTried.
        """
        started, at_ms = self.clock.monotonic(), self.clock.now_ms()
        status, error = await self._send(webhook, message, at_ms)
        seconds = self.clock.monotonic() - started
        observe.webhook_called(webhook.webhook_id, message.event_type, status, error, seconds)
        plain = untried(webhook, message, at_ms)
        ms = round(seconds * 1000)
        return replace(plain, attempt=attempt, ms=ms, status=status, error=error)

    async def _send(
        self, webhook: Webhook, message: Message, at_ms: int
    ) -> tuple[int | None, str | None]:
        try:
            secret = self.box.open(webhook.webhook_id, webhook.secret)
            headers = signed_headers(secret, message.event_id, at_ms, message.body)
            status = await self.sender.post(
                webhook.url, headers, message.body, client_id=webhook.client_id
            )
        except SecretUnreadable as error:
            observe.webhook_secret_unreadable(webhook.webhook_id, str(error))
            reason = f"the secret cannot be decrypted: {error}"
            raise NotTried(reason, _SECRET_PAUSE_S) from None
        except SenderBusy as error:
            observe.webhook_postponed(webhook.webhook_id, str(error))
            raise NotTried(str(error), _BUSY_PAUSE_S) from None
        except WebhookUrlRefused as error:
            return None, f"the URL is refused: {error}"
        except DeliveryFailed as error:
            return None, str(error)
        return status, None if is_success(status) else f"the receiver answered HTTP {status}"
