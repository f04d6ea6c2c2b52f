"""Sends the events of a subscription until one side ends the stream.

Every end is clean for the client: it reconnects with the last id that it has. There are five: the
process stops, the client goes away, its key is revoked, it reads too slowly, or the events that
follow cannot be read.
"""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.types import Message, Receive, Send

from quietswap import observe
from quietswap.api.json import EVENT_STREAM
from quietswap.api.use_cases import EventSubscription
from quietswap.events.http import beat_text, event_text, opening_text
from quietswap.orders.stores import StoreUnavailable

_MOST_EVENTS = 50
"""Events per message, about 40 KB: a slow reader is noticed early."""


async def send_stream(
    subscription: EventSubscription,
    may_go_on: Callable[[], Awaitable[bool]],
    receive: Receive,
    send: Send,
    *,
    slow_s: float,
    is_head: bool,
) -> None:
    """Send the stream and close the subscription.

    `may_go_on` is asked every ten seconds. A client that takes no data for `slow_s` seconds is cut.
    """
    leaving = asyncio.create_task(_until_gone(receive, subscription))
    try:
        await send({"type": "http.response.start", "status": 200, "headers": [*EVENT_STREAM]})
        why = "head" if is_head else await _send_events(subscription, may_go_on, send, slow_s)
        observe.stream_ended(why)
        if why != "slow":
            await send(_body(b"", more=False))
    finally:
        leaving.cancel()
        subscription.close()


async def _send_events(
    subscription: EventSubscription,
    may_go_on: Callable[[], Awaitable[bool]],
    send: Send,
    slow_s: float,
) -> str:
    """Send until the end, and return its reason."""
    try:
        await _send_within(send, opening_text(subscription.sequence), slow_s)
        while (events := await subscription.next()) is not None:
            for start in range(0, len(events), _MOST_EVENTS):
                part = events[start : start + _MOST_EVENTS]
                await _send_within(send, b"".join(map(event_text, part)), slow_s)
            if events:
                observe.events_sent(len(events))
                continue
            if not await _is_allowed(may_go_on):
                return "revoked"
            await _send_within(send, beat_text(subscription.sequence), slow_s)
    except TimeoutError:
        return "slow"
    return "ended"


async def _is_allowed(may_go_on: Callable[[], Awaitable[bool]]) -> bool:
    """Return whether the key is still valid; True if the database does not answer."""
    try:
        return await may_go_on()
    except StoreUnavailable:
        return True


async def _send_within(send: Send, text: bytes, slow_s: float) -> None:
    async with asyncio.timeout(slow_s):
        await send(_body(text, more=True))


def _body(text: bytes, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": text, "more_body": more}


async def _until_gone(receive: Receive, subscription: EventSubscription) -> None:
    """Close the subscription once the client has gone away."""
    while (await receive())["type"] != "http.disconnect":
        pass
    subscription.close()
