"""Gas limits, fee caps and nonces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietswap.domain import fees
from quietswap.domain.transaction import GAS_LIMIT_CAP

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
    assert fees.next_nonce(latest, pending, live) == expected


@given(st.integers(0, 10**4), st.sets(st.integers(0, 10**4), max_size=30))
def test_a_nonce_is_never_used_twice(latest: int, live: set[int]) -> None:
    nonce = fees.next_nonce(latest, latest, live)
    assert nonce >= latest
    assert nonce not in live
