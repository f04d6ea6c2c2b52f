"""What leaves the wallet in a simulated swap, fees that a router misses, and views without end."""

from collections.abc import AsyncIterator

import pytest

from quietswap.rules.chain.records import SimulationResult, UnreadableToken
from quietswap.rules.quotes.quote import Route, RouteRequest
from quietswap.rules.tokens.token import Token
from quietswap.rules.tx.address import Address
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts.pools import FEE
from quietswap.service.node.chain import NodeChain
from quietswap.service.node.rpc import NodeRpcClient
from tests.chain.simulate_once import simulate_once
from tests.chain.small_chain import NOBODY, VENUE, WALLET, SmallChain, odd, small_chain
from tests.defaults import NODE

AMOUNT = 1_000_000
STANDING = 2**256 - 1
SELL, BUY, OTHER = odd("Logging"), odd("Bought"), odd("Careless")
THIEF, DELEGATE = odd("Thief").address, odd("Delegate").address


@pytest.fixture
async def small() -> AsyncIterator[SmallChain]:
    async with small_chain() as chain:
        yield chain


def through(router: Address, signature: str, *values: object, minimum: int = 1) -> Route:
    data = abi.call(signature, *values)
    return Route("a", "dex", router, router, 0, data, (), minimum, minimum, None, None)


def swapping(sell: Token, buy: Token = BUY, wallet: Address = WALLET) -> RouteRequest:
    return RouteRequest(sell, buy, AMOUNT, wallet, 50, 10**9, 2_000_000_000)


def taking(other: Token, extra: int, sell: Token = SELL) -> Route:
    return through(
        THIEF,
        "swapAndTake(address,address,uint256,address,uint256)",
        *(sell.address, BUY.address, AMOUNT, other.address, extra),
    )


async def stands(small: SmallChain, token: Token, amount: int = 90 * AMOUNT) -> None:
    """Let the wallet hold plenty and leave a standing unlimited allowance."""
    await small.give(token, WALLET, amount)
    await small.send(token.address, "approve(address,uint256)", THIEF, STANDING)
    await small.mine()


async def tried(small: SmallChain, route: Route, sell: Token = SELL) -> SimulationResult:
    [one] = await simulate_once(small.chain, swapping(sell), [route])
    assert (one.succeeded, one.received) == (True, AMOUNT)
    return one


async def test_a_standing_allowance_is_no_invitation(small: SmallChain) -> None:
    """A swap of 1 000 000 that takes 90 000 000: the theft of the review."""
    await stands(small, SELL)
    assert (await tried(small, taking(SELL, 0))).broken is None
    one = await tried(small, taking(SELL, 89 * AMOUNT))
    assert one.broken == (
        f"it takes {90 * AMOUNT} of {SELL.address} from the wallet, more than the {AMOUNT} to be"
        " sold"
    )
    assert "1000001" in str((await tried(small, taking(SELL, 1))).broken)


async def test_a_token_that_logs_nothing_is_measured_by_its_balance(small: SmallChain) -> None:
    silent = odd("Ordinary")
    await stands(small, silent)
    assert (await tried(small, taking(silent, 0, silent), silent)).broken is None
    one = await tried(small, taking(silent, 1, silent), silent)
    assert one.broken == (
        f"it takes 1000001 of {silent.address} from the wallet, more than the 1000000 to be sold"
    )


async def test_a_fee_on_top_at_the_sender_is_a_loss(small: SmallChain) -> None:
    greedy = odd("Greedy")
    await stands(small, greedy)
    route = through(THIEF, "swap(address,address,uint256)", greedy.address, BUY.address, AMOUNT)
    one = await tried(small, route, greedy)
    assert "it takes 1003000 of" in str(one.broken)


async def test_no_other_token_leaves(small: SmallChain) -> None:
    await stands(small, SELL)
    await stands(small, OTHER)
    one = await tried(small, taking(OTHER, 5))
    assert one.broken == f"it moves {OTHER.address} out of the wallet"


async def test_no_allowance_grows(small: SmallChain) -> None:
    await stands(small, SELL)
    signature = "swapAndApprove(address,address,uint256,address)"
    values = (SELL.address, BUY.address, AMOUNT, OTHER.address)
    one = await tried(small, through(THIEF, signature, *values))
    assert one.broken == f"it lets others spend the wallet's {OTHER.address}"


async def test_no_eth_leaves_a_wallet_with_code(small: SmallChain) -> None:
    """An EOA that delegates to code (EIP-7702) can be made to send ETH in the middle of a swap."""
    await stands(small, SELL)
    await small.raw.call("anvil_setCode", WALLET, "0xef0100" + DELEGATE[2:].lower())
    signature = "swapAndAsk(address,address,uint256,uint256)"
    values = (SELL.address, BUY.address, AMOUNT)
    one = await tried(small, through(THIEF, signature, *values, 10**15))
    assert one.broken == "it moves ETH out of the wallet"
    assert (await tried(small, taking(SELL, 0))).broken is None


