"""A batch that wraps or unwraps, on a chain: real delegates, and code that does something else."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from msgspec import structs

from quietswap.rules.chain.records import SimulationResult, signed_swap
from quietswap.rules.quotes.quote import Route, RouteRequest
from quietswap.rules.routers.batch import swap_batch
from quietswap.rules.tokens.token import WETH, Token, WrapOperation
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import SignedTransaction, UnsignedTransaction
from quietswap.sandbox.contracts.addresses import CALIBUR
from quietswap.sandbox.contracts.artifacts import own_runtime, public_creations
from tests.batches import delegated
from tests.chain.small_chain import WALLET, SmallChain, odd, small_chain
from tests.chain.test_simulate_aware import through
from tests.chain.test_simulate_batched import AMOUNT, BUY, ROUTER, SELL, put

WRAP, UNWRAP = WrapOperation.WRAP, WrapOperation.UNWRAP
ETHER = Token(WETH, 18, "WETH")
LEAST = AMOUNT - 5_000
HELD = 7 * AMOUNT
"""WETH of the wallet before the swap."""


@pytest.fixture
async def small() -> AsyncIterator[SmallChain]:
    """The wallet and the router hold WETH, which is backed by ETH."""
    async with small_chain() as chain:
        await chain.raw.call("anvil_setCode", CALIBUR, own_runtime("Calibur"))
        runtime = await chain.raw.call("eth_call", {"data": public_creations()[WETH]}, "latest")
        await chain.raw.call("anvil_setCode", WETH, runtime)
        await chain.raw.call("anvil_setBalance", WETH, hex(10**18))
        await chain.give_sandbox("WETH", ROUTER, 9 * AMOUNT)
        await chain.give_sandbox("WETH", WALLET, HELD)
        await chain.give(SELL, WALLET, 3 * AMOUNT)
        chain.clock.advance(60)
        yield chain


def route(conversion: WrapOperation) -> Route:
    sell, buy = (ETHER, BUY) if conversion is WRAP else (SELL, ETHER)
    signature = "swap" if conversion is WRAP else "swapFor"
    pair = sell.address, buy.address
    made = through(ROUTER, f"{signature}(address,address,uint256)", *pair, AMOUNT)
    return structs.replace(made, min_buy_amount=LEAST, buy_amount=AMOUNT)


def request(conversion: WrapOperation) -> RouteRequest:
    pair = (ETHER, BUY) if conversion is WRAP else (SELL, ETHER)
    return RouteRequest(*pair, AMOUNT, WALLET, 50, 10**9, 2_000_000_000)


def calldata(conversion: WrapOperation) -> bytes:
    ask, made = request(conversion), route(conversion)
    return swap_batch(
        ask.sell.address,
        ROUTER,
        AMOUNT,
        made.data,
        min_buy_amount=LEAST,
        conversion=conversion,
    ).calldata()


async def simulated(
    small: SmallChain, delegate: Address, conversion: WrapOperation
) -> SimulationResult:
    await small.raw.call("anvil_setCode", WALLET, delegated(delegate))
    prepared = await small.chain.prepare_simulation(request(conversion), [ROUTER])
    return await prepared.simulate_batched(route(conversion), conversion)


async def wei(small: SmallChain) -> int:
    return int(await small.raw.call("eth_getBalance", WALLET, "latest"), 16)


@pytest.mark.parametrize("conversion", WrapOperation)
@pytest.mark.parametrize("name", ["Calibur's stand-in", "MetaMask", "Solady"])
async def test_one_transaction_of_a_real_delegate(
    small: SmallChain, name: str, conversion: WrapOperation
) -> None:
    """As simulated, so mined, to the wei."""
    found = await simulated(small, await put(small, name), conversion)
    assert (found.succeeded, found.received, found.broken) == (True, AMOUNT, None)
    assert found.gas_limit is not None
    before = await wei(small)
    call = {
        "from": WALLET,
        "to": WALLET,
        "data": "0x" + calldata(conversion).hex(),
        "gas": hex(found.gas_limit),
    }
    tx_hash = await small.raw.call("eth_sendTransaction", call)
    await small.mine()
    receipt = await small.raw.call("eth_getTransactionReceipt", tx_hash)
    assert receipt["status"] == "0x1"
    fee = int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)
    moved = -AMOUNT if conversion is WRAP else LEAST
    assert await wei(small) == before - fee + moved
    rest = 0 if conversion is WRAP else AMOUNT - LEAST
    assert await small.balance(ETHER, WALLET) == HELD + rest


@pytest.mark.parametrize(
    ("name", "conversion", "broken"),
    [
        ("UnsureDelegate", WRAP, "does not support the mode"),
        ("DeafDelegate", WRAP, f"it wraps nothing, not exactly {AMOUNT} wei"),
        ("DeafDelegate", UNWRAP, f"it unwraps nothing, not exactly {LEAST} wei"),
        ("ForgetfulDelegate", WRAP, f"it wraps {2 * AMOUNT}, not exactly"),
        ("ForgetfulDelegate", UNWRAP, f"leaves the router an allowance of {AMOUNT}"),
        ("LastlessDelegate", WRAP, f"leaves the router an allowance of {AMOUNT}"),
        ("LastlessDelegate", UNWRAP, f"it unwraps nothing, not exactly {LEAST} wei"),
        ("TwiceLastDelegate", UNWRAP, f"it unwraps {2 * LEAST}, not exactly {LEAST} wei"),
        ("LeakyDelegate", WRAP, "moves ETH out of the wallet"),
        ("LeakyDelegate", UNWRAP, "moves ETH out of the wallet"),
        ("ThievingDelegate", WRAP, f"takes {AMOUNT + 1} of"),
    ],
)
async def test_code_that_does_more_or_less_is_seen(
    small: SmallChain, name: str, conversion: WrapOperation, broken: str
) -> None:
    found = await simulated(small, odd(name).address, conversion)
    assert found.succeeded
    assert broken in (found.broken or "")


async def test_the_wrap_alone_delivers_nothing(small: SmallChain) -> None:
    found = await simulated(small, odd("HalfDelegate").address, WRAP)
    assert (found.succeeded, found.received, found.broken) == (True, 0, None)


async def test_a_wallet_without_any_ether_is_simulated(small: SmallChain) -> None:
    """What it lacks, it is told elsewhere. Its WETH is not what is sold."""
    await small.give_sandbox("WETH", WALLET, 1)
    await small.raw.call("anvil_setBalance", WALLET, "0x0")
    small.clock.advance(60)
    found = await simulated(small, CALIBUR, WRAP)
    assert (found.succeeded, found.received, found.broken) == (True, AMOUNT, None)


async def test_the_dry_run_of_the_signed_bytes_counts_what_is_unwrapped(small: SmallChain) -> None:
    await small.raw.call("anvil_setCode", WALLET, delegated(CALIBUR))
    await small.mine()
    small.clock.advance(60)
    params = UnsignedTransaction(WALLET, calldata(UNWRAP), 0, 600_000, 10**11, 0)
    signed = SignedTransaction(b"", "0x" + "11" * 32, WALLET, params, 0, (0, 1, 1))
    swap = signed_swap(signed, WETH, LEAST)
    [run] = await small.chain.dry_runs([swap])
    assert (run.succeeded, run.received, run.fault(swap)) == (True, AMOUNT, None)
    [run] = await small.chain.dry_runs([replace(swap, unwrapped=0)])
    assert run.received == AMOUNT - LEAST
