"""The settings' defaults, as arguments of adapters."""

from typing import Any

from quietswap.service.settings import NodeConfig, PricesConfig, RelayConfig

NODE: dict[str, Any] = {
    "timeout_s": NodeConfig().timeout_s,
    "max_lag_blocks": NodeConfig().max_lag_blocks,
}
RELAY: dict[str, Any] = {"name": RelayConfig().name, "timeout_s": RelayConfig().timeout_s}
PRICES: dict[str, Any] = {"ttl_s": PricesConfig().cache_s}
