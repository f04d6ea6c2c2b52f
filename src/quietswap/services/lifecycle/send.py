"""Send the signed bytes of an order to its relay, with the privacy options of its quote."""

from collections.abc import Awaitable, Mapping
from dataclasses import replace

from quietswap.domain.order.order import Order
from quietswap.domain.order.relay_response import RelayOutcome, RelayResponse
from quietswap.domain.quote.relay_settings import (
    BACKUP_TIER,
    FIRST_TIER,
    EndpointType,
    ShareMode,
)
from quietswap.ports.relay import Relay


def send(relay: Relay, order: Order, raw: bytes) -> Awaitable[RelayResponse]:
    """Send the order's bytes to the endpoint it was issued for, taken from our own table."""
    kind, share = EndpointType(order.endpoint_type), ShareMode(order.share_mode)
    return relay.submit(raw, kind, share)


def passed_on(order: Order, answer: RelayResponse, relays: Mapping[int, Relay]) -> Order | None:
    """Return the order for the backup, if the first relay did not take it; else None.

    The bytes are the same, so at most one is mined. The backup must promise as much: an order that
    is dropped if it would revert stays with a relay that drops it.
    """
    backup = relays.get(BACKUP_TIER)
    if answer.outcome is not RelayOutcome.NOT_TAKEN or order.tier != FIRST_TIER:
        return None
    if backup is None or not backup.is_up:
        return None
    kind = EndpointType(order.endpoint_type)
    if relays[FIRST_TIER].drops_reverts(kind) and not backup.drops_reverts(kind):
        return None
    return replace(order, tier=BACKUP_TIER)


PASSED_ON = "the relay takes no transactions at the moment: the backup gets it"
