"""Which texts a reader takes for another one."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietswap.rules.foreign_text import harmless
from quietswap.rules.tokens.look_alikes import _SCRIPTS, LookAlikes, skeleton

LISTED = LookAlikes(["USDC", "WETH", "DAI", "USDT", "WBTC", "1INCH", "柴犬", "$"])
ALIKE = [
    "usdc", "USDС", "ＵＳＤＣ", "U S D C", "US-DC", "$USDC", "𝐔𝐒𝐃𝐂", "USD\u200bC", "ÚSDC",
    "US\u0336DC", "🆄🆂🅳🅲", "ⓊⓈⒹⒸ", "ᴜsᴅᴄ", "USDĆ", "US\u202eDC", "ꓴꓢꓓꓚ", "USD₮", "WЕТН",
    "₩ETH", "WBTϹ", "ДАІ", "DΑI", "Dаі", "DAl", "DA|", "ⅮAⅠ", "lINCH", "١INCH", "柴犬", "ꓓꓮꓲ",
]  # fmt: skip
OTHERS = [
    "",
    " ",
    "USD",
    "USDC.e",
    "aUSDC",
    "stETH",
    "Украї",
    "犬柴",
    "柴",
    "ЖУК",
    "XYZ",
    "�",
    "123",
]


@pytest.mark.parametrize("text", ALIKE)
def test_what_looks_like_a_listed_text_is_found(text: str) -> None:
    assert LISTED.has(text), skeleton(text)
    assert LISTED.has(harmless(text, 32)), "also after it was made harmless"


@pytest.mark.parametrize("text", OTHERS)
def test_what_looks_different_is_not(text: str) -> None:
    assert not LISTED.has(text), skeleton(text)


@pytest.mark.parametrize(("letters", "latin"), _SCRIPTS)
def test_each_letter_of_the_table_stands_for_one_of_ascii(letters: str, latin: str) -> None:
    assert len(letters) == len(latin)
    assert latin.isascii()
    assert not any(char.isascii() for char in letters)
    for letter, seen in zip(letters, latin, strict=True):
        word = f"A{seen}Z"
        assert LookAlikes([word]).has(f"A{letter}Z"), unicodedata.name(letter)


@given(st.text(max_size=12), st.text("USDCWETHAI01 .-", min_size=1, max_size=6))
def test_any_text_has_a_skeleton_and_looks_like_itself(text: str, listed: str) -> None:
    found = skeleton(text)
    assert all(char.isalnum() or char == "�" for char in found)
    known = LookAlikes([listed, text])
    assert known.has(text)
    assert known.has(listed.lower())
