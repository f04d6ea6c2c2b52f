"""What a receipt's logs say about the wallet: sums, odd logs, and the reasons for no amount."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietswap.rules.chain.pool_reference import Reference, reference_of
from quietswap.rules.chain.received import (
    DEPOSIT,
    WITHDRAWAL,
    Arrival,
    ReceivedIssue,
    TokenLog,
    arrival,
    net_movements,
)
from quietswap.rules.safety.wallet_effects import APPROVAL, TRANSFER
from quietswap.rules.tokens.token import NATIVE, WETH
from quietswap.rules.tx.address import Address, from_bytes, to_bytes
from tests.stored_orders import USDC

_USDC, _WETH, _ETH = USDC.lower(), WETH.lower(), NATIVE.lower()
ME, POOL, OTHER = (from_bytes(bytes([n]) * 20) for n in (1, 2, 3))
TOKEN = "0x" + "09" * 20


def word(value: Address | int) -> bytes:
    return (value.to_bytes(32) if isinstance(value, int) else to_bytes(value)).rjust(32, b"\0")


def transfer(sender: Address, to: Address, amount: int, token: str = _USDC) -> TokenLog:
    return TokenLog(token, (TRANSFER, word(sender), word(to)), word(amount))


_accounts = st.sampled_from([ME, POOL, OTHER])
_moves = st.lists(
    st.tuples(
        _accounts,
        _accounts,
        st.integers(0, 2**256 - 1),
        st.sampled_from([_USDC, TOKEN]),
        st.booleans(),
    ),
    max_size=40,
)


@given(_moves)
def test_the_sum_is_what_a_ledger_says(
    moves: list[tuple[Address, Address, int, str, bool]],
) -> None:
    ledger = {_USDC: 0, TOKEN: 0}
    logs = []
    for sender, to, amount, token, is_indexed in moves:
        topics = (TRANSFER, word(sender), word(to)) if is_indexed else (TRANSFER,)
        data = word(amount) if is_indexed else word(sender) + word(to) + word(amount)
        logs.append(TokenLog(token, topics, data))
        ledger[token] += amount * (to == ME) - amount * (sender == ME)
    net = net_movements(ME, logs)
    assert {token: net.get(token, 0) for token in ledger} == ledger


def test_the_logs_of_eth_after_eip_7708_are_no_token() -> None:
    """A synthetic unwrap after the fork: WETH's ETH leaves a log of its own, which adds nothing."""
    system = "0x" + "f" * 39 + "e"
    logs = [
        transfer(WETH, ME, 7, system),
        TokenLog(_WETH, (WITHDRAWAL, word(ME)), word(7)),
        transfer(ME, POOL, 1, system),
    ]
    assert net_movements(ME, logs) == {_WETH: -7, NATIVE.lower(): 7}


@given(st.permutations([transfer(POOL, ME, 5), transfer(ME, POOL, 7), transfer(OTHER, ME, 11)]))
def test_the_order_of_the_logs_does_not_matter(logs: list[TokenLog]) -> None:
    assert net_movements(ME, logs) == {_USDC: 9}


def test_other_logs_do_not_count() -> None:
    logs = [
        transfer(POOL, OTHER, 5),
        TokenLog(_USDC, (APPROVAL, word(ME), word(POOL)), word(9)),
        TokenLog(_USDC, (), word(ME)),
        TokenLog(TOKEN, (TRANSFER, word(POOL), word(ME), word(77)), b""),  # an NFT
        TokenLog(TOKEN, (DEPOSIT, word(ME)), word(9)),  # not WETH's
    ]
    assert net_movements(ME, logs) == {}


@pytest.mark.parametrize(
    "log",
    [
        TokenLog(_USDC, (TRANSFER, word(POOL), word(ME)), b""),
        TokenLog(_USDC, (TRANSFER, word(POOL), word(ME)), word(1) + word(2)),
        TokenLog(_USDC, (TRANSFER, word(POOL), word(ME)), word(1)[:31]),
        TokenLog(_USDC, (TRANSFER, word(POOL)), word(ME) + word(1)),
        TokenLog(_USDC, (TRANSFER, word(POOL), word(ME), word(1)), word(1)),
        TokenLog(_USDC, (TRANSFER,), word(POOL) + word(ME) + word(1) + b"\0"),
    ],
)
def test_a_log_of_unusual_form_makes_the_amount_unknown(log: TokenLog) -> None:
    net = net_movements(ME, [transfer(POOL, ME, 5), log, transfer(POOL, ME, 6)])
    assert net == {_USDC: None}
    assert said(USDC, net) == Arrival(issue=ReceivedIssue.UNREADABLE)
    assert net_movements(OTHER, [log]) == {}


