"""What a client asks for when it creates a webhook."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """`events` holds event types without repetition; empty means all."""

    url: str
    events: tuple[str, ...]
    description: str | None
