"""A swap with ETH: all steps from one plan, each recorded before it is submitted, and resumed."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from quietswap.client import (
    AsyncQuietswapClient,
    PollingPolicy,
    QuietswapClient,
    SubmittedTransaction,
    SwapRequest,
    TradeStep,
)
from quietswap.client.errors import (
    ClientError,
    MayBeMined,
    QuoteDeclined,
    StatusContradiction,
    UnfinishedTrade,
    UnsafeQuote,
)
from quietswap.rules.orders.order import OrderStatus
from quietswap.rules.tokens.token import WETH, WrapOperation
from tests.api.scripted_use_cases import ROUTER, WALLET
from tests.client.conftest import Do, Time
from tests.client.ether_chain import (
    BROUGHT,
    FIRST_NONCE,
    TO_ETHER,
    TO_USDC,
    EtherChain,
    quoting,
    trading,
)
from tests.client.fake_chain import ACCOUNT
from tests.client.fake_servers import ETHER, FakeServers, FakeService, Reply, ok, wrap_answer
from tests.client.test_nonces import history
from tests.stored_orders import USDC

Orders = dict[str, SubmittedTransaction]
POLLING = PollingPolicy(doubt_s=0, patience_s=60.0)
STEPS = {"ETH": ["wrap", "approve", "swap"], USDC: ["approve", "swap", "unwrap"]}


@pytest.fixture
def node() -> EtherChain:
    return EtherChain()


@pytest.fixture
def service(node: EtherChain) -> FakeService:
    return trading(node)


@pytest.fixture
def orders() -> Orders:
    """What one person's client has recorded: it outlives each of its processes."""
    return {}


@pytest.fixture
def do(manner: str, outside: FakeServers, time: Time, orders: Orders) -> Do:
    """Call a method on a client of either manner that is made for it, as a new process has one."""
    urls = {"rpc_url": outside.rpc_url, "polling": POLLING, "monotonic": time.monotonic}

    def blocking(method: str, *args: Any, **kwargs: Any) -> Any:
        with QuietswapClient(
            outside.url, "qs_right", sleep=time.sleep, orders=orders, **urls
        ) as client:
            return getattr(client, method)(*args, **kwargs)

    def awaited(method: str, *args: Any, **kwargs: Any) -> Any:
        async def work() -> Any:
            async with AsyncQuietswapClient(
                outside.url, "qs_right", sleep=time.sleep_async, orders=orders, **urls
            ) as client:
                return await getattr(client, method)(*args, **kwargs)

        return asyncio.run(work())

    return blocking if manner == "blocking" else awaited


def funded(node: EtherChain, request: SwapRequest) -> list[str]:
    """Give the wallet what the request sells, and nothing else; return the steps that it takes."""
    if request is TO_ETHER:
        node.held[USDC] = 3_000_000_000
    return STEPS[request.sell_token]


BOTH = pytest.mark.parametrize("request_", [TO_USDC, TO_ETHER], ids=["from ETH", "to ETH"])


def recorded(orders: Orders) -> list[SubmittedTransaction]:
    return [each for key, each in orders.items() if key == each.tx_hash]


@BOTH
def test_one_call_signs_all_steps(
    do: Do, node: EtherChain, orders: Orders, request_: SwapRequest
) -> None:
    steps = funded(node, request_)
    result = do("swap", request_, ACCOUNT)
    assert (result.succeeded, node.steps) == (True, steps)
    assert result.received == BROUGHT[USDC if request_ is TO_USDC else WETH]
    assert result.conversion.transaction_hash in orders
    first, second = recorded(orders)
    assert (first.trade, second.trade) == (first.tx_hash, first.tx_hash) == (result.trade,) * 2
    assert [f"the {each}" for each in steps if each != "approve"] == [first.what, second.what]
    assert (first.sell_token, first.buy_token) == (request_.sell_token, request_.buy_token)
    assert (first.sell_amount, first.at_least) == (
        request_.sell_amount,
        2_985_000_000 if request_ is TO_USDC else 995 * 10**15,
    )
    assert do("resume", result.trade, ACCOUNT).received == result.received
    assert node.steps == steps, "nothing is done again"


def test_what_was_there_before_is_not_unwrapped(do: Do, node: EtherChain) -> None:
    funded(node, TO_ETHER)
    node.held[WETH] = 5 * ETHER
    do("swap", TO_ETHER, ACCOUNT)
    assert node.amounts[-1] == BROUGHT[WETH]
    assert node.held[WETH] == 5 * ETHER


class Killed(Exception):
    """The process ended here."""


def dies_at(what: str) -> Callable[[object], None]:
    """Return a watcher that ends the process at an event, named as in `MOMENTS`."""

    def watch(event: object) -> None:
        name = type(event).__name__
        if isinstance(event, TradeStep):
            name = f"{event.step} {event.state}"
        if name == what:
            raise Killed

    return watch


