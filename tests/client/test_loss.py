"""What may be lost is judged with the client's own figures, and declined unless it is accepted."""

from dataclasses import replace
from decimal import Decimal

import pytest

from quietswap.client.errors import QuoteDeclined
from quietswap.client.flows.wrap import WrapRequest
from quietswap.rules.contract.quotes import SwapQuoteResponse
from quietswap.rules.quotes.quote import WrapOperation
from quietswap.rules.safety.loss import Loss
from tests.client.conftest import Do
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_servers import WALLET, FakeService, ok, swap_quote, wrap_answer
from tests.client.test_nonces import FEE
from tests.client.test_swap_flow import REQUEST, approved
from tests.client.test_swap_safety import change, never
from tests.quoting.loss_table import LOSSES, Row, quoted
from tests.response_json import quotes

__all__ = ["approved"]
ASKED = ("confirm", "type")


def offer(service: FakeService, node: FakeChain, row: Row) -> None:
    """Let the service offer a row, and the node know prices only where the row has a reference."""
    node.logs = []
    if row.below is None:
        node.prices = {}
    answer = quotes.swap_quote_response(swap_quote(**quoted(row)))
    # a hostile service calls every loss small
    service.next("quote", ok(answer | {"loss": {"level": "none", "bps": 0, "causes": []}}))


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_that_a_person_would_be_asked_is_declined(
    do_with_node: Do, service: FakeService, approved: FakeChain, name: str
) -> None:
    row = LOSSES[name]
    request = replace(REQUEST, slippage_bps=row.slippage_bps)
    offer(service, approved, row)
    if row.level not in ASKED:
        assert do_with_node("swap", request, ACCOUNT).status.status == "confirmed"
        return
    with pytest.raises(QuoteDeclined, match=r"accept a loss up to max_loss_percent") as refusal:
        do_with_node("swap", request, never)
    assert row.causes in str(refusal.value)
    assert ("at_least" in str(refusal.value)) is ("no price" in row.causes)
    assert service.bodies("order") == []


@pytest.mark.parametrize("answer", [True, False])
@pytest.mark.parametrize("name", [name for name, row in LOSSES.items() if row.level in ASKED])
def test_confirm_is_asked_with_the_loss(
    do_with_node: Do, service: FakeService, approved: FakeChain, name: str, answer: bool
) -> None:
    row, seen = LOSSES[name], list[Loss]()

    def confirm(quote: SwapQuoteResponse, loss: Loss) -> bool:
        seen.append(loss)
        return answer

    request = replace(REQUEST, slippage_bps=row.slippage_bps, confirm=confirm)
    offer(service, approved, row)
    if answer:
        assert do_with_node("swap", request, ACCOUNT).status.status == "confirmed"
    else:
        with pytest.raises(QuoteDeclined, match="the loss was not accepted"):
            do_with_node("swap", request, never)
    [loss] = seen
    assert (loss.level, loss.bps, str(loss)) == (row.level, row.bps, row.causes)


@pytest.mark.parametrize(
    ("name", "bounds", "passes"),
    [
        ("half of the value", {"max_loss_percent": Decimal("47.69")}, True),
        ("half of the value", {"max_loss_percent": Decimal("47.68")}, False),
        ("impact of a notice", {"max_loss_percent": Decimal("0.5")}, False),
        ("slippage to type", {"max_loss_percent": 50}, True),
        ("price unknown", {"max_loss_percent": 99}, False),
        ("price unknown", {"max_loss_percent": 100}, True),
        ("price unknown", {"at_least": 1}, True),
        ("half of the value", {"at_least": 1}, False),
        ("below the reference", {"max_impact_percent": Decimal(4)}, True),
        ("slippage of a question", {"at_least": 1, "max_impact_percent": Decimal(3)}, True),
        ("slippage of a question", {"at_least": 1, "max_impact_percent": Decimal(2)}, False),
    ],
)
def test_what_a_caller_names(
    do_with_node: Do,
    service: FakeService,
    approved: FakeChain,
    name: str,
    bounds: dict[str, Decimal],
    passes: bool,
) -> None:
    row = LOSSES[name]
    request = replace(REQUEST, slippage_bps=row.slippage_bps, **bounds)
    offer(service, approved, row)
    if passes:
        assert do_with_node("swap", request, ACCOUNT).status.status == "confirmed"
        return
    with pytest.raises(QuoteDeclined, match="it may lose more than"):
        do_with_node("swap", request, never)


