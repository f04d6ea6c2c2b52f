"""Contract code: the sandbox's own from contracts/artifacts.json, public contracts from npm."""

from functools import cache
from pathlib import Path

import msgspec

from quietswap.rules.tx.address import Address
from quietswap.sandbox.contracts import addresses
from quietswap.sandbox.contracts.abi import encode
from quietswap.sandbox.contracts.pools import WETH
from quietswap.sandbox.npm import read_artifact

_OWN = Path(__file__).parent / "artifacts.json"


@cache
def _own() -> dict[str, dict[str, str]]:
    return msgspec.json.decode(_OWN.read_bytes())["contracts"]  # type: ignore[no-any-return]


def own_runtime(name: str) -> str:
    """Return the runtime code of one of the sandbox's own contracts, as 0x text."""
    return _own()[name]["runtime"]


def public_creations() -> dict[Address, str]:
    """Return creation code with constructor arguments, by final address. Raises MissingPackage."""
    router = encode("(address,address)", (addresses.V2_FACTORY, WETH.address)).hex()
    # the owner for setPairFee: mainnet has a timelock, the sandbox has no owner
    setter = encode("(address)", ("0x" + "00" * 20,)).hex()
    parts = addresses.V2_FACTORY, addresses.V3_FACTORY, addresses.POSITION_MANAGER, WETH.address
    uniswap = encode("(address,address,address,address)", parts).hex()
    quoter = encode("(address,address)", (addresses.V3_FACTORY, WETH.address)).hex()
    periphery = "@uniswap/swap-router-contracts/artifacts/contracts"
    v3 = "@uniswap/v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json"
    return {
        WETH.address: _creation("canonical-weth/build/contracts/WETH9.json"),
        addresses.V2_FACTORY: _creation("@uniswap/v2-core/build/UniswapV2Factory.json") + setter,
        addresses.V2_ROUTER: _creation("@uniswap/v2-periphery/build/UniswapV2Router02.json")
        + router,
        addresses.V3_FACTORY: _creation(v3),
        addresses.UNISWAP: _creation(f"{periphery}/SwapRouter02.sol/SwapRouter02.json") + uniswap,
        addresses.QUOTER_V2: _creation(f"{periphery}/lens/QuoterV2.sol/QuoterV2.json") + quoter,
    }


def _creation(path: str) -> str:
    code: str = read_artifact(path)["bytecode"]
    return "0x" + code.removeprefix("0x")