MOMENTS = [
    (TO_USDC, "wrap signed"),
    (TO_USDC, "wrap mined"),
    (TO_USDC, "Approved"),
    (TO_USDC, "SwapSimulation"),
    (TO_USDC, "swap signed"),
    (TO_USDC, "SwapOrderResponse"),
    (TO_USDC, "swap mined"),
    (TO_ETHER, "swap signed"),
    (TO_ETHER, "SwapOrderResponse"),
    (TO_ETHER, "swap mined"),
    (TO_ETHER, "unwrap signed"),
    (TO_ETHER, "unwrap mined"),
]


@pytest.mark.parametrize(("request_", "moment"), MOMENTS)
def test_a_killed_trade_goes_on_and_does_nothing_twice(
    do: Do,
    node: EtherChain,
    orders: Orders,
    request_: SwapRequest,
    moment: str,
) -> None:
    steps = funded(node, request_)
    with pytest.raises(Killed):
        do("swap", request_, ACCOUNT, dies_at(moment))
    (trade,) = {each.trade for each in orders.values()}
    with pytest.raises(UnfinishedTrade):
        do("swap", request_, ACCOUNT)
    result = do("resume", trade, ACCOUNT)
    assert (result.succeeded, node.steps) == (True, steps)
    assert node.nonce == FIRST_NONCE + len(steps)
    assert result.received == BROUGHT[USDC if request_ is TO_USDC else WETH]


def test_before_the_first_record_the_same_call_begins_again(
    do: Do, node: EtherChain, orders: Orders
) -> None:
    """The approval is judged by its allowance: no second one is signed."""
    steps = funded(node, TO_ETHER)
    with pytest.raises(Killed):
        do("swap", TO_ETHER, ACCOUNT, dies_at("Approved"))
    assert orders == {}
    assert do("swap", TO_ETHER, ACCOUNT).succeeded
    assert node.steps == steps


class Unwritable(Orders):
    def __setitem__(self, key: str, value: SubmittedTransaction) -> None:
        raise OSError(28, "No space left on device")


@BOTH
def test_what_cannot_be_recorded_is_not_submitted(
    outside: FakeServers, service: FakeService, node: EtherChain, time: Time, request_: SwapRequest
) -> None:
    funded(node, request_)
    with QuietswapClient(
        outside.url, "qs_right", rpc_url=outside.rpc_url, orders=Unwritable(), sleep=time.sleep,
        monotonic=time.monotonic,
    ) as client, pytest.raises(QuoteDeclined, match="No space left on device"):  # fmt: skip
        client.swap(request_, ACCOUNT)
    assert (service.bodies("order"), service.bodies("wrap order")) == ([], [])


@BOTH
def test_the_same_request_again_is_refused_while_it_is_unfinished(
    do: Do, node: EtherChain, request_: SwapRequest
) -> None:
    steps = funded(node, request_)
    first = next(step for step in steps if step != "approve")
    with pytest.raises(Killed):
        do("swap", request_, ACCOUNT, dies_at(f"{first} mined"))
    with pytest.raises(UnfinishedTrade, match="go on with it by resume") as refusal:
        do("swap", request_, ACCOUNT)
    signed = list(node.steps)
    other = replace(request_, new_trade=True, accept=lambda _: False)
    with pytest.raises(QuoteDeclined, match=r"not accepted|holds"):
        do("swap", other, ACCOUNT)
    assert node.steps == signed
    do("resume", refusal.value.trade, ACCOUNT)
    assert node.steps == steps
    node.held[USDC] = 3_000_000_000 if request_ is TO_ETHER else 0
    assert do("swap", request_, ACCOUNT).succeeded, "a finished one is in nobody's way"


def test_a_trade_whose_weth_has_gone_elsewhere_is_over(do: Do, node: EtherChain) -> None:
    with pytest.raises(Killed):
        do("swap", TO_USDC, ACCOUNT, dies_at("wrap mined"))
    node.held[WETH] -= 1
    with pytest.raises(QuoteDeclined, match="not accepted"):
        do("swap", replace(TO_USDC, accept=lambda _: False), ACCOUNT)


@pytest.mark.parametrize("is_shown", [True, False])
def test_an_open_wrap_is_waited_for_or_signed_with_its_own_nonce(
    do: Do,
    service: FakeService,
    node: EtherChain,
    orders: Orders,
    is_shown: bool,
) -> None:
    """Where neither service nor node shows it, at most one of the two can be mined."""
    node.withholds = True
    with pytest.raises(ClientError):
        do("swap", TO_USDC, ACCOUNT)
    node.withholds = False
    (first,) = recorded(orders)
    if is_shown:
        shown = history(OrderStatus.MINING)
        service.next("history", shown)
        node.holds = 0
        service.tx_hash = first.tx_hash
        waits: list[str] = []

        def watch(event: object) -> None:
            if isinstance(event, TradeStep):
                waits.append(f"{event.step} {event.state}")
                if event.state == "open":
                    node.mine_pool()

        result = do("resume", first.trade, ACCOUNT, watch)
        assert waits[0] == "wrap open"
    else:
        result = do("resume", first.trade, ACCOUNT)
        assert {each.nonce for each in recorded(orders) if each.what == "the wrap"} == {FIRST_NONCE}
    assert result.succeeded
    assert node.steps == STEPS["ETH"]


