"""The nonce is the next one of the caller's own node, the fee cap sane, open orders safe."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from quietswap.client import QuietswapClient
from quietswap.client.errors import QuoteDeclined, UnsafeQuote
from quietswap.rules.contract.request_limits import MAX_LIMIT
from quietswap.rules.orders.order import OrderStatus
from quietswap.rules.orders.order_views import OrderPage
from tests.client.conftest import Do, Time
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_servers import TX_HASH, WALLET, Asked, FakeService, Reply, ok, placed
from tests.client.test_swap_flow import REQUEST, approved
from tests.client.test_swap_safety import change, never
from tests.response_json import orders
from tests.stored_orders import listed, recorded

__all__ = ["approved"]

NONCE = "mevProtection.transactionParams.nonce"
FEE = "mevProtection.transactionParams.maxFeePerGas"
GAS = "mevProtection.transactionParams.gasLimit"


@pytest.mark.parametrize("named", [8, 9, 10**6, 2**53 - 1])
def test_a_nonce_beyond_the_next_one(
    do_with_node: Do, service: FakeService, approved: FakeChain, named: int
) -> None:
    service.next("quote", ok(change(NONCE, named)))
    with pytest.raises(UnsafeQuote, match=f"nonce {named}, but the wallet's next is 7.*any_nonce"):
        do_with_node("swap", REQUEST, never)


def test_a_nonce_that_is_used_is_asked_about_again(
    do_with_node: Do, service: FakeService, approved: FakeChain, time: Time
) -> None:
    """The service's node may be a block behind the caller's own."""
    service.next("quote", *[ok(change(NONCE, 6))] * 2)
    assert do_with_node("swap", REQUEST, ACCOUNT).succeeded
    assert time.pauses == [2, 2]
    service.next("quote", *[ok(change(NONCE, 6))] * 5)
    with pytest.raises(UnsafeQuote, match="nonce 6, but the wallet's next is 7"):
        do_with_node("swap", REQUEST, never)


def test_the_caller_may_take_the_services_word(
    do_with_node: Do, service: FakeService, approved: FakeChain
) -> None:
    service.next("quote", ok(change(NONCE, 9)))
    assert do_with_node("swap", replace(REQUEST, any_nonce=True), ACCOUNT).succeeded


@pytest.mark.parametrize(("named", "passes"), [(5, True), (6, False), (7, False)])
def test_a_nonce_of_the_callers_own(do: Do, service: FakeService, named: int, passes: bool) -> None:
    """It is how to try again: at most one transaction of a nonce can be mined."""
    request = replace(REQUEST, approval="never", nonce=5)
    service.next("quote", ok(change(NONCE, named)))
    if passes:
        assert do("swap", request, ACCOUNT).succeeded
        return
    with pytest.raises(UnsafeQuote, match=f"has nonce {named}, you asked for 5"):
        do("swap", request, never)


@pytest.mark.parametrize(("asked", "is_used"), [(6, True), (7, False)])
def test_a_nonce_that_is_used_already_is_called_so(
    do_with_node: Do, service: FakeService, approved: FakeChain, asked: int, is_used: bool
) -> None:
    assert approved.nonce == 7
    service.next("quote", ok(change(NONCE, 8)))
    with pytest.raises(UnsafeQuote, match=f"you asked for {asked}: not signed") as caught:
        do_with_node("swap", replace(REQUEST, nonce=asked), never)
    assert (f"nonce {asked} is used already" in str(caught.value)) is is_used


def test_the_callers_own_nonce_needs_no_node_to_agree(
    do_with_node: Do, service: FakeService, approved: FakeChain
) -> None:
    """A relay may have leaked the first transaction: then the node counts it as pending."""
    service.next("quote", ok(change(NONCE, 6)))
    assert do_with_node("swap", replace(REQUEST, nonce=6), ACCOUNT).succeeded


@pytest.mark.parametrize(
    ("base_fee", "cap", "passes"),
    [
        (3 * 10**9, 3 * 10**9, True),
        (3 * 10**9, 3 * 10**9 - 1, False),
        (3 * 10**9, 40 * 10**9, True),
        (3 * 10**9, 40 * 10**9 + 1, False),
        (7, 10 * 10**9 + 70, True),
        (7, 10 * 10**9 + 71, False),
        (10**12, 10**13, True),
        (10**12, 10**13 + 1, False),
    ],
)
def test_the_fee_cap_beside_the_base_fee(
    do_with_node: Do,
    service: FakeService,
    approved: FakeChain,
    base_fee: int,
    cap: int,
    passes: bool,
) -> None:
    approved.base_fee = base_fee
    service.next("quote", ok(change(FEE, str(cap))))
    request = replace(REQUEST, max_fee_wei=None)
    if passes:
        assert do_with_node("swap", request, ACCOUNT).succeeded
        return
    with pytest.raises(UnsafeQuote, match=r"fee cap"):
        do_with_node("swap", request, never)


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (FEE, str(10**13 + 1), "an absurd fee cap"),
        (FEE, str(2**256 - 1), "an absurd fee cap"),
        (GAS, "0", "less gas than a transaction needs"),
        (GAS, "20999", "less gas than a transaction needs"),
        (GAS, str(2**24 + 1), "more gas than a transaction may have"),
    ],
)
def test_absurd_gas_without_a_node(
    do: Do, service: FakeService, path: str, value: str, says: str
) -> None:
    service.next("quote", ok(change(path, value)))
    with pytest.raises(UnsafeQuote, match=says):
        do("swap", replace(REQUEST, approval="never"), never)


def history(*states: OrderStatus) -> Reply:
    page = OrderPage(tuple(listed(placed(state)) for state in states), len(states))
    return ok(orders.order_history_response(page, 200, 0))


OPEN = [OrderStatus.PENDING, OrderStatus.SUBMITTED, OrderStatus.MINING]


@pytest.mark.parametrize("state", OPEN)
def test_a_swap_behind_an_open_sale_needs_what_is_left(
    do_with_node: Do, service: FakeService, approved: FakeChain, state: OrderStatus
) -> None:
    """The order at nonce 7 sells as much: its balance and its allowance are counted once."""
    amount = REQUEST.sell_amount
    router = next(iter(approved.allowances))
    request = replace(REQUEST, nonce=8)
    for balance, allowance, lacks in (
        (9 * amount, amount, "may move"),
        (9 * amount, 2 * amount - 1, "may move"),
        (2 * amount - 1, 9 * amount, "the wallet holds"),
    ):
        approved.balance, approved.allowances[router] = balance, allowance
        service.next("quote", ok(change(NONCE, 8)))
        service.next("history", history(state))
        with pytest.raises(QuoteDeclined, match=rf"{lacks} .* wait until they are decided"):
            do_with_node("swap", request, never)
    approved.balance = approved.allowances[router] = 2 * amount
    service.next("quote", ok(change(NONCE, 8)))
    service.next("history", history(state))
    assert do_with_node("swap", request, ACCOUNT).succeeded


@pytest.mark.parametrize("is_public", [True, False])
def test_whoever_names_the_nonce_an_open_sale_before_it_is_counted(
    do_with_node: Do, service: FakeService, approved: FakeChain, is_public: bool
) -> None:
    """The order at nonce 7 may be in the node's mempool: then the next nonce is that behind it."""
    approved.waiting = int(is_public)
    service.next("quote", ok(change(NONCE, 8)))
    service.next("history", history(OrderStatus.MINING))
    with pytest.raises(QuoteDeclined, match=r"may move .* open orders with lower nonces sell"):
        do_with_node("swap", replace(REQUEST, any_nonce=not is_public), never)