def test_weth_counts_deposits_and_withdrawals_of_the_wallet() -> None:
    logs = [
        TokenLog(_WETH, (DEPOSIT, word(ME)), word(10)),
        TokenLog(_WETH, (DEPOSIT, word(POOL)), word(50)),
        TokenLog(_WETH, (WITHDRAWAL, word(ME)), word(3)),
        TokenLog(_WETH, (WITHDRAWAL, word(POOL)), word(60)),
        transfer(POOL, ME, 100, _WETH),
    ]
    assert net_movements(ME, logs) == {_WETH: 107, _ETH: 3}


def said(token: Address, net: dict[str, int | None] | None, **changes: bool) -> Arrival:
    plain = {"from_weth": False, "succeeded": True, "is_sender": True} | changes
    return arrival(token, movements=net, **plain)


def test_what_arrived_or_why_it_is_unknown() -> None:
    assert said(USDC, {_USDC: 5, TOKEN: None}) == Arrival(5)
    assert said(USDC, {}) == Arrival(0)
    assert said(USDC, None, succeeded=False) == Arrival(0)
    assert said(USDC, None) == Arrival(issue=ReceivedIssue.NO_LOGS)
    assert said(USDC, {_USDC: 5}, is_sender=False) == Arrival(issue=ReceivedIssue.OTHER_SENDER)
    assert said(USDC, {_USDC: -1}) == Arrival(issue=ReceivedIssue.NET_LOSS)
    assert said(USDC, {_USDC: 2**256 - 1}) == Arrival(2**256 - 1)
    assert said(USDC, {_USDC: 2**256}) == Arrival(issue=ReceivedIssue.OUT_OF_RANGE)


@pytest.mark.parametrize("logs_eth", [False, True])
def test_a_swap_that_unwraps_a_part_received_all_of_it(logs_eth: bool) -> None:
    """Before and after EIP-7708: the ETH is counted once, by the log of WETH."""
    system = "0x" + "f" * 39 + "e"
    logs = [
        transfer(POOL, ME, 100, _WETH),
        *([transfer(WETH, ME, 97, system)] if logs_eth else []),
        TokenLog(_WETH, (WITHDRAWAL, word(ME)), word(97)),
    ]
    net = net_movements(ME, logs)
    assert said(WETH, net, unwraps=True) == Arrival(100)
    assert said(WETH, net) == Arrival(3)
    assert said(NATIVE, net, from_weth=True) == Arrival(97)
    unread = {_WETH: 3, _ETH: None}
    assert said(WETH, unread, unwraps=True) == Arrival(issue=ReceivedIssue.UNREADABLE)


@pytest.mark.parametrize("logs_eth", [False, True])
def test_a_swap_that_wraps_what_it_sells_received_what_it_bought(logs_eth: bool) -> None:
    system = "0x" + "f" * 39 + "e"
    logs = [
        *([transfer(ME, WETH, 9, system)] if logs_eth else []),
        TokenLog(_WETH, (DEPOSIT, word(ME)), word(9)),
        transfer(ME, POOL, 9, _WETH),
        transfer(POOL, ME, 5),
    ]
    assert net_movements(ME, logs) == {_WETH: 0, _USDC: 5}


def test_eth_is_known_for_an_unwrap_alone() -> None:
    assert said(NATIVE, {_ETH: 7}, from_weth=True) == Arrival(7)
    assert said(NATIVE, {_ETH: 7}) == Arrival(issue=ReceivedIssue.ETH_NOT_LOGGED)


ONE = Decimal("1e-18")


@pytest.mark.parametrize(
    ("sold", "bought", "ether", "expected"),
    [
        (ONE, ONE, ONE, Reference(7, 7)),
        (3 * ONE, ONE, 2 * ONE, Reference(21, 10)),
        (None, ONE, ONE, None),
        (ONE, Decimal(0), ONE, None),
        (ONE, ONE, None, None),
        (ONE, 8 * ONE, ONE, None),  # less than one smallest unit is no price
        (Decimal("1e77"), ONE, ONE, None),
    ],
)
def test_a_reference_is_worth_what_was_sold(
    sold: Decimal | None, bought: Decimal | None, ether: Decimal | None, expected: Reference | None
) -> None:
    assert reference_of(7, sold, bought, ether) == expected
