"""The relay of a new quote and of an order: the first, or the backup while the first is down."""

from collections.abc import Mapping
from decimal import Decimal

from quietswap.rules.relays import BACKUP_TIER, FIRST_TIER, EndpointType, RelaySettings, ShareMode
from quietswap.service.relays.relay import Relay


def choose_relay(relays: Mapping[int, Relay]) -> tuple[int, Relay]:
    """Return (tier, relay). With both down it is the first, and the submission will fail."""
    backup = relays.get(BACKUP_TIER)
    if not relays[FIRST_TIER].is_answering and backup is not None and backup.is_answering:
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