def selling_stock(buy: Token, minimum: int = AMOUNT // 2) -> Route:
    """A venue that pays out of what it holds, so that the buy token takes its fee."""
    return through(
        VENUE,
        "swapFromStock(address,address,uint256)",
        *(SELL.address, buy.address, AMOUNT),
        minimum=minimum,
    )


async def stock(small: SmallChain, name: str) -> Token:
    if name == "FEE":
        await small.give_sandbox("FEE", VENUE, 10 * AMOUNT)
        return Token(FEE.address, FEE.decimals, FEE.symbol)
    await small.give(odd(name), VENUE, 10 * AMOUNT)
    return odd(name)


def measuring(small: SmallChain) -> NodeChain:
    """The chain as of a router that measures itself."""
    return NodeChain(small.rpc, small.clock, measures_itself=lambda _: True)


FEES = {
    "FEE": "the buy token takes a fee on transfer (5000 of 500000)",
    "Taxed": "the buy token takes a fee on transfer (5000 of 500000)",
    "TaxedQuietly": "10000 of the buy token were taken as a fee on transfer",
}


@pytest.mark.parametrize("name", FEES)
async def test_a_fee_that_the_router_misses_is_refused(small: SmallChain, name: str) -> None:
    buy = await stock(small, name)
    asked = swapping(SELL, buy, NOBODY)
    [one] = await simulate_once(measuring(small), asked, [selling_stock(buy)])
    assert one.broken == f"{FEES[name]}, and this router's minimum holds only before it"
    [other] = await simulate_once(small.chain, asked, [selling_stock(buy)])
    assert other.broken is None  # this router would look at the wallet
    assert one.received == other.received == AMOUNT * 99 // 100


@pytest.mark.parametrize("name", ["TaxedByCode", "TaxedByOrigin"])
async def test_a_fee_that_only_the_payer_pays_is_refused(small: SmallChain, name: str) -> None:
    """The wallet's own transfer is free of it, and the log of the swap says what arrived."""
    buy = await stock(small, name)
    asked = swapping(SELL, buy, NOBODY)
    [one] = await simulate_once(measuring(small), asked, [selling_stock(buy)])
    assert (one.succeeded, one.received) == (True, AMOUNT * 4 // 5)
    assert "the buy token takes a fee on transfer (100000 of 500000)" in str(one.broken)


@pytest.mark.parametrize("name", ["Bought", "Logging"])
async def test_a_token_without_a_fee_passes(small: SmallChain, name: str) -> None:
    buy = await stock(small, name)
    sell = odd("Ordinary")
    route = through(
        VENUE,
        "swapFromStock(address,address,uint256)",
        sell.address,
        buy.address,
        AMOUNT,
        minimum=AMOUNT // 2,
    )
    [one] = await simulate_once(measuring(small), swapping(sell, buy, NOBODY), [route])
    assert (one.succeeded, one.broken) == (True, None)


async def test_a_rounding_of_one_unit_counts_as_a_fee(small: SmallChain) -> None:
    """As stETH: a router that measures itself may deliver a unit less than its minimum."""
    buy = await stock(small, "Shares")
    [one] = await simulate_once(measuring(small), swapping(SELL, buy, NOBODY), [selling_stock(buy)])
    assert "takes a fee on transfer (1 of 500000)" in str(one.broken)


async def test_what_cannot_be_measured_is_refused(small: SmallChain) -> None:
    """A minimum above what arrived: the wallet cannot send it on."""
    buy = await stock(small, "Bought")
    route = selling_stock(buy, minimum=AMOUNT + 1)
    [one] = await simulate_once(measuring(small), swapping(SELL, buy, NOBODY), [route])
    assert "cannot be measured" in str(one.broken)


@pytest.mark.parametrize("name", ["LoopingBalance", "LoopingDecimals"])
async def test_a_token_whose_views_never_end_is_no_token(small: SmallChain, name: str) -> None:
    assert await small.chain.token(odd(name).address) is None


async def test_a_symbol_that_never_ends_is_none(small: SmallChain) -> None:
    found = await small.chain.token(odd("LoopingSymbol").address)
    assert found == Token(odd("LoopingSymbol").address, 18, "")


@pytest.mark.parametrize("name", ["LoopingBalance", "LoopingAllowance", "Verbose"])
async def test_a_sell_token_whose_views_never_end_cannot_be_read(
    small: SmallChain, name: str
) -> None:
    spenders = [VENUE, THIEF, DELEGATE, NOBODY]
    with pytest.raises(UnreadableToken):
        await small.chain.prepare_simulation(swapping(odd(name)), spenders)


async def test_views_that_answer_half_a_megabyte_are_no_fault_of_the_node(
    small: SmallChain,
) -> None:
    """The three views of a token fit into the gas for them, the wallet's many do not."""
    failed: list[str] = []
    rpc = NodeRpcClient(
        small.http, [small.url], small.clock, on_failure=lambda *a: failed.append(a[2]), **NODE
    )
    chain = NodeChain(rpc, small.clock)
    with pytest.raises(UnreadableToken):
        await chain.prepare_simulation(swapping(odd("Verbose")), [VENUE, THIEF, DELEGATE, NOBODY])
    assert failed == []


async def test_a_buy_token_whose_views_never_end_is_not_verified(small: SmallChain) -> None:
    route = through(
        THIEF, "swap(address,address,uint256)", SELL.address, odd("LoopingBalance").address, AMOUNT
    )
    [one] = await simulate_once(small.chain, swapping(SELL, odd("LoopingBalance"), NOBODY), [route])
    assert (one.succeeded, one.received) == (None, None)
    assert one.reason == "the buy token does not tell the wallet's balance"
