"""The relay settings of a quote: endpoint and privacy, as shown in `providerMetadata`."""

from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

import msgspec

PROVIDER = "mev_relay"


class EndpointType(StrEnum):
    """The relay's documented endpoints (https://docs.mevblocker.io)."""

    FAST = "fast"
    NOREVERTS = "noreverts"
    FULLPRIVACY = "fullprivacy"


class ShareMode(StrEnum):
    """Which searchers may see the transaction, without its signature."""

    SHARE_ALL = "shareAll"
    SHARE_SAFE = "shareSafe"
    NONE = "none"


FIRST_TIER = 2
BACKUP_TIER = 4


class RelaySettings(msgspec.Struct, frozen=True):
    """The relay settings issued with one quote. `expected_rebate_usd` is None for wraps.

    `drops_reverts`: the relay promises to drop the transaction once it would revert.
    """

    display_name: str
    tier: int
    endpoint: str
    endpoint_type: EndpointType
    share_mode: ShareMode
    expected_rebate_usd: Decimal | None
    drops_reverts: bool

    def metadata(self) -> dict[str, Any]:
        """Return `providerMetadata` as sent to the client; an order must repeat it."""
        settings: dict[str, Any] = {
            "endpoint": self.endpoint,
            "endpointType": self.endpoint_type.value,
            "shareMode": self.share_mode.value,
            "revertProtection": self.drops_reverts,
            "useBoost": False,
        }
        if self.expected_rebate_usd is not None:
            settings["expectedRebate"] = float(self.expected_rebate_usd)
        return {"provider": PROVIDER, "tier": self.tier, "mevRelayMetadata": settings}


@lru_cache(maxsize=64)  # the combinations of the settings
def endpoint_url(base: str, kind: EndpointType, share: ShareMode, referrer: str) -> str:
    """Return the URL of one combination at MEV Blocker.

    `base` has no trailing slash. Parameters as documented at https://docs.mevblocker.io.
    """
    query: dict[str, str] = {}
    if share is not ShareMode.NONE and kind is not EndpointType.FULLPRIVACY:
        query[share.value] = "1"
    query["referrer"] = referrer
    return f"{base}/{kind.value}?{urlencode(query)}"