@BOTH
def test_a_reverted_swap_is_signed_again_by_the_resumption(
    do: Do, node: EtherChain, orders: Orders, request_: SwapRequest
) -> None:
    steps = funded(node, request_)

    def watch(event: object) -> None:
        if isinstance(event, TradeStep) and (event.step, event.state) == ("swap", "signed"):
            node.fails = True

    with pytest.raises(StatusContradiction):
        do("swap", request_, ACCOUNT, watch)
    (trade,) = {each.trade for each in orders.values()}
    seen: list[str] = []
    result = do("resume", trade, ACCOUNT, lambda it: seen.append(getattr(it, "state", "")))
    assert "reverted" in seen
    assert (result.succeeded, node.steps) == (True, steps)


def hostile(operation: str, wei: int, **changes: object) -> Reply:
    answer = wrap_answer(WrapOperation(operation), wei)
    answer["mevProtection"]["transactionParams"] |= changes
    return ok({"quote": answer})


@pytest.mark.parametrize(
    ("lie", "says"),
    [
        (hostile("wrap", ETHER, value=str(2 * ETHER)), "another value"),
        (hostile("wrap", 2 * ETHER), "another amount"),
        (hostile("wrap", ETHER, to=ROUTER), "another contract"),
        (hostile("wrap", ETHER, gasLimit="16000000"), "gas of the wrap may cost"),
    ],
)
def test_no_other_wrap_is_signed_than_the_accepted_one(
    do: Do, service: FakeService, node: EtherChain, lie: Reply, says: str
) -> None:
    service.next("wrap quote", hostile("wrap", ETHER), lie)
    with pytest.raises((UnsafeQuote, QuoteDeclined), match=says):
        do("swap", TO_USDC, ACCOUNT)
    assert node.steps == []


@pytest.mark.parametrize(
    ("lie", "says"),
    [
        (hostile("unwrap", BROUGHT[WETH] + 10**15), "another amount"),
        (hostile("unwrap", BROUGHT[WETH], data="0x2e1a7d4d" + f"{ETHER:064x}"), "another call"),
        (hostile("unwrap", BROUGHT[WETH], value="1"), "another value"),
    ],
)
def test_no_other_unwrap_is_signed_than_of_what_arrived(
    do: Do, service: FakeService, node: EtherChain, lie: Reply, says: str
) -> None:
    funded(node, TO_ETHER)
    node.held[WETH] = 5 * ETHER
    node.allowances[ROUTER.lower()] = 3_000_000_000
    service.next("wrap quote", hostile("unwrap", 995 * 10**15), lie)
    with pytest.raises(UnsafeQuote, match=says):
        do("swap", TO_ETHER, ACCOUNT)
    assert "unwrap" not in node.steps


def test_a_worse_quote_after_the_wrap_stops_and_leaves_the_weth(
    do: Do, service: FakeService, node: EtherChain, orders: Orders
) -> None:
    """Half of the slippage is what the price may lose; the minimum stays that of the plan."""

    def watch(event: object) -> None:
        if isinstance(event, TradeStep) and event.state == "mined":
            service.quote = quoting(service, 26)

    with pytest.raises(QuoteDeclined, match="is below 2985000000"):
        do("swap", TO_USDC, ACCOUNT, watch)
    assert (node.steps, node.held[WETH]) == (["wrap"], ETHER)
    service.quote = quoting(service, 24)
    (first,) = recorded(orders)
    result = do("resume", first.trade, ACCOUNT)
    assert result.swap.quote.min_buy_amount >= first.at_least
    assert node.steps == STEPS["ETH"]


def test_an_end_that_only_the_service_claims_is_not_unwrapped(do: Do, node: EtherChain) -> None:
    funded(node, TO_ETHER)
    node.held[WETH] = 5 * ETHER

    def watch(event: object) -> None:
        node.withholds = isinstance(event, TradeStep) or node.withholds

    with pytest.raises(MayBeMined, match="your own node"):
        do("swap", TO_ETHER, ACCOUNT, watch)
    assert node.steps == ["approve"]


def test_what_was_not_signed_here_is_not_resumed(do: Do) -> None:
    with pytest.raises(QuoteDeclined, match="is not on the record here"):
        do("resume", "0x" + "77" * 32, ACCOUNT)


def test_a_trade_of_another_wallet_is_not_resumed(do: Do, orders: Orders) -> None:
    do("swap", TO_USDC, ACCOUNT)
    other = replace(TO_USDC, wallet=WETH)
    with pytest.raises(QuoteDeclined, match=f"is one of {WALLET}"):
        do("resume", recorded(orders)[0].trade, ACCOUNT, limits=other)
