"""Which Settlers are genuine, from what 0x's Deployer returned."""

import pytest

from quietswap.rules.routers.settlers import DEPLOYER, NONE, OWNER_OF, PREV, genuine
from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.keccak import keccak256

CURRENT = bytes(12) + b"\x11" * 20
EARLIER = bytes(12) + b"\x22" * 20
ONE, OTHER = (addresses.from_bytes(word[12:]) for word in (CURRENT, EARLIER))


def test_the_calls_are_those_of_the_deployer() -> None:
    """Feature 2 is the taker-submitted Settler (0x-settler, README)."""
    assert keccak256(b"ownerOf(uint256)")[:4] + (2).to_bytes(32) == OWNER_OF
    assert keccak256(b"prev(uint128)")[:4] + (2).to_bytes(32) == PREV
    assert addresses.parse(DEPLOYER) == DEPLOYER


def test_the_current_and_the_previous_are_genuine() -> None:
    assert genuine(CURRENT, EARLIER) == {ONE, OTHER}


def test_without_an_earlier_one_the_current_is() -> None:
    assert genuine(CURRENT, None) == {ONE}


def test_a_pause_refuses_the_earlier_one_too() -> None:
    assert genuine(None, EARLIER) == NONE
    assert genuine(None, None) == NONE


@pytest.mark.parametrize(
    "word",
    [
        b"",
        bytes(32),
        CURRENT[:31],
        CURRENT + b"\0",
        b"\1" + CURRENT[1:],
        bytes(11) + b"\1" + bytes(20),
        CURRENT * 2,
    ],
    ids=["nothing", "nobody", "short", "long", "dirty", "dirty_nobody", "two"],
)
def test_anything_but_one_clean_address_is_no_answer(word: bytes) -> None:
    assert genuine(word, EARLIER) == NONE
    assert genuine(CURRENT, word) == {ONE}
