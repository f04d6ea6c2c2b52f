"""Every word that a contract can read: in each simulation, and in the block that mines the swap."""

import secrets
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from quietswap.sandbox.contracts import abi
from tests.chain.small_chain import WALLET, SmallChain, odd
from tests.typescript.package import TypeScript
from tests.typescript.trials import (
    AMOUNT,
    BUY,
    ONLOOKER,
    SELL,
    Trial,
    by_python,
    by_service,
    by_typescript,
    mined,
    snwap,
    watched_chain,
)

EQUAL = "equal"
PLAUSIBLE = "plausible"
"""Unknown before the block: random in the simulation, as it is in the block."""

WORDS: dict[str, str] = {
    "gas of BALANCE(coinbase), warm by EIP-3651": EQUAL,
    "gas of BALANCE(origin), warm": EQUAL,
    "gas of BALANCE(caller), warm": EQUAL,
    "gas of BALANCE(sell token), warm": EQUAL,
    "gas of the first BALANCE of a stranger": EQUAL,
    "gas of the second BALANCE of a stranger": EQUAL,
    "gas of BALANCE(EIP-4788 contract), cold": EQUAL,
    "gas of BALANCE(EIP-2935 contract), cold": EQUAL,
    "gas of BALANCE(precompile), warm": EQUAL,
    "gas of BALANCE(zero address), cold": EQUAL,
    "gas of BALANCE(this), warm": EQUAL,
    "gas of the first SLOAD": EQUAL,
    "GASPRICE": EQUAL,
    "BASEFEE": EQUAL,
    "COINBASE": EQUAL,
    "NUMBER": EQUAL,
    "TIMESTAMP": EQUAL,
    "PREVRANDAO": PLAUSIBLE,
    "GASLIMIT": EQUAL,
    "BLOCKHASH of the parent": EQUAL,
    "BLOCKHASH of the parent's parent": EQUAL,
    "BLOCKHASH of this block, 0": EQUAL,
    "BLOBBASEFEE": EQUAL,
    "BLOBHASH(0)": EQUAL,
    "CHAINID": EQUAL,
    "parent beacon root (EIP-4788)": PLAUSIBLE,
    "hash of the parent (EIP-2935)": EQUAL,
    "hash of the parent's parent (EIP-2935)": EQUAL,
    "ORIGIN": EQUAL,
    "CALLER": EQUAL,
    "BALANCE(origin)": EQUAL,
    "BALANCE(coinbase)": EQUAL,
    "SELFBALANCE": EQUAL,
    "EXTCODESIZE(origin)": EQUAL,
    "EXTCODEHASH(origin)": EQUAL,
    "EXTCODEHASH of both system contracts": EQUAL,
    "sell balance": EQUAL,
    "allowance": EQUAL,
    "buy balance": EQUAL,
    "what the router handed over": EQUAL,
    "CALLDATASIZE": EQUAL,
    "GAS": EQUAL,
}
"""In the order of `Onlooker`. A contract cannot read the sender's nonce: the node counts it."""

LOOK = snwap(
    abi.call("look(address,address,address,uint256)", SELL.address, BUY.address, WALLET, AMOUNT)
)


@pytest.fixture
async def small() -> AsyncIterator[SmallChain]:
    async with watched_chain() as chain:
        yield chain


async def simulated(by: str, small: SmallChain, pytestconfig: pytest.FixtureRequest) -> Trial:
    [service] = await by_service(small, [LOOK])
    if by == "service":
        return service
    if by == "python":
        [trial] = await by_python(small, [LOOK], [service.gas_limit])
        return trial
    typescript: TypeScript = pytestconfig.getfixturevalue("typescript")
    [trial] = await by_typescript(small, typescript, [LOOK], [service.gas_limit])
    return trial


def seen(logs: Sequence[dict[str, Any]]) -> dict[str, int]:
    [data] = [log["data"] for log in logs if log["address"].lower() == ONLOOKER.lower()]
    words = bytes.fromhex(data[2:])
    assert abi.word(words, 1) == len(WORDS)
    return {name: abi.word(words, 2 + at) for at, name in enumerate(WORDS)}


@pytest.mark.parametrize("code", ["plain", "delegated"])
@pytest.mark.parametrize("by", ["service", "python", "typescript"])
async def test_a_contract_sees_in_the_simulation_what_it_sees_when_mined(
    small: SmallChain, by: str, code: str, request: pytest.FixtureRequest
) -> None:
    """The swap is mined in the very next block, a slot later, by the same proposer."""
    if code == "delegated":
        delegate = odd("Delegate").address
        await small.raw.call("anvil_setCode", WALLET, "0xef0100" + delegate[2:].lower())
        await small.mine()
    trial = await simulated(by, small, request)
    assert trial.passed, trial.reason
    receipt = await mined(small, LOOK, trial.gas_limit, root=secrets.randbits(256))
    assert receipt["status"] == "0x1"
    in_trial, in_block = seen(trial.logs), seen(receipt["logs"])
    for name, kind in WORDS.items():
        if kind == EQUAL:
            assert in_trial[name] == in_block[name], name
        else:
            assert in_trial[name] != in_block[name], name
            assert in_trial[name] > 2**128, name
    nonzero = ("GASPRICE", "BASEFEE", "COINBASE", "BLOCKHASH of the parent", "SELFBALANCE")
    assert [name for name in nonzero if not in_block[name]] == ["SELFBALANCE"]
    assert in_block["hash of the parent (EIP-2935)"] == in_block["BLOCKHASH of the parent"]
    assert in_block["EXTCODESIZE(origin)"] == (23 if code == "delegated" else 0)
    warm, cold = 100, 2600
    assert in_block["gas of BALANCE(coinbase), warm by EIP-3651"] < warm + 20
    assert in_block["gas of the first BALANCE of a stranger"] >= cold
