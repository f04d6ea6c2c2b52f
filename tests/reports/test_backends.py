"""Several backends behind one URL, some of them late: an older answer is late, not false.

Sources: https://github.com/paradigmxyz/reth/issues/5696,
https://github.com/ethereum/go-ethereum/issues/27353.
"""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from quietswap.rules.chain.records import CallReverts, SignedSwap, signed_swap
from quietswap.rules.errors.base import RequestError
from quietswap.rules.orders.checks import SWAP_ORDER
from quietswap.rules.orders.preflight import RequiredSpend, preflight
from quietswap.rules.tx import signed
from quietswap.rules.tx.signed import SignedTransaction, UnsignedTransaction
from quietswap.sandbox.chain.local_chain import LocalChain, running_chain
from quietswap.sandbox.chain.transactions import TransactionFields, sign
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts.abi import WALLETS
from quietswap.sandbox.contracts.addresses import V2_ROUTER
from quietswap.sandbox.contracts.pools import USDC, WETH
from quietswap.sandbox.http_server import HttpResponse
from quietswap.service.base.http_client import HttpClient
from quietswap.service.node.chain import NodeChain
from quietswap.service.node.rpc import NodeRpcClient
from quietswap.service.orders.tracking.chain_follower import ChainFollower
from tests.defaults import NODE
from tests.example_counts import examples
from tests.manual_clock import ManualClock
from tests.reports.proxy import Calls, RpcProxy, Trouble, every_second, late, proxy
from tests.sandbox.accounts import send

ALICE = WALLETS[0]
AMOUNT = 10**18
FOREVER = 2**40
ROUNDS = examples(20, short=8)
MIXES = {"30 % one block late": late(1, 0.3), "every second two blocks late": every_second(2)}


@dataclass
class Scene:
    local: LocalChain
    proxy: RpcProxy
    chain: NodeChain
    clock: ManualClock

    async def approve(self, amount: int) -> None:
        """Let the router take `amount` from the newest block on."""
        data = abi.call("approve(address,uint256)", V2_ROUTER, amount)
        await send(self.local, ALICE.address, WETH.address, data, gas=100_000)
        await self.local.mine()

    async def swap(self) -> tuple[SignedTransaction, SignedSwap]:
        """Return a swap with the wallet's next nonce on the real chain."""
        path = (WETH.address, USDC.address)
        terms = (AMOUNT, 1, path, ALICE.address, FOREVER)
        method = "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)"
        nonce = await self.local.rpc.number("eth_getTransactionCount", ALICE.address, "latest")
        data = abi.call(method, *terms)
        fields = TransactionFields(nonce, V2_ROUTER, data, 250_000, 5 * 10**9, 0)
        raw = sign(fields, ALICE.private_key).raw
        order = signed.decode("0x" + raw.hex())
        return order, signed_swap(order, USDC.address, 1)

    async def order(self) -> None:
        """Check a swap as its order does. Raises RequestError."""
        order, swap = await self.swap()
        spend = RequiredSpend(WETH.address, AMOUNT, spender=V2_ROUTER)
        await preflight(self.chain, order, spend, SWAP_ORDER, swap)


@contextlib.asynccontextmanager
async def scene(trouble: Trouble) -> AsyncIterator[Scene]:
    http, clock = HttpClient(), ManualClock()
    try:
        async with running_chain() as local, proxy(local.url, trouble) as one:
            rpc = NodeRpcClient(http, [one.url], clock, **NODE)
            yield Scene(local, one, NodeChain(rpc, clock), clock)
    finally:
        await http.close()


@pytest.mark.parametrize("mix", MIXES)
async def test_no_order_is_refused_for_what_the_newest_block_has(mix: str) -> None:
    refused = []
    async with scene(MIXES[mix]) as on:
        for _ in range(ROUNDS):
            await on.approve(0)
            await on.approve(AMOUNT)
            try:
                await on.order()
            except RequestError as error:
                refused.append(f"{error.code}: {error}")
        assert on.proxy.struck > ROUNDS // 4
    assert refused == []


@pytest.mark.parametrize("mix", MIXES)
async def test_what_the_newest_block_lacks_is_refused(mix: str) -> None:
    async with scene(MIXES[mix]) as on:
        for _ in range(ROUNDS):
            await on.approve(AMOUNT)
            await on.approve(0)
            await on.chain.newest_number()
            with pytest.raises(RequestError, match="not approved"):
                await on.order()


async def test_repeats_give_backends_that_are_all_late_some_time() -> None:
    """A load balancer moves to backends that have the block a tenth of a second later."""
    async with scene(late(1, 0.0)) as on:
        await on.approve(AMOUNT)
        await on.chain.newest_number()
        since, usual = on.clock.monotonic(), late(1, 1.0)

        async def moved(one: RpcProxy, body: Calls) -> HttpResponse | None:
            return await usual(one, body) if on.clock.monotonic() - since < 0.1 else None

        on.proxy.trouble = moved
        await on.order()
        assert on.clock.monotonic() - since < 0.5


@pytest.mark.parametrize("mix", MIXES)
async def test_the_tracker_follows_every_block(mix: str) -> None:
    async with scene(MIXES[mix]) as on:
        follower, numbers = ChainFollower(on.chain), []
        for _ in range(3 * ROUNDS):
            await on.local.mine()
            on.clock.advance(4)
            head = await on.chain.head()
            if follower.is_news(head):  # a failure raises
                numbers += [block.number for block in (await follower.advance(head)).added]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        assert len(numbers) >= 3 * ROUNDS - 3


@pytest.mark.parametrize("mix", MIXES)
async def test_an_estimate_that_reverts_on_an_older_block_is_no_refusal(mix: str) -> None:
    async with scene(MIXES[mix]) as on:
        refused = 0
        for _ in range(ROUNDS):
            await on.approve(0)
            await on.approve(AMOUNT)
            order, _ = await on.swap()
            wish = UnsignedTransaction(V2_ROUTER, order.params.data, 0, 250_000, 5 * 10**9, None)
            try:
                assert await on.chain.estimate_gas(order.sender, wish)
            except CallReverts:
                refused += 1
        assert refused == 0


@pytest.mark.parametrize("mix", MIXES)
async def test_receipts_and_nonces_are_those_of_the_newest_block(mix: str) -> None:
    async with scene(MIXES[mix]) as on:
        for _ in range(ROUNDS):
            data = abi.call("approve(address,uint256)", V2_ROUTER, 1)
            sent = await send(on.local, ALICE.address, WETH.address, data, gas=100_000)
            await on.local.mine()
            await on.chain.newest_number()
            assert (await on.chain.receipts([sent]))[sent] is not None
            [nonce] = (await on.chain.nonces([ALICE.address])).values()
            used = await on.local.rpc.number("eth_getTransactionCount", ALICE.address, "latest")
            assert nonce == used
