"""The batched form on a chain: real delegates, and code that does something else."""

import re
from collections.abc import AsyncIterator

import pytest
from eth_abi import encode

from quietswap.rules.chain.records import SimulationResult
from quietswap.rules.quotes.quote import Route, RouteRequest
from quietswap.rules.routers.batch import DELEGATES, SwapBatch
from quietswap.rules.tx import fees
from quietswap.rules.tx.address import Address
from quietswap.sandbox.contracts.addresses import CALIBUR
from quietswap.sandbox.contracts.artifacts import own_runtime
from tests.batches import delegated
from tests.chain.small_chain import PACKAGES, WALLET, SmallChain, odd, small_chain
from tests.chain.test_simulate_aware import through

AMOUNT = 1_000_000
SELL, BUY = odd("Spending"), odd("Bought")
ROUTER = odd("Thief").address
METAMASK = next(address for address in DELEGATES if address != CALIBUR)
MANAGER, ENTRY_POINT = (
    "0xdb9B1e94B5b69Df7e401DDbedE43491141047dB3", "0x0000000071727De22E5E9d8BAf0edAc6f37da032",
)  # fmt: skip
"""The arguments of its deployment on mainnet."""


@pytest.fixture
async def small() -> AsyncIterator[SmallChain]:
    async with small_chain() as chain:
        await chain.raw.call("anvil_setCode", CALIBUR, own_runtime("Calibur"))
        await chain.give(SELL, WALLET, 3 * AMOUNT)
        chain.clock.advance(60)
        yield chain


def request() -> RouteRequest:
    return RouteRequest(SELL, BUY, AMOUNT, WALLET, 50, 10**9, 2_000_000_000)


def route() -> Route:
    return through(ROUTER, "swap(address,address,uint256)", SELL.address, BUY.address, AMOUNT)


async def simulated(small: SmallChain, delegate: Address) -> SimulationResult:
    await small.raw.call("anvil_setCode", WALLET, delegated(delegate))
    prepared = await small.chain.prepare_simulation(request(), [ROUTER])
    return await prepared.simulate_batched(route())


def metamask_creation() -> str:
    """Return the creation code of MetaMask's delegate, from npm, with its arguments."""
    file = PACKAGES / "@metamask/delegation-abis/dist/bytecode/EIP7702StatelessDeleGator.mjs"
    code = re.search("0x[0-9a-f]+", file.read_text())
    assert code is not None
    return code[0] + encode(["address", "address"], [MANAGER, ENTRY_POINT]).hex()


async def put(small: SmallChain, name: str) -> Address:
    """Put a delegate's code on the chain and return its address."""
    if name == "Calibur's stand-in":
        return CALIBUR
    if name == "Solady":
        return odd("SoladyDelegate").address
    runtime = await small.raw.call("eth_call", {"data": metamask_creation()}, "latest")
    await small.raw.call("anvil_setCode", METAMASK, runtime)
    return METAMASK


async def allowance(small: SmallChain) -> int:
    data = "0xdd62ed3e" + encode(["address", "address"], [WALLET, ROUTER]).hex()
    call = {"to": SELL.address, "data": data}
    return int(await small.raw.call("eth_call", call, "latest"), 16)


@pytest.mark.parametrize("name", ["Calibur's stand-in", "MetaMask", "Solady"])
async def test_one_transaction_of_a_real_delegate(small: SmallChain, name: str) -> None:
    """As simulated, so mined: the approval is exact, and nothing of it is left."""
    found = await simulated(small, await put(small, name))
    assert (found.succeeded, found.received, found.broken) == (True, AMOUNT, None)
    assert found.gas is not None
    assert found.gas_limit is not None
    assert not fees.is_excessive(found.gas_limit, found.gas)
    batch = SwapBatch(SELL.address, ROUTER, AMOUNT, route().data)
    call = {
        "from": WALLET,
        "to": WALLET,
        "data": "0x" + batch.calldata().hex(),
        "gas": hex(found.gas_limit),
    }
    tx_hash = await small.raw.call("eth_sendTransaction", call)
    await small.mine()
    receipt = await small.raw.call("eth_getTransactionReceipt", tx_hash)
    assert receipt["status"] == "0x1"
    assert int(receipt["gasUsed"], 16) <= found.gas
    assert [int(log["data"], 16) for log in receipt["logs"][:1]] == [AMOUNT]
    assert await small.balance(SELL, WALLET) == 2 * AMOUNT
    assert await small.balance(BUY, WALLET) == AMOUNT
    assert await allowance(small) == 0


