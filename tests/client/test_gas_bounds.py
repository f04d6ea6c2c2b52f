"""What the gas of a swap may cost: by the trial, beside the reference price, and at most."""

from dataclasses import replace
from decimal import Decimal

import pytest

from quietswap.client.errors import QuoteDeclined, UnsafeQuote
from tests.client.conftest import Do
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_servers import MINIMUM, FakeService, ok
from tests.client.test_nonces import FEE, GAS
from tests.client.test_swap_flow import REQUEST, approved
from tests.client.test_swap_safety import change, never

__all__ = ["approved"]


@pytest.mark.parametrize(
    ("used", "limit", "passes"),
    [
        (200_000, 500_000, True),
        (200_000, 700_000, True),
        (200_000, 700_001, False),
        (21_000, 500_000, True),
        (21_000, 500_001, False),
        (400_000, 1_400_000, True),
        (400_000, 2**24, False),
    ],
)
def test_the_gas_limit_beside_the_trial(
    do_with_node: Do,
    service: FakeService,
    approved: FakeChain,
    used: int,
    limit: int,
    passes: bool,
) -> None:
    """With more gas than a trial shows, a router could burn the rest once it runs in a block."""
    approved.delivers, approved.trial_gas = MINIMUM + 5, used
    service.next("quote", ok(change(GAS, str(limit))))
    if passes:
        assert do_with_node("swap", REQUEST, ACCOUNT).succeeded
        return
    with pytest.raises(UnsafeQuote, match=f"gas limit is {limit}, though it uses {used}"):
        do_with_node("swap", replace(REQUEST, max_fee_wei=None), never)


@pytest.mark.parametrize(("peak", "passes"), [(300_000, True), (299_999, False), (None, False)])
def test_the_gas_limit_beside_the_peak_of_the_trial(
    do_with_node: Do, service: FakeService, approved: FakeChain, peak: int | None, passes: bool
) -> None:
    """The gas of storage that is set and cleared again is given back, but needed (EIP-8037)."""
    approved.delivers, approved.trial_gas, approved.trial_peak = MINIMUM + 5, 202_080, peak
    service.next("quote", ok(change(GAS, "1050000")))
    if passes:
        assert do_with_node("swap", REQUEST, ACCOUNT).succeeded
        return
    with pytest.raises(UnsafeQuote, match=f"gas limit is 1050000, though it uses {peak or 202080}"):
        do_with_node("swap", replace(REQUEST, max_fee_wei=None), never)


@pytest.mark.parametrize(
    ("needs", "amsterdam", "peak", "passes"),
    [
        (300_001, True, None, True),
        (300_000, True, None, False),  # the limit is 3.5 times as much
        (300_001, False, None, False),
        (300_001, True, 202_080, False),
    ],
)
def test_a_node_that_tells_no_peak_shows_what_a_swap_needs(
    do_with_node: Do, service: FakeService, approved: FakeChain, needs: int, *, amsterdam: bool,
    peak: int | None, passes: bool,
) -> None:  # fmt: skip
    """From Amsterdam on, storage that is set and cleared again costs nothing in the end."""
    approved.delivers, approved.trial_gas, approved.trial_peak = MINIMUM + 5, 202_080, peak
    approved.trial_needs, approved.is_amsterdam = needs, amsterdam
    service.next("quote", ok(change(GAS, "1050000")))
    if passes:
        assert do_with_node("swap", REQUEST, ACCOUNT).succeeded
        return
    with pytest.raises(UnsafeQuote, match="gas limit is 1050000, though it uses 202080"):
        do_with_node("swap", replace(REQUEST, max_fee_wei=None), never)


@pytest.mark.parametrize(("most", "passes"), [("2.4", True), ("2.3", False)])
def test_the_gas_counts_beside_the_reference(
    do_with_node: Do, service: FakeService, approved: FakeChain, most: str, passes: bool
) -> None:
    """1 WETH at 3,000 USD, and 200,000 gas at 120 gwei for 72 USD: 2.4 % with a fair quote."""
    approved.base_fee = 120 * 10**9
    approved.delivers, approved.trial_gas = MINIMUM + 5, 200_000
    request = replace(REQUEST, max_impact_percent=Decimal(most), max_fee_wei=None)
    service.next("quote", ok(change(FEE, str(120 * 10**9))))
    if passes:
        assert do_with_node("swap", request, ACCOUNT).succeeded
        return
    with pytest.raises(QuoteDeclined, match=r"with its gas, 2\.\d+ % of the amount.*--max-impact"):
        do_with_node("swap", request, never)


@pytest.mark.parametrize(("most", "passes"), [(1575 * 10**12, True), (1575 * 10**12 - 1, False)])
def test_the_most_that_gas_may_cost(do: Do, service: FakeService, most: int, passes: bool) -> None:
    """262,500 gas at a cap of 6 gwei; it needs no node."""
    request = replace(REQUEST, approval="never", max_fee_wei=most)
    if passes:
        assert do("swap", request, ACCOUNT).succeeded
        return
    with pytest.raises(QuoteDeclined, match=f"may cost 1575000000000000 wei, more than {most}"):
        do("swap", request, never)


def test_without_a_word_it_may_cost_a_twentieth_of_an_eth(do: Do, service: FakeService) -> None:
    service.next("quote", *[ok(change(FEE, str(200 * 10**9)))] * 2)
    request = replace(REQUEST, approval="never")
    with pytest.raises(QuoteDeclined, match=r"more than 50000000000000000.*--max-fee"):
        do("swap", request, never)
    assert do("swap", replace(request, max_fee_wei=None), ACCOUNT).succeeded