def test_a_swap_at_the_nonce_of_an_open_order_replaces_it(
    do_with_node: Do, service: FakeService, approved: FakeChain
) -> None:
    service.next("quote", ok(change(NONCE, 8)))
    service.next("history", history(OrderStatus.MINING))
    waiting = placed(OrderStatus.MINING, nonce=8)
    service.next("status", ok(orders.order_status_response(recorded(waiting))))
    assert do_with_node("swap", replace(REQUEST, nonce=8), ACCOUNT).succeeded


@pytest.mark.parametrize("state", OPEN)
def test_an_approval_cancels_no_open_order(
    do_with_node: Do, service: FakeService, node: FakeChain, state: OrderStatus
) -> None:
    service.next("history", history(OrderStatus.CONFIRMED, state))
    with pytest.raises(QuoteDeclined, match=r"order ord_1 is open, and the approval .*replace"):
        do_with_node("swap", REQUEST, never)
    assert node.sent == []
    assert any("/user/" in each.path for each in service.asked)


@pytest.mark.parametrize("state", OPEN)
def test_an_open_order_is_found_behind_any_number_of_others(
    do_with_node: Do, service: FakeService, node: FakeChain, state: OrderStatus
) -> None:
    """The service is asked for open ones: the page of the newest would not show it."""
    usual = service._usual

    def filtered(name: str, asked: Asked) -> Reply:
        if name != "history":
            return usual(name, asked)
        wanted = {"status": state.value, "kind": "any", "limit": str(MAX_LIMIT)}
        is_asked_for = asked.query.items() >= wanted.items()
        return history(state) if is_asked_for else history()

    service._usual = filtered  # type: ignore[method-assign]
    with pytest.raises(QuoteDeclined, match="order ord_1 is open"):
        do_with_node("swap", REQUEST, never)
    with pytest.raises(QuoteDeclined, match="order ord_1 is open"):
        do_with_node("wrap", "2", never, wallet=WALLET)


