"""The relay of a new quote and of an order: the first, or the backup while the first is down."""

from collections.abc import Awaitable, Mapping
from dataclasses import replace
from decimal import Decimal

from quietswap.orders.order import Order
from quietswap.relays.answers import RelayOutcome, RelayResponse, words_of
from quietswap.relays.relay import Relay
from quietswap.relays.settings import (
    BACKUP_TIER,
    FIRST_TIER,
    EndpointType,
    RelaySettings,
    ShareMode,
)


def choose_relay(relays: Mapping[int, Relay]) -> tuple[int, Relay]:
    """Return (tier, relay). With both down it is the first, and the submission will fail."""
    backup = relays.get(BACKUP_TIER)
    if not relays[FIRST_TIER].is_up and backup is not None and backup.is_up:
        return BACKUP_TIER, backup
    return FIRST_TIER, relays[FIRST_TIER]


def protect(
    relays: Mapping[int, Relay], kind: EndpointType, share: ShareMode, rebate_usd: Decimal | None
) -> RelaySettings:
    """Return the relay settings to issue; full privacy pays no rebate."""
    tier, relay = choose_relay(relays)
    is_shared = kind is not EndpointType.FULLPRIVACY and relay.pays_rebates
    if rebate_usd is not None and not is_shared:
        rebate_usd = Decimal(0)
    if rebate_usd is not None:
        rebate_usd = round(rebate_usd, 6)  # equal digits in the response and the database
    return relay_settings(tier, relay, kind, share, rebate_usd)


def relay_settings(
    tier: int, relay: Relay, kind: EndpointType, share: ShareMode, rebate_usd: Decimal | None = None
) -> RelaySettings:
    """Return the settings of one relay endpoint. `rebate_usd` None: the quote names no rebate."""
    return RelaySettings(
        display_name=relay.name,
        tier=tier,
        endpoint=relay.endpoint(kind, share),
        endpoint_type=kind,
        share_mode=share,
        expected_rebate_usd=rebate_usd,
        drops_reverts=relay.drops_reverts(kind),
    )


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
    return replace(order, tier=BACKUP_TIER, relay_answer=words_of(answer))


PASSED_ON = "the relay takes no transactions at the moment: the backup gets it"
