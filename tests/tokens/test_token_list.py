"""Listed tokens: harmless text, search, and what is known of a token's code."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietswap.rules.foreign_text import harmless
from quietswap.rules.tokens.token import WETH, TokenWarning, TransferFee, own_warnings
from quietswap.rules.tokens.token_list import BUILT_IN, ListedToken, TokenCatalogue
from quietswap.rules.tx.address import Address
from tests.stored_orders import USDC

OTHER = Address("0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("USD Coin", "USD Coin"),
        ("<script>alert(1)</script>", "‹script›alert(1)‹/script›"),
        ("\" onerror='x' `y`", "” onerror=’x’ ’y’"),
        ("US\u202eDC\u2066\u200b", "USDC"),
        ("a\x00b\x1b[31mc", "ab[31mc"),
        ("two\nlines\u2028three", "two lines three"),
        ("  many   blanks ", "many blanks"),
        ("e" + "\u0301" * 200 + "x", "é\u0301\u0301x"),
        ("\ud800lone", "lone"),
        ("AT&T Ünïcode 币", "AT&T Ünïcode 币"),
        ("x" * 10_000, "x" * 40),
    ],
)
def test_hostile_text_becomes_harmless(text: str, shown: str) -> None:
    assert harmless(text, 40) == shown


@given(st.text(max_size=300), st.integers(1, 60))
def test_any_text_is_bounded_and_on_one_line(text: str, limit: int) -> None:
    shown = harmless(text, limit)
    assert len(shown) <= limit
    assert not set(shown) & set("<>\"'`\n\r")
    assert all(unicodedata.category(char)[0] != "C" for char in shown)
    assert harmless(shown, limit) == shown or unicodedata.normalize("NFC", shown) != shown


def found(text: str, *tokens: ListedToken) -> list[str]:
    return [token.symbol for token in TokenCatalogue(tokens).search(text)]


def listed(symbol: str, name: str, number: int = 1) -> ListedToken:
    return ListedToken(Address(f"0x{number:040x}"), symbol, name, 18)


def test_a_search_puts_the_nearest_first() -> None:
    tokens = (
        listed("xUSD", "Stable of dai", 1),
        listed("sDAI", "Savings Dai", 2),
        listed("DAIX", "Other", 3),
        listed("YYY", "Dai of another", 4),
        listed("DAI", "Dai Stablecoin", 5),
    )
    assert found("dai", *tokens) == ["DAI", "DAIX", "YYY", "xUSD", "sDAI"]
    assert found("  ", *tokens) == ["xUSD", "sDAI", "DAIX", "YYY", "DAI"]
    assert found("nothing", *tokens) == []
    assert found("0x000000000000000000000000000000000000000", *tokens) == [
        "xUSD", "sDAI", "DAIX", "YYY", "DAI",
    ]  # fmt: skip


def test_of_a_token_in_two_lists_the_first_counts() -> None:
    first = ListedToken(WETH, "WETH", "Wrapped Ether", 18, lists=("A",))
    second = ListedToken(WETH, "ETHW", "Another name", 8, lists=("B",))
    catalogue = TokenCatalogue([first, second])
    token = catalogue.get(WETH)
    assert token
    assert (token.symbol, token.decimals, token.lists) == ("WETH", 18, ("A", "B"))
    assert catalogue.has_symbol("weth")
    assert not catalogue.has_symbol("ETHW")
    assert catalogue.get(OTHER) is None


def test_without_a_list_five_tokens_are_known() -> None:
    assert {token.symbol for token in BUILT_IN} == {"WETH", "USDC", "USDT", "DAI", "WBTC"}


@pytest.mark.parametrize(
    ("address", "fee", "warnings"),
    [
        (WETH, None, []),
        (USDC, None, [TokenWarning.RESTRICTED]),
        (USDC, TransferFee(bps=25), [TokenWarning.FEE, TokenWarning.RESTRICTED]),
        (OTHER, None, [TokenWarning.FEE_UNKNOWN, TokenWarning.RESTRICTED_UNKNOWN]),
        (OTHER, TransferFee(), [TokenWarning.FEE_UNKNOWN, TokenWarning.RESTRICTED_UNKNOWN]),
        (OTHER, TransferFee(bps=0), [TokenWarning.RESTRICTED_UNKNOWN]),
        (OTHER, TransferFee(reverts=True), [TokenWarning.REVERTS, TokenWarning.RESTRICTED_UNKNOWN]),
    ],
)
def test_what_was_not_checked_is_said_to_be_unknown(
    address: Address, fee: TransferFee | None, warnings: list[TokenWarning]
) -> None:
    assert own_warnings(address, fee) == warnings
