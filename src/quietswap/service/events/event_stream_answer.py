"""Sends the events of a subscription until one side ends the stream.

Every end is clean for the client: it reconnects with the last id that it has. There are five: the
process stops, the client goes away, its key is revoked, it reads too slowly, or the events that
follow cannot be read.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service import observe
from quietswap.service.api import event_sender as sender
from quietswap.service.api.json import Receive, Send
from quietswap.service.events.event_text import beat_text, event_text, opening_text
from quietswap.service.events.feed import EventSubscription

_MOST_EVENTS = 50
"""Events per message, about 40 KB: a slow reader is noticed early."""


@dataclass(frozen=True, slots=True)
class EventStreamAnswer:
    """The answer of a stream: the events of `subscription`, until one side ends it.

    `may_go_on` is asked every ten seconds. A client that takes no data for `slow_s` seconds is cut.
    """

    subscription: EventSubscription
    may_go_on: Callable[[], Awaitable[bool]]
    slow_s: float

    async def respond(self, receive: Receive, send: Send, *, has_body: bool) -> None:
        """Send the stream and close the subscription; no event for HEAD."""
        subscription = self.subscription
        try:
            async with sender.event_sender(
                receive, send, slow_s=self.slow_s, on_leave=subscription.close
            ) as stream:
                end = "head"
                if has_body:
                    end = await _send_events(subscription, self.may_go_on, stream)
                observe.stream_ended(end)
                if end != "slow":
                    await stream.end()
        finally:
            subscription.close()


async def _send_events(
    subscription: EventSubscription,
    may_go_on: Callable[[], Awaitable[bool]],
    stream: sender.EventSender,
) -> str:
    """Send until the end, and return its reason."""
    try:
        await stream.write(opening_text(subscription.sequence))
        while (events := await subscription.next()) is not None:
            for start in range(0, len(events), _MOST_EVENTS):
                part = events[start : start + _MOST_EVENTS]
                await stream.write(b"".join(map(event_text, part)))
            if events:
                observe.events_sent(len(events))
                continue
            if not await _is_allowed(may_go_on):
                return "revoked"
            await stream.write(beat_text(subscription.sequence))
    except TimeoutError:
        return "slow"
    return "ended"


async def _is_allowed(may_go_on: Callable[[], Awaitable[bool]]) -> bool:
    """Return whether the key is still valid; True if the database does not answer."""
    try:
        return await may_go_on()
    except StoreUnavailable:
        return True
