"""One chain for the tests of a module: what each of them does to it is undone.

A module that imports `chain` and `module_chain` runs its tests in the module's event loop.
"""

from collections.abc import AsyncIterator

import pytest_asyncio

from quietswap.sandbox.chain.local_chain import LocalChain, running_chain


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def module_chain() -> AsyncIterator[LocalChain]:
    async with running_chain() as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def chain(module_chain: LocalChain) -> AsyncIterator[LocalChain]:
    """The module's chain in its first state, with every contract and pool."""
    rpc = module_chain.rpc
    # A snapshot has neither the mempool nor the fee of the next block.
    following = await rpc.call("eth_getBlockByNumber", "pending", False)
    snapshot = await rpc.call("evm_snapshot")
    yield module_chain
    await rpc.call("anvil_dropAllTransactions")
    assert await rpc.call("evm_revert", snapshot)
    await rpc.call("anvil_setNextBlockBaseFeePerGas", following["baseFeePerGas"])