@pytest.mark.parametrize("nonce", [None, 7])
@pytest.mark.parametrize("operation", ["wrap", "unwrap"])
def test_a_wrap_cancels_no_open_order(
    do_with_node: Do, service: FakeService, node: FakeChain, operation: str, nonce: int | None
) -> None:
    service.next("history", history(OrderStatus.MINING))
    with pytest.raises(QuoteDeclined, match=rf"order ord_1 is open, and the {operation} .*replace"):
        do_with_node(operation, "2", never, wallet=WALLET, nonce=nonce)
    assert service.bodies("wrap order") == []
    service.next("history", history(OrderStatus.MINING))
    done = do_with_node(operation, "0.5", ACCOUNT, nonce=nonce, replace=True)
    assert done.receipt is not None


@pytest.mark.parametrize(("ordered", "says"), [(6, "wait behind its nonce 6"), (8, None)])
def test_a_wrap_is_compared_with_the_nonce_of_an_open_order(
    do_with_node: Do, service: FakeService, ordered: int, says: str | None
) -> None:
    """An order after a gap keeps its nonce: the wrap at 7 is what it waits for."""
    service.next("history", history(OrderStatus.MINING))
    waiting = placed(OrderStatus.MINING, nonce=ordered)
    service.next("status", ok(orders.order_status_response(recorded(waiting))))
    if says is None:
        assert do_with_node("wrap", "0.5", ACCOUNT, wallet=WALLET).receipt is not None
        return
    with pytest.raises(QuoteDeclined, match=says):
        do_with_node("wrap", "0.5", never, wallet=WALLET)


def test_an_approval_keeps_the_nonce_of_an_order_after_a_gap(
    do_with_node: Do, service: FakeService, node: FakeChain
) -> None:
    service.next("history", history(OrderStatus.MINING))
    waiting = placed(OrderStatus.MINING, nonce=10)
    service.next("status", ok(orders.order_status_response(recorded(waiting))))
    assert do_with_node("swap", REQUEST, ACCOUNT).succeeded
    assert node.sent


def test_a_wrap_without_a_node_cancels_no_open_order(do: Do, service: FakeService) -> None:
    """The nonce that the chain names is that of the open order: the caller meant the next one."""
    service.next("history", history(OrderStatus.MINING))
    with pytest.raises(QuoteDeclined, match="order ord_1 is open"):
        do("wrap", "2", never, wallet=WALLET, nonce=7)
    service.next("history", history(OrderStatus.MINING))
    do("wrap", "0.5", ACCOUNT, nonce=7, replace=True)
    assert len(service.bodies("wrap order")) == 1


@pytest.mark.parametrize("state", OPEN)
def test_an_order_in_a_block_of_the_callers_node_has_used_its_nonce(
    do_with_node: Do, service: FakeService, node: FakeChain, state: OrderStatus
) -> None:
    """The service may wait for more blocks before it calls the order confirmed."""
    node.mine(TX_HASH)
    service.next("history", *[history(state)] * 6)
    assert do_with_node("wrap", "0.5", ACCOUNT).receipt is not None
    service.next("history", *[history(state)] * 3)
    assert do_with_node("swap", REQUEST, ACCOUNT).succeeded