def test_without_a_node_the_service_has_the_only_price(do: Do, service: FakeService) -> None:
    request = replace(REQUEST, approval="never")
    answer = quotes.swap_quote_response(swap_quote(**quoted(LOSSES["half of the value"])))
    service.next("quote", ok(answer))
    with pytest.raises(QuoteDeclined, match=r"47\.69 % price impact"):
        do("swap", request, never)
    assert do("swap", request, ACCOUNT).succeeded


def test_gas_that_only_the_trial_shows(
    do_with_node: Do, service: FakeService, approved: FakeChain
) -> None:
    """The service calls the gas cheap; at the node's base fee it is a third of 3,000 USD."""
    approved.delivers, approved.trial_gas, approved.base_fee = 2_985_000_000, 200_000, 1667 * 10**9
    service.next("quote", *[ok(change(FEE, str(1667 * 10**9)))] * 2)
    request = replace(REQUEST, max_fee_wei=None)
    with pytest.raises(QuoteDeclined, match=r"33\.34 % of the value for gas"):
        do_with_node("swap", request, never)
    seen: list[str] = []
    consent = replace(request, confirm=lambda _, loss: not seen.append(str(loss)))
    assert do_with_node("swap", consent, ACCOUNT).status.status == "confirmed"
    assert seen == ["33.34 % of the value for gas"]


@pytest.mark.parametrize("operation", ["wrap", "unwrap"])
def test_a_wrap_that_its_gas_eats_up(do_with_node: Do, node: FakeChain, operation: str) -> None:
    """45,041 gas at 3 gwei, of 0.001 ETH."""
    request = WrapRequest(operation, "0.001", WALLET)  # type: ignore[arg-type]
    with pytest.raises(QuoteDeclined, match=r"13\.51 % of the value for gas"):
        do_with_node("convert", request, never)
    with pytest.raises(QuoteDeclined, match=r"13\.50 % that you accept"):
        do_with_node("convert", replace(request, max_loss_percent=Decimal("13.50")), never)
    for accepts in ({"max_loss_percent": Decimal("13.51")}, {"confirm": lambda _, loss: True}):
        assert do_with_node("convert", replace(request, **accepts), ACCOUNT).receipt is not None
    node.base_fee = 10**9
    assert do_with_node("convert", request, ACCOUNT).receipt is not None


@pytest.mark.parametrize("operation", ["wrap", "unwrap"])
def test_the_gas_of_a_wrap_is_not_the_services_to_say(
    do_with_node: Do, service: FakeService, node: FakeChain, operation: str
) -> None:
    """Its figure is 1 gas: the own node estimates what it takes."""
    usual = wrap_answer(WrapOperation(operation), 10**15) | {"estimatedGas": "1"}
    service.next("wrap quote", ok({"quote": usual}))
    node.gas = 45_041
    request = WrapRequest(operation, "0.001", WALLET)  # type: ignore[arg-type]
    with pytest.raises(QuoteDeclined, match=r"13\.51 % of the value for gas"):
        do_with_node("convert", request, never)


def test_a_wrap_without_a_node_may_cost_what_its_fee_cap_allows(do: Do) -> None:
    request = WrapRequest("wrap", "0.0024", WALLET, nonce=7)
    with pytest.raises(QuoteDeclined, match=r"11\.26 % of the value for gas"):
        do("convert", request, never)
