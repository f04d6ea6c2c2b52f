"""Token lists of this project's own making, in the Uniswap format."""

import json
from typing import Any

WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
UNI = "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984"
BIDI_NAME = "Tether\u202eDSU\u2069 Real"
MARKUP_NAME = "<img src=x onerror=alert(1)>"


def entry(**changes: Any) -> dict[str, Any]:
    """Return one token of a list."""
    plain = {
        "chainId": 1,
        "address": USDC,
        "name": "USD Coin",
        "symbol": "USDC",
        "decimals": 6,
        "logoURI": "https://tokens.test/usdc.png",
        "tags": ["stablecoin"],
        "extensions": {"bridgeInfo": {"10": {"tokenAddress": WETH}}},
    }
    return {name: value for name, value in (plain | changes).items() if value is not ...}


def token_list(*tokens: dict[str, Any], **changes: Any) -> bytes:
    """Return a list with these tokens; by default a good one with every member of the schema."""
    weth = entry(address=WETH, name="Wrapped Ether", symbol="WETH", decimals=18, logoURI=...)
    elsewhere = entry(chainId=10, address="0x4200000000000000000000000000000000000006")
    solana = entry(chainId=501, address="So11111111111111111111111111111111111111112")
    plain: dict[str, Any] = {
        "name": "House Default",
        "timestamp": "2026-10-01T12:00:00.000+00:00",
        "version": {"major": 1, "minor": 2, "patch": 3},
        "keywords": ["house", "default"],
        "tags": {"stablecoin": {"name": "Stable Coin", "description": "Pegged, to: a currency."}},
        "logoURI": "ipfs://QmNa8mQkrNKp1WEEeGjFezDmDeodkWRevGFN8JCV7b4Xir",
        "tokens": list(tokens) or [weth, entry(), elsewhere, solana],
    }
    return json.dumps({n: v for n, v in (plain | changes).items() if v is not ...}).encode()


def markup_list() -> bytes:
    """Return a hostile list whose texts the schema allows: markup, controls, code in URIs."""
    return token_list(
        entry(name=MARKUP_NAME, symbol="<b>USDC</b>", logoURI="javascript:alert(1)"),
        entry(address=WETH, name=BIDI_NAME, symbol="\u202eHTEW", logoURI="data:text/html,x"),
        entry(address=UNI, name="A" * 60, symbol="\u200bU\u0301\u0301\u0301\u0301NI", decimals=255),
        name="Looks official",
    )


def endless_list() -> bytes:
    """Return a hostile list with a name of 10 000 characters, which the schema refuses."""
    return token_list(entry(name="N" * 10_000))