def test_an_order_in_a_block_hides_no_open_one(
    do_with_node: Do, service: FakeService, node: FakeChain
) -> None:
    mined, waits = (
        listed(placed(OrderStatus.MINING, order_id=f"ord_{number}", tx_hash=f"0x{number:064x}"))
        for number in (2, 3)
    )
    assert mined.tx_hash is not None
    node.mine(mined.tx_hash)
    page = ok(orders.order_history_response(OrderPage((mined, waits), 2), 200, 0))
    service.next("history", *[page] * 6)
    with pytest.raises(QuoteDeclined, match="order ord_3 is open"):
        do_with_node("swap", REQUEST, never)
    with pytest.raises(QuoteDeclined, match="order ord_3 is open"):
        do_with_node("wrap", "2", never, wallet=WALLET)


def test_an_approval_may_replace_it_if_told_to(
    do_with_node: Do, service: FakeService, node: FakeChain
) -> None:
    service.next("history", history(OrderStatus.MINING))
    assert do_with_node("swap", replace(REQUEST, replace=True), ACCOUNT).succeeded
    assert len(node.sent) == 1


def test_an_approval_takes_no_nonce_that_was_meant_for_the_swap(
    do_with_node: Do, service: FakeService, node: FakeChain
) -> None:
    with pytest.raises(QuoteDeclined, match="only nonce 7 may be signed"):
        do_with_node("swap", replace(REQUEST, nonce=7), never)
    assert node.sent == []


def test_without_an_approval_nobody_asks(
    do_with_node: Do, service: FakeService, approved: FakeChain
) -> None:
    service.next("history", history(OrderStatus.MINING))
    assert do_with_node("swap", REQUEST, ACCOUNT).succeeded
    assert not any("/user/" in each.path for each in service.asked)


def test_an_approval_waits_behind_what_the_node_has_pending(
    client: QuietswapClient, service: FakeService, node: FakeChain
) -> None:
    """The nonce of a public transaction that waits at the node is not taken either."""
    latest = node.eth_getTransactionCount
    node.nonce = 7
    asked: list[str] = []

    def count(wallet: str, block: str) -> str:
        asked.append(block)
        return latest(wallet, block)

    node.eth_getTransactionCount = count  # type: ignore[method-assign]
    client.swap(REQUEST, ACCOUNT)
    assert asked.count("pending") >= 2, "for the quote, and for the approval"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"nonce": -1}, "nonce must be an int of 0 or more"),
        ({"nonce": 7.0}, "nonce must be an int"),
        ({"sell_amount": 0}, "sell_amount must be an int of 1 or more, not 0"),
        ({"slippage_bps": "50"}, "slippage_bps must be an int of 1 or more, not '50'"),
        ({"slippage_bps": None}, "slippage_bps must be an int"),
        ({"at_least": 29.5}, "at_least must be an int of 1 or more, not 29.5"),
        ({"at_least": float("nan")}, "at_least must be an int"),
        ({"at_least": 0}, "at_least must be an int of 1 or more"),
        ({"at_least": "100"}, "at_least must be an int"),
        ({"max_fee_wei": float("nan")}, "max_fee_wei must be an int of 0 or more, not nan"),
        ({"max_fee_wei": True}, "max_fee_wei must be an int"),
        ({"max_impact_percent": Decimal("nan")}, "max_impact_percent must be 0 to 100, not NaN"),
        ({"max_impact_percent": float("inf")}, "max_impact_percent must be 0 to 100"),
        ({"max_impact_percent": "1"}, "max_impact_percent must be 0 to 100"),
        ({"max_impact_percent": -1}, "max_impact_percent must be 0 to 100"),
        ({"max_impact_percent": 101}, "max_impact_percent must be 0 to 100"),
        ({"max_loss_percent": 101}, "max_loss_percent must be 0 to 100, not 101"),
    ],
)
def test_a_request_that_makes_no_sense(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        replace(REQUEST, **wrong)
