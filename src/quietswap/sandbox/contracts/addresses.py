"""The addresses of the sandbox's contracts; mainnet's address wherever mainnet has the contract."""

from typing import Final

from quietswap.rules.tx.address import from_any_case as _at
from quietswap.rules.vendors import OVER_HTTP, VENDORS

V2_FACTORY: Final = _at("0x5c69bee701ef814a2b6a3edd4b1652cb9cc5aa6f")
V2_ROUTER: Final = _at("0x7a250d5630b4cf539739df2c5dacb4c659f2488d")
V2_PAIR_CODE_HASH: Final = bytes.fromhex(
    "96e8ac4277198ff8b6f785478aa9a39f403cb768dd02cbee326c3e7da348845f"
)
"""keccak256 of the pair's creation code (docs.uniswap.org, V2 getting pair addresses)."""
V3_FACTORY: Final = _at("0x1f98431c8ad98523631ae4a59f267346ea31f984")
V3_POOL_CODE_HASH: Final = bytes.fromhex(
    "e34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54"
)
"""keccak256 of the pool's creation code (v3-periphery, PoolAddress.POOL_INIT_CODE_HASH)."""

ROUTERS: Final = {name: vendor.router for name, vendor in VENDORS.items()}
"""The contract that users approve and call, by vendor."""
UNISWAP: Final = ROUTERS["uniswap"]
"""SwapRouter02, the router of the own source; the contract itself, from npm."""
QUOTER_V2: Final = _at("0x61ffe014ba17989e743c5f6cb21bf9697530b21e")
"""Uniswap's own, which the own source asks."""
POSITION_MANAGER: Final = _at("0xc36442b4a4522e871399cd717abdd847ab11fe88")
"""What SwapRouter02 knows for liquidity; the sandbox has no contract there."""

MULTICALL: Final = _at("0xca11bde05977b3631167028862be2a173976ca11")
LIMITED_MULTICALL: Final = _at("0x1f98415757620b543a52e61c46b32eb19261f984")
SETTLER: Final = _at("0x5e77137200000000000000000000000000000001")
SETTLER_BEFORE: Final = _at("0x5e77137200000000000000000000000000000000")
"""0x's current and previous Settler; on mainnet every release has a new address."""
SETTLER_DEPLOYER: Final = _at("0x00000000000004533fe15556b1e086bb1a72ceae")
"""0x's registry of genuine Settlers (https://github.com/0xProject/0x-settler, README)."""
EXECUTORS: Final = {name: _at(f"0xe8ec{at:036x}") for at, name in enumerate(OVER_HTTP, 1)}
"""The contract behind each router that trades on the pools (contracts/Executor.sol)."""
THIEF: Final = _at("0xbad0000000000000000000000000000000000001")
"""The contract that hostile answers name: it runs their calldata, and holds tokens to pay with."""
MADE_UP_POOL: Final = _at("0xbad0000000000000000000000000000000000002")
SHY_SETTLER: Final = _at("0xbad0000000000000000000000000000000000003")
PARTNER: Final = _at("0x9a47000000000000000000000000000000000001")
"""Receives the fee that Velora takes from callers without a partner."""
CALIBUR: Final = _at("0x000000009b1d0af20d8c6d0a44e162d11f9b8f00")
"""The delegate of the Uniswap wallet (EIP-7702)."""
QUOTER: Final = _at("0x9007e40000000000000000000000000000000001")
SEEDER: Final = _at("0x5eed000000000000000000000000000000000001")
BUILDER: Final = _at("0xb17de40000000000000000000000000000000001")
"""The fee recipient of every block."""

CONTRACTS: Final = {
    MULTICALL: "Multicall3",
    LIMITED_MULTICALL: "LimitedMulticall",
    CALIBUR: "Calibur",
    QUOTER: "Quoter",
    SEEDER: "Seeder",
    **dict.fromkeys(EXECUTORS.values(), "Executor"),
    THIEF: "Puppet",
    MADE_UP_POOL: "MadeUpPool",
}
"""Names in contracts/artifacts.json, by address; those of a vendor are in its stand-in."""

FEEDS: Final = {
    "ETH / USD": _at("0x5f4ec3df9cbd43714fe2740f5e3616155c5b8419"),
    "BTC / USD": _at("0xf4030086522a5beea4988f8ca5b36dbc97bee88c"),
    "USDC / USD": _at("0x8fffffd4afb6115b954bd326cbe7b4ba576818f6"),
    "USDT / USD": _at("0x3e7d1eab13ad0104d2750b8863b489d65364e32d"),
    "DAI / USD": _at("0xaed0c38402a5d19df6e4c03f4e2dced6e29c1ee9"),
}
"""Chainlink's proxies by their `description()`; 8 decimals each."""
