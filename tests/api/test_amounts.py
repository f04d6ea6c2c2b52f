"""Amounts and addresses as clients write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietswap.rules import amounts
from quietswap.rules.errors.requests import InvalidTokenAddress, NativeEthNotSupported
from quietswap.rules.quotes.swap_tokens import parse_token
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx import address as addresses

REFUSED = [
    "", "0", "00", "-1", "+1", " 1", "1 ", "1e18", "1_000", "0x10", "NaN", "inf", "1.0", "٣",
    "１", "1\n", "²", str(2**255), "9" * 1_000_000,
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_a_plain_positive_integer_is_refused(text: str) -> None:
    with pytest.raises(amounts.BadAmount):
        amounts.parse_units(text)


def test_a_long_text_is_refused_by_its_length() -> None:
    """In quadratic time these digits would take hours, and pytest would end the test."""
    with pytest.raises(amounts.BadAmount):
        amounts.parse_units("9" * 50_000_000)


@pytest.mark.parametrize("text", ["1", "0001", str(amounts.AMOUNT_MAX)])
def test_the_full_range_passes(text: str) -> None:
    assert amounts.parse_units(text) == int(text)


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "0.0",
        ".5",
        "1.",
        "-1",
        "1e3",
        "0." + "1" * 19,
        "٣.٥",
        "1,5",
        "1.2.3",
        "9" * 10**6,
        amounts.format_ether(2**255),
    ],
)
def test_what_is_not_a_positive_ether_amount_is_refused(text: str) -> None:
    with pytest.raises(amounts.BadAmount):
        amounts.parse_ether(text)


@given(st.integers(1, amounts.AMOUNT_MAX))
def test_ether_survives_the_round_trip(wei: int) -> None:
    assert amounts.parse_ether(amounts.format_ether(wei)) == wei


@given(st.integers(0, 2**256 - 1), st.integers(1, 5000))
def test_the_minimum_is_the_exact_floor(amount: int, bps: int) -> None:
    least = amounts.less_slippage(amount, bps)
    assert least * 10_000 <= amount * (10_000 - bps) < (least + 1) * 10_000


@given(st.binary(min_size=20, max_size=20))
def test_a_checksummed_address_parses_to_itself(raw: bytes) -> None:
    address = addresses.from_bytes(raw)
    assert addresses.parse(address) == address
    assert addresses.to_bytes(address) == raw


def test_the_checksums_of_eip_55() -> None:
    for known in (
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
        "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
    ):
        assert addresses.from_any_case(known.lower()) == known


@pytest.mark.parametrize("text", [WETH.lower(), WETH.upper(), WETH[:-1], WETH + "0", "0x", "WETH"])
def test_a_token_address_must_be_checksummed(text: str) -> None:
    with pytest.raises(InvalidTokenAddress) as refusal:
        parse_token(text, "sellToken")
    assert refusal.value.details["field"] == "sellToken"


@pytest.mark.parametrize("text", ["0x" + "0" * 40, "0x" + "e" * 40, "0x" + "E" * 40])
def test_the_placeholders_of_native_eth_are_refused_by_name(text: str) -> None:
    with pytest.raises(NativeEthNotSupported):
        parse_token(text, "buyToken")
