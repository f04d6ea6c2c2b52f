"""Output of webhooks and deliveries: one line each."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from quietswap.cli.output.local_time import when

if TYPE_CHECKING:
    from quietswap.rules.contract import webhooks


_STATES = {
    None: "active",
    "gone": "disabled: the receiver answered 410",
    "failed": "disabled: ten tries of one event failed",
}


def webhook_lines(found: "webhooks.WebhookListResponse") -> Iterator[Text]:
    if not found.webhooks:
        yield Text("No webhooks. Create one with: quietswap webhooks create URL")
    for one in found.webhooks:
        state = _STATES.get(one.disabled_reason, one.state)
        if one.failures and one.state == "active":
            state = f"{one.failures} failed tries, next at {when(one.next_try_at)}"
        events = ", ".join(one.events) or "all events"
        note = f"  ({one.description})" if one.description else ""
        style = "green" if state == "active" else "yellow"
        yield Text.assemble(f"{one.id}  {one.url}  {events}  ", (state, style), note)


def delivery_line(delivery: "webhooks.DeliveryResponse") -> Text:
    number = f" #{delivery.sequence}" if delivery.sequence else ""
    number += f" (try {delivery.attempt})" if delivery.attempt > 1 else ""
    result = (f"not delivered: {delivery.error}", "red")
    if delivery.delivered:
        result = (f"HTTP {delivery.status}", "green")
    head = f"{when(delivery.at)}  {delivery.type}{number}  "
    return Text.assemble(head, result, f"  {delivery.ms} ms")
