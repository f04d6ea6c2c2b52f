"""Output of webhooks and deliveries: one line each."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from quietswap.cli.output.orders import when

if TYPE_CHECKING:
    from quietswap.contract.webhooks import DeliveryResponse, WebhookListResponse

_STATES = {
    None: "active",
    "gone": "disabled: the receiver answered 410",
    "failed": "disabled: ten tries of one event failed",
}


def webhook_lines(found: "WebhookListResponse") -> Iterator[Text]:
    """Yield one line for each webhook."""
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


def delivery_line(delivery: "DeliveryResponse") -> Text:
    """Return one try as a line."""
    number = f" #{delivery.sequence}" if delivery.sequence else ""
    result = (
        (f"HTTP {delivery.status}", "green")
        if delivery.delivered
        else (f"not delivered: {delivery.error}", "red")
    )
    again = f" (try {delivery.attempt})" if delivery.attempt > 1 else ""
    return Text.assemble(
        f"{when(delivery.at)}  {delivery.type}{number}{again}  ", result, f"  {delivery.ms} ms"
    )