@pytest.mark.parametrize("name", ["Calibur's stand-in", "MetaMask", "Solady"])
async def test_a_real_delegate_reverts_all_if_the_swap_reverts(
    small: SmallChain, name: str
) -> None:
    await small.raw.call("anvil_setCode", WALLET, delegated(await put(small, name)))
    too_much = through(
        ROUTER, "swap(address,address,uint256)", SELL.address, BUY.address, 2 * AMOUNT
    )
    prepared = await small.chain.prepare_simulation(request(), [ROUTER])
    found = await prepared.simulate_batched(too_much)
    assert found.succeeded is False
    batch = SwapBatch(SELL.address, ROUTER, AMOUNT, too_much.data)
    call = {"from": WALLET, "to": WALLET, "data": "0x" + batch.calldata().hex(), "gas": "0x7a120"}
    tx_hash = await small.raw.call("eth_sendTransaction", call)
    await small.mine()
    receipt = await small.raw.call("eth_getTransactionReceipt", tx_hash)
    assert receipt["status"] == "0x0"
    assert await allowance(small) == 0


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("UnsureDelegate", "does not support the mode"),
        ("ForgetfulDelegate", f"leaves the router an allowance of {AMOUNT}"),
        ("HalfDelegate", f"leaves the router an allowance of {AMOUNT}"),
        ("LeakyDelegate", "moves ETH out of the wallet"),
        ("ThievingDelegate", f"takes {AMOUNT + 1} of"),
    ],
)
async def test_code_that_does_more_or_less_is_seen(
    small: SmallChain, name: str, broken: str
) -> None:
    found = await simulated(small, odd(name).address)
    assert found.succeeded
    assert broken in (found.broken or "")


async def test_code_that_ignores_the_calls_delivers_nothing(small: SmallChain) -> None:
    found = await simulated(small, odd("DeafDelegate").address)
    assert (found.succeeded, found.received, found.broken) == (True, 0, None)


async def test_another_order_reverts(small: SmallChain) -> None:
    found = await simulated(small, odd("BackwardDelegate").address)
    assert (found.succeeded, found.reason) == (False, "a call failed")


async def test_a_wallet_without_code_does_nothing(small: SmallChain) -> None:
    prepared = await small.chain.prepare_simulation(request(), [ROUTER])
    found = await prepared.simulate_batched(route())
    assert found.broken is not None


async def test_the_real_allowance_must_be_zero(small: SmallChain) -> None:
    await small.send(SELL.address, "approve(address,uint256)", ROUTER, 1)
    await small.mine()
    small.clock.advance(60)
    found = await simulated(small, CALIBUR)
    assert found.succeeded is None
    assert "allowance is 1" in (found.reason or "")
    [plain] = await (await small.chain.prepare_simulation(request(), [ROUTER])).simulate([route()])
    assert plain.succeeded


async def test_a_wallet_without_the_token_is_simulated(small: SmallChain) -> None:
    await small.send(SELL.address, "transfer(address,uint256)", ROUTER, 3 * AMOUNT)
    await small.mine()
    small.clock.advance(60)
    found = await simulated(small, CALIBUR)
    assert (found.succeeded, found.received, found.broken) == (True, AMOUNT, None)
