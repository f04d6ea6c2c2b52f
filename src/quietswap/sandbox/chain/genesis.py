"""The genesis of a real node: the state of the sandbox's anvil, and mainnet's rules.

The format is geth's (https://geth.ethereum.org/docs/fundamentals/private-network); other nodes read
it as well.
"""

import gzip
from importlib.resources import files
from typing import Any

import msgspec

from quietswap.sandbox.chain.anvil import BASE_FEE, GAS_LIMIT
from quietswap.sandbox.contracts import addresses
from quietswap.sandbox.rpc import SandboxRpcClient

Alloc = dict[str, dict[str, Any]]
"""By address: `balance`, `nonce`, `code` and `storage` as hex text."""

_BLOCK_FORKS = (
    "homestead", "eip150", "eip155", "eip158", "byzantium", "constantinople", "petersburg",
    "istanbul", "muirGlacier", "berlin", "london", "arrowGlacier", "grayGlacier", "mergeNetsplit",
)  # fmt: skip
_TIME_FORKS = ("shanghai", "cancun", "prague", "osaka", "bpo1", "bpo2")
_DEPOSITS = "0x00000000219ab540356cBB839Cbe05303d7705Fa"
_BLOBS = {
    "cancun": (3, 6, 3_338_477),
    "prague": (6, 9, 5_007_716),
    "osaka": (6, 9, 5_007_716),
    "bpo1": (10, 15, 8_346_193),
    "bpo2": (14, 21, 11_684_671),
    "amsterdam": (14, 21, 11_684_671),
}
"""Target, maximum and update fraction (EIP-7840, EIP-7691, EIP-7892)."""


async def read_alloc(rpc: SandboxRpcClient) -> Alloc:
    """Return every account of the anvil behind `rpc`, and the system contracts of mainnet."""
    packed = bytes.fromhex((await rpc.call("anvil_dumpState"))[2:])
    state: Alloc = msgspec.json.decode(gzip.decompress(packed))["accounts"]
    alloc = {at: _account(account) for at, account in state.items() if not _is_empty(account)}
    return alloc | _system_contracts()


def genesis(alloc: Alloc, time: int, amsterdam_time: int | None = None) -> dict[str, Any]:
    """Return a genesis of chain 1 at `time`, with the rules of Osaka and the blobs of BPO2.

    Amsterdam's rules begin at `amsterdam_time`. Both are Unix seconds.
    """
    times = dict.fromkeys(_TIME_FORKS, 0)
    if amsterdam_time is not None:
        times["amsterdam"] = amsterdam_time
    config: dict[str, Any] = {"chainId": 1, "terminalTotalDifficulty": 0}
    config |= {f"{name}Block": 0 for name in _BLOCK_FORKS}
    config |= {f"{name}Time": at for name, at in times.items()}
    config["depositContractAddress"] = _DEPOSITS
    config["blobSchedule"] = {name: _blobs(name) for name in times if name in _BLOBS}
    return {
        "config": config,
        "nonce": "0x0",
        "timestamp": hex(time),
        "extraData": "0x",
        "gasLimit": hex(GAS_LIMIT),
        "difficulty": "0x0",
        "mixHash": "0x" + "00" * 32,
        "coinbase": addresses.BUILDER,
        "baseFeePerGas": hex(BASE_FEE),
        "alloc": alloc,
    }


def _is_empty(account: dict[str, Any]) -> bool:
    """Whether no node would have it (EIP-161): geth builds blocks on it that it then refuses."""
    code, numbers = account["code"], (account["nonce"], account["balance"])
    return code in {"", "0x"} and not any(int(str(number), 0) for number in numbers)


def _account(account: dict[str, Any]) -> dict[str, Any]:
    storage = {slot: word for slot, word in account["storage"].items() if int(word, 16)}
    return account | {"nonce": hex(int(account["nonce"])), "storage": storage}


def _system_contracts() -> Alloc:
    file = files("quietswap.sandbox.contracts") / "system_contracts.json"
    contracts: Alloc = msgspec.json.decode(file.read_bytes())
    return {
        address: {"balance": "0x0", "nonce": "0x1", "code": contract["code"]}
        for address, contract in contracts.items()
    }


def _blobs(name: str) -> dict[str, int]:
    target, most, fraction = _BLOBS[name]
    return {"target": target, "max": most, "baseFeeUpdateFraction": fraction}
