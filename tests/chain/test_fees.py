"""Gas limits, fee caps and nonces."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietswap.rules.orders.nonces import OwnNonces, next_nonce
from quietswap.rules.tx import fees
from quietswap.rules.tx.signed import GAS_LIMIT_CAP

GWEI = 10**9


@pytest.mark.parametrize(
    ("used", "expected"),
    [(0, 875_000_000), (15_000_000, 10**9), (30_000_000, 1_125_000_000)],
)
def test_the_next_base_fee_follows_eip_1559(used: int, expected: int) -> None:
    assert fees.next_base_fee(10**9, used, 30_000_000) == expected


def test_a_full_block_raises_even_the_smallest_base_fee() -> None:
    assert fees.next_base_fee(1, 30_000_000, 30_000_000) == 2


def test_the_gas_limit_is_a_quarter_above_the_peak_and_capped() -> None:
    assert fees.gas_limit_for(200_000) == 250_000
    assert fees.gas_limit_for(100) == 21_000
    assert fees.gas_limit_for(20_000_000) == GAS_LIMIT_CAP


@pytest.mark.parametrize(
    ("call", "before", "after"),
    [
        ({"data": b""}, 21_000, 15_000),
        ({"data": b"", "has_value": True}, 21_000, 21_000),
        ({"data": b"", "has_value": True, "to_self": True}, 21_000, 12_000),
        ({"data": b"", "to_self": True}, 21_000, 12_000),
        ({"data": b"\0" * 10 + b"\1" * 90}, 24_700, 21_400),
        ({"data": b"\1" * 6_000}, 261_000, 399_000),
        ({"data": bytes(6_000), "has_value": True}, 81_000, 405_000),
    ],
)
def test_the_least_gas_of_a_call_by_fork(call: Any, before: int, after: int) -> None:
    """Figures of EIP-7623, and of EIP-2780 and EIP-7976."""
    assert fees.intrinsic_gas(**call, is_amsterdam=False) == before
    assert fees.intrinsic_gas(**call, is_amsterdam=True) == after


def test_the_fee_cap_is_twice_the_next_base_fee_when_the_wallet_can_lock_it() -> None:
    cap = fees.max_fee_per_gas(20 * GWEI, 2, gas_limit=250_000, balance=10**18)
    assert cap == 40 * GWEI


def test_a_tiny_base_fee_gets_absolute_headroom() -> None:
    assert fees.max_fee_per_gas(1_000, 2, gas_limit=21_000, balance=10**18) == 1_000 + 10**8


def test_the_fee_cap_comes_down_to_what_the_wallet_can_lock() -> None:
    balance = 250_000 * 30 * GWEI
    cap = fees.max_fee_per_gas(20 * GWEI, 2, gas_limit=250_000, balance=balance)
    assert cap == 30 * GWEI


def test_the_fee_cap_never_falls_below_a_quarter_above_the_base_fee() -> None:
    assert fees.max_fee_per_gas(20 * GWEI, 2, gas_limit=250_000, balance=0) == 25 * GWEI


def test_the_value_sent_along_is_not_available_for_fees() -> None:
    value = 10**18
    balance = value + 50_000 * 40 * GWEI
    cap = fees.max_fee_per_gas(20 * GWEI, 3, gas_limit=50_000, balance=balance, value=value)
    assert cap == 40 * GWEI


@pytest.mark.parametrize(
    ("latest", "pending", "live", "expected"),
    [
        (5, 5, [], 5),
        (5, 5, [5, 6], 7),
        (5, 5, [6], 5),
        (5, 7, [], 7),
        (5, 7, [7, 8], 9),
        (5, 5, [3, 4], 5),
        (5, 5, [5, 7], 6),
    ],
)
def test_the_nonce_passes_the_chain_the_mempool_and_live_orders_without_a_gap(
    latest: int, pending: int, live: list[int], expected: int
) -> None:
    assert next_nonce(latest, pending, OwnNonces(live=tuple(live))) == expected


@given(st.integers(0, 10**4), st.sets(st.integers(0, 10**4), max_size=30))
def test_a_nonce_is_never_used_twice(latest: int, live: set[int]) -> None:
    nonce = next_nonce(latest, latest, OwnNonces(live=tuple(live)))
    assert nonce >= latest
    assert nonce not in live


def test_a_route_is_first_tried_with_half_more_than_its_source_says() -> None:
    assert fees.first_gas_limit(400_000, 1) == 600_000
    assert fees.first_gas_limit(None, 1) == fees.first_gas_limit(7, 1) == 225_000
    assert fees.first_gas_limit(None, 3) == 525_000
    assert fees.first_gas_limit(10**9, 1) == 3_000_000


@pytest.mark.parametrize(
    ("limit", "used", "other"),
    [
        (250_000, 200_000, None),
        (249_999, 200_000, 250_000),
        (500_000, 21_000, None),  # modest: not worth a second simulation
        (500_001, 200_000, 250_000),
        (1_000_000, 400_000, None),
        (1_000_001, 400_000, 500_000),
        (GAS_LIMIT_CAP, GAS_LIMIT_CAP, None),
    ],
)
def test_a_limit_fits_what_was_used(limit: int, used: int, other: int | None) -> None:
    assert fees.other_gas_limit(limit, used, succeeded=True) == other


@pytest.mark.parametrize(
    ("limit", "used", "other"),
    [
        (225_000, 50_000, None),  # it reverted for another reason
        (225_000, 202_499, None),
        (225_000, 202_500, 900_000),
        (900_000, 900_000, 3_600_000),
        (12_000_000, 12_000_000, GAS_LIMIT_CAP),
        (GAS_LIMIT_CAP, GAS_LIMIT_CAP, None),
    ],
)
def test_a_call_that_used_up_its_gas_gets_more(limit: int, used: int, other: int | None) -> None:
    assert fees.other_gas_limit(limit, used, succeeded=False) == other


@pytest.mark.parametrize(
    ("limit", "used", "other"),
    [
        (705_000, 499_757, 2_820_000),  # captured at geth: with 1,000,000 it succeeds at 910,541
        (3_000_000, 50_000, 12_000_000),
        (12_000_000, 499_757, None),
        (12_000_000, 11_900_000, GAS_LIMIT_CAP),
        (GAS_LIMIT_CAP, GAS_LIMIT_CAP, None),
    ],
)
def test_from_amsterdam_on_a_failed_call_may_have_lacked_gas_that_was_given_back(
    limit: int, used: int, other: int | None
) -> None:
    found = fees.other_gas_limit(limit, used, succeeded=False, is_amsterdam=True)
    assert found == other


@given(st.integers(1, GAS_LIMIT_CAP), st.integers(1, GAS_LIMIT_CAP))
def test_the_limit_of_a_second_try_is_kept(limit: int, used: int) -> None:
    """The same use with the limit it asked for asks for no third."""
    other = fees.other_gas_limit(limit, used, succeeded=True)
    if other is not None:
        assert fees.other_gas_limit(other, used, succeeded=True) is None


@pytest.mark.parametrize(
    ("latest", "pending", "live", "at_large", "expected"),
    [
        (5, 5, [], [5], 5),
        (5, 6, [], [5], 5),
        (5, 8, [], [6, 7], 6),
        (5, 6, [5], [5], 6),
        (5, 5, [5, 6], [5, 7], 7),
        (6, 6, [], [5], 6),
        (5, 5, [], [7], 5),
    ],
)
def test_what_may_yet_be_mined_keeps_its_nonce_for_the_next_transaction(
    latest: int, pending: int, live: list[int], at_large: list[int], expected: int
) -> None:
    own = OwnNonces(tuple(live), tuple(at_large))
    assert next_nonce(latest, pending, own) == expected
