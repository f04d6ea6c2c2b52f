"""Port: requests to the URLs of webhooks."""

from collections.abc import Mapping
from typing import Protocol


class WebhookUrlRefused(Exception):
    """A webhook must not have this URL, or its host; the message is the reason."""


class DeliveryFailed(Exception):
    """No complete answer was received; the message is the reason, without the URL."""


class SenderBusy(Exception):
    """Nothing was sent, because this service does too much at once; the message is the reason."""


class WebhookSender(Protocol):
    """Sends a request only to an address that was checked, and to that very address.

    `client_id` is the client that the work counts for.
    """

    async def check(self, url: str, *, client_id: str) -> None:
        """Check the URL and resolve its host. No request is sent. Raises WebhookUrlRefused."""

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes, *, client_id: str
    ) -> int:
        """Send a JSON body and return the HTTP status. Redirects are not followed.

        The answer's body is read up to a limit and discarded. Raises DeliveryFailed, SenderBusy,
        and WebhookUrlRefused if the host has an address now that is refused.
        """
