"""A token list is read as its schema says, or refused with the place of the fault."""

from pathlib import Path
from typing import Any

import pytest

from quietswap.rules.tokens.token_list_file import BadTokenList, parse_token_list, read_token_list
from tests.tokens.token_lists import (
    UNI,
    USDC,
    WETH,
    endless_list,
    entry,
    markup_list,
    token_list,
)


def test_a_good_list_is_read_and_other_chains_are_left_out() -> None:
    weth, usdc = parse_token_list(token_list())
    assert (weth.address, weth.symbol, weth.name, weth.decimals) == (
        WETH, "WETH", "Wrapped Ether", 18,
    )  # fmt: skip
    assert (weth.logo_uri, weth.lists) == (None, ("House Default",))
    assert (usdc.address, usdc.logo_uri) == (USDC, "https://tokens.test/usdc.png")


def test_a_member_that_the_schema_allows_at_the_top_is_ignored() -> None:
    assert len(parse_token_list(token_list(tokenMap={"1_x": entry()}, more=1))) == 2


def test_an_address_in_lower_case_needs_no_checksum() -> None:
    (token,) = parse_token_list(token_list(entry(address=USDC.lower())))
    assert token.address == USDC


def test_hostile_texts_of_a_valid_list_become_harmless() -> None:
    usdc, weth, uni = parse_token_list(markup_list())
    assert (usdc.name, usdc.symbol) == ("‹img src=x onerror=alert(1)›", "‹b›USDC‹/b›")
    assert (weth.name, weth.symbol) == ("TetherDSU Real", "HTEW")
    assert (uni.name, uni.symbol) == ("A" * 60, "Ú\u0301\u0301NI")
    assert [token.logo_uri for token in (usdc, weth)] == [None, None]


@pytest.mark.parametrize(
    ("logo", "is_shown"),
    [
        ("https://x.test/a-b_c~1/%C3%A9.png?v=1&w=(2)#top", True),
        ("ipfs://QmXttGpZrECX5qCyXbBQiqgQNytVGeZW5Anewvh2jc4psg", True),
        ("https://[2001:db8::1]:8443/logo.svg", True),
        ('https://x/"onerror="a', False),
        ("https://x/'onerror='a", False),
        ("https://x/<b>", False),
        ("https://x/`a`", False),
        ("https://x/\\a", False),
        ("https://x/%zz", False),
        ("data:text/html,x", False),
    ],
)
def test_a_logo_has_no_character_that_can_leave_an_attribute(logo: str, is_shown: bool) -> None:
    (token,) = parse_token_list(token_list(entry(logoURI=logo)))
    assert token.logo_uri == (logo if is_shown else None)


NO_TOKEN = "tokens[0]"
BREACHES: list[tuple[bytes, str]] = [
    (endless_list(), "tokens[0].name"),
    (b"\xff\xfe", "it is not JSON"),
    (b'{"name": "\xff"}', "it is not JSON"),
    (b'{"more": ' + b"[" * 100_000, "it is not JSON"),
    (b"[]", "the list"),
    (token_list(name="x" * 31), "name"),
    (token_list(name=""), "name"),
    (token_list(name="<b>"), "name"),
    (token_list(name=...), "the list: Object missing required field `name`"),
    (token_list(timestamp="yesterday"), "timestamp"),
    (token_list(timestamp="2026-10-01T12:00:00"), "timestamp"),
    (token_list(version={"major": 1, "minor": 2}), "version"),
    (token_list(version={"major": -1, "minor": 2, "patch": 0}), "version.major"),
    (token_list(version={"major": 1, "minor": 2, "patch": 0, "x": 1}), "version"),
    (token_list(tokens=[]), "tokens"),
    (token_list(tokens=[entry()] * 10_001), "tokens: "),
    (token_list(keywords=["x"] * 2), "keywords"),
    (token_list(keywords=[str(n) for n in range(21)]), "keywords"),
    (token_list(tags={f"t{n}": {"name": "n", "description": "d"} for n in range(21)}), "tags"),
    (token_list(tags={"t": {"name": "n"}}), "tags"),
    (token_list(logoURI="no uri"), "logoURI"),
    (token_list(entry(chainId=0)), "tokens[0].chainId"),
    (token_list(entry(chainId="1")), "tokens[0].chainId"),
    (token_list(entry(address="0x12")), "tokens[0].address"),
    (token_list(entry(address=USDC.replace("A0b", "a0B"))), "tokens[0].address"),
    (token_list(entry(address="So11111111111111111111111111111111111111112")), "tokens[0].address"),
    (token_list(entry(decimals=256)), "tokens[0].decimals"),
    (token_list(entry(decimals=6.5)), "tokens[0].decimals"),
    (token_list(entry(decimals=...)), NO_TOKEN),
    (token_list(entry(name="x" * 61)), "tokens[0].name"),
    (token_list(entry(name="two\nlines")), "tokens[0].name"),
    (token_list(entry(symbol="x" * 21)), "tokens[0].symbol"),
    (token_list(entry(symbol="A B")), "tokens[0].symbol"),
    (token_list(entry(logoURI="x")), "tokens[0].logoURI"),
    (token_list(entry(tags=["t"] * 11)), "tokens[0].tags"),
    (token_list(entry(tags=["bad tag"])), "tokens[0].tags"),
    (token_list(entry(extra=1)), NO_TOKEN),
    (token_list(entry(extensions={f"e{n}": 1 for n in range(11)})), "tokens[0].extensions"),
    (token_list(entry(extensions={"bad name": 1})), "tokens[0].extensions"),
    (token_list(entry(extensions={"e": "x" * 43})), "tokens[0].extensions.e"),
    (token_list(entry(extensions={"e": [1]})), "tokens[0].extensions.e"),
    (token_list(entry(extensions={"a": {"b": {"c": {}}}})), "tokens[0].extensions.a.b.c"),
]


@pytest.mark.parametrize(("body", "place"), BREACHES, ids=[str(n) for n in range(len(BREACHES))])
def test_a_breach_of_the_schema_is_named(body: bytes, place: str) -> None:
    with pytest.raises(BadTokenList) as caught:
        parse_token_list(body)
    assert str(caught.value).startswith(place), str(caught.value)


@pytest.mark.parametrize("members", [{"extensions": {"a": {"b": {"c": None}}}}, {"name": ""}])
def test_the_edges_of_the_schema_are_inside(members: dict[str, Any]) -> None:
    (token,) = parse_token_list(token_list(entry(**members)))
    assert token.address == USDC


def test_a_file_is_read_and_a_missing_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    path.write_bytes(token_list(entry(address=UNI)))
    assert [token.address for token in read_token_list(path)] == [UNI]
    with pytest.raises(BadTokenList, match="No such file"):
        read_token_list(tmp_path / "other.json")
    with pytest.raises(BadTokenList, match="directory"):
        read_token_list(tmp_path)


def test_a_file_above_the_size_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate((32 << 20) + 1)
    with pytest.raises(BadTokenList, match="larger than 32 MiB"):
        read_token_list(path)
