"""Every word that a contract can read: in the trials and in geth's block, with both rules."""

import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account

from quietswap.rules.tx import fees
from quietswap.rules.vendors.sushi import ROUTER as SUSHI
from quietswap.sandbox.chain.genesis import genesis, read_alloc
from quietswap.sandbox.chain.geth import Geth
from quietswap.sandbox.contracts.abi import WALLETS
from quietswap.sandbox.rpc import RpcError, SandboxRpcClient
from quietswap.service.base.http_client import HttpClient
from quietswap.service.node.chain import NodeChain
from quietswap.service.node.rpc import NodeRpcClient
from tests.chain.small_chain import WALLET, SmallChain
from tests.defaults import NODE
from tests.manual_clock import ManualClock
from tests.nodes.conftest import RULES
from tests.typescript.package import TypeScript, needs_packages
from tests.typescript.test_trial_words import LOOK, WORDS, seen
from tests.typescript.trials import (
    AMOUNT,
    COINBASE,
    SELL,
    Trial,
    by_python,
    by_service,
    by_typescript,
    watched_chain,
)
from tests.waiting import eventually

DIFFERENT = {"PREVRANDAO", "parent beacon root (EIP-4788)"}
"""What cannot be equal here: a developer's geth has no beacon chain: its root is zero. On mainnet
randomness and root are unknown before the block.
"""
ANY = {"TIMESTAMP"}
"""The block comes with its transaction, and the trial's is twelve seconds after the newest."""


@contextlib.asynccontextmanager
async def on_geth(folder: Path, amsterdam_in: int | None) -> AsyncIterator[SmallChain]:
    """Yield the chain of the words on geth, with a block for each transaction and no others."""
    async with watched_chain() as small:
        await small.give(SELL, WALLET, AMOUNT)
        await small.send(SELL.address, "approve(address,uint256)", SUSHI, AMOUNT)
        await small.mine()
        alloc = await read_alloc(small.raw)
        parent = await small.raw.head()
    now = int(time.time())
    fork = None if amsterdam_in is None else now + amsterdam_in
    fees_to = ("--miner.pending.feeRecipient", COINBASE)
    geth = Geth(folder, period=0, options=("--dev", "--dev.period", "0", *fees_to))
    await geth.init(genesis(alloc, min(now - 1, int(parent["timestamp"], 16)), fork))
    raw, http, clock = SandboxRpcClient(geth.url), HttpClient(), ManualClock(now)
    rpc = NodeRpcClient(http, [geth.url], clock, **NODE)
    try:
        await geth.start()
        await geth.ipc("miner_setGasPrice", "0x0")
        chain = NodeChain(rpc, clock, measures_itself=lambda _: False)
        small = SmallChain(geth.url, raw, http, rpc, chain, clock)
        for _ in range(3):
            await mined(small, WALLET, b"", fees.TRANSACTION_GAS)
        yield small
    finally:
        await rpc.close()
        await http.close()
        await raw.close()
        await geth.stop()


async def mined(small: SmallChain, to: str, calldata: bytes, limit: int) -> dict[str, Any]:
    """Sign a call of the wallet, send it and return its receipt."""
    head = await NodeChain(small.rpc, small.clock).head()
    fields = {
        "type": 2, "chainId": 1, "to": to, "value": 0, "data": calldata, "gas": limit,
        "maxFeePerGas": fees.SWAP_FEE_MULTIPLE * head.next_base_fee, "maxPriorityFeePerGas": 0,
        "nonce": await small.raw.number("eth_getTransactionCount", WALLET, "latest"),
    }  # fmt: skip
    raw = Account.from_key(WALLETS[0].private_key).sign_transaction(fields).raw_transaction
    tx_hash = await small.raw.call("eth_sendRawTransaction", "0x" + bytes(raw).hex())

    receipt: dict[str, Any] = {}

    async def is_there() -> bool:
        with contextlib.suppress(RpcError):  # geth indexes transactions after a start
            receipt.update(await small.raw.call("eth_getTransactionReceipt", tx_hash) or {})
        return bool(receipt)

    await eventually(is_there)
    return receipt


async def tried_and_mined(
    small: SmallChain, typescript: TypeScript
) -> tuple[dict[str, Trial], dict[str, Any]]:
    """Return each trial of the swap, and its receipt in the block after them."""
    [by_the_service] = await by_service(small, [LOOK])
    limits = [by_the_service.gas_limit]
    [python] = await by_python(small, [LOOK], limits)
    [script] = await by_typescript(small, typescript, [LOOK], limits)
    trials = {"service": by_the_service, "python": python, "typescript": script}
    return trials, await mined(small, SUSHI, LOOK, by_the_service.gas_limit)


@needs_packages
@pytest.mark.capability("the words of a trial: service and both clients")
@pytest.mark.parametrize("rules", RULES)
async def test_a_contract_sees_in_each_trial_what_it_sees_in_the_block(
    tmp_path: Path, typescript: TypeScript, rules: str
) -> None:
    async with on_geth(tmp_path, RULES[rules]) as small:
        trials, receipt = await tried_and_mined(small, typescript)
        assert receipt["status"] == "0x1"
        in_block = seen(receipt["logs"])
        for by, trial in trials.items():
            assert trial.passed, (by, trial.reason)
            in_trial = seen(trial.logs)
            unequal = {name for name in WORDS if in_trial[name] != in_block[name]}
            assert unequal - ANY == DIFFERENT, by
    assert in_block["hash of the parent (EIP-2935)"] == in_block["BLOCKHASH of the parent"]
