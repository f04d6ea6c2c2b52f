"""Which relay a new quote names: the first, or the second one while the first is down."""

from collections.abc import Mapping
from decimal import Decimal

from quietswap.domain.protection import (
    BACKUP_TIER,
    FIRST_TIER,
    EndpointType,
    Protection,
    ShareMode,
)
from quietswap.ports.outside import Relay


def choose_relay(relays: Mapping[int, Relay]) -> tuple[int, Relay]:
    """Return (tier, relay). With both down it names the first: the submission will say so."""
    backup = relays.get(BACKUP_TIER)
    if not relays[FIRST_TIER].is_up and backup is not None and backup.is_up:
        return BACKUP_TIER, backup
    return FIRST_TIER, relays[FIRST_TIER]


def protect(
    relays: Mapping[int, Relay], kind: EndpointType, share: ShareMode, rebate_usd: Decimal | None
) -> Protection:
    """Return the relay settings to issue; nothing is shared, so no rebate, with full privacy."""
    tier, relay = choose_relay(relays)
    is_shared = kind is not EndpointType.FULLPRIVACY and relay.pays_rebates
    if rebate_usd is not None and not is_shared:
        rebate_usd = Decimal(0)
    if rebate_usd is not None:
        rebate_usd = round(rebate_usd, 6)  # the same digits in the answer and in what is stored
    return Protection(
        display_name=relay.name,
        tier=tier,
        endpoint=relay.endpoint(kind, share),
        endpoint_type=kind,
        share_mode=share,
        expected_rebate_usd=rebate_usd,
        drops_reverts=relay.drops_reverts(kind),
    )
