"""Values for the examples of the documentation."""

from typing import Any

USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
ROUTER = "0x6131B5fae19EA4f9D964eAc0408E4408b66337b5"
CALLDATA = "0xe21fd0e9"
SIGNED = "0x02f8b0018080"
TX_HASH = "0x" + "5c" * 32
ORDER_ID = "ord_01"
WRAP_QUOTE_ID = "weth_wrap_1800000000000_4f3a9c"
ONE_ETHER = "1000000000000000000"
RELAY = "MEV Blocker"
TIME = "2027-01-15T08:00:00.000Z"
SWAP_METADATA: dict[str, Any] = {
    "provider": "mev_relay",
    "tier": 2,
    "mevRelayMetadata": {
        "endpoint": "https://rpc.mevblocker.io/noreverts?shareSafe=1&referrer=quietswap",
        "endpointType": "noreverts",
        "shareMode": "shareSafe",
        "revertProtection": True,
        "useBoost": False,
        "expectedRebate": 0.04,
    },
}
WRAP_METADATA: dict[str, Any] = {
    "provider": "mev_relay",
    "tier": 2,
    "mevRelayMetadata": {
        "endpoint": "https://rpc.mevblocker.io/fullprivacy?referrer=quietswap",
        "endpointType": "fullprivacy",
        "shareMode": "none",
        "revertProtection": False,
        "useBoost": False,
    },
}
