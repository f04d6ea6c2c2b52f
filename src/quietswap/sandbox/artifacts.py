"""Contract code: the sandbox's own from contracts/artifacts.json, the public ones from npm."""

from functools import cache
from pathlib import Path

import msgspec

from quietswap.domain.address import Address
from quietswap.sandbox import places
from quietswap.sandbox.abi import encode
from quietswap.sandbox.npm import read_artifact
from quietswap.sandbox.tokens import WETH

_OWN = Path(__file__).parent / "contracts" / "artifacts.json"


class _Contract(msgspec.Struct):
    runtime: str


class _Artifacts(msgspec.Struct):
    contracts: dict[str, _Contract]


@cache
def _own() -> dict[str, _Contract]:
    return msgspec.json.decode(_OWN.read_bytes(), type=_Artifacts).contracts


def own_runtime(name: str) -> str:
    """Return the runtime code of one of the sandbox's own contracts, as 0x and digits."""
    return _own()[name].runtime


def public_creations() -> dict[Address, str]:
    """Return the creation code, constructor arguments included, of the public contracts.

    By the address each must stand at. Raises MissingPackage.
    """
    router = encode("(address,address)", (places.V2_FACTORY, WETH.address)).hex()
    # setPairFee's owner; mainnet's is a timelock, here nobody
    setter = encode("(address)", ("0x" + "00" * 20,)).hex()
    v3 = "@uniswap/v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json"
    return {
        WETH.address: _creation("canonical-weth/build/contracts/WETH9.json"),
        places.V2_FACTORY: _creation("@uniswap/v2-core/build/UniswapV2Factory.json") + setter,
        places.V2_ROUTER: _creation("@uniswap/v2-periphery/build/UniswapV2Router02.json") + router,
        places.V3_FACTORY: _creation(v3),
    }


def _creation(path: str) -> str:
    code: str = read_artifact(path)["bytecode"]
    return "0x" + code.removeprefix("0x")
