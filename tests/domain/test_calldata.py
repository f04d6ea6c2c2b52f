"""The calldata decoder against eth-abi, and against whatever an attacker writes."""

import contextlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietswap.domain import address as addresses
from quietswap.domain.calldata import _LAYOUTS, CalldataTerms, HostileCalldata, decode
from quietswap.domain.token import WETH
from tests.domain.router_calldata import (
    ENCODERS,
    NOBODY,
    OTHER_METHODS,
    Swap,
    unoswap,
    zeroex,
)

USDC = addresses.Address("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48")
WALLET = addresses.Address("0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045")
SWAP = Swap(sell=WETH, buy=USDC, amount=10**18, minimum=2_985_000_000, recipient=WALLET)
ALL = {**ENCODERS, **OTHER_METHODS}
WITH_FLAGS = ("kyberswap", "openocean", "oneinch", "swapGeneric", "swapSimpleMode")
WITH_FEE = ("velora", *(method for method in OTHER_METHODS if method.startswith("swapExact")))

_addresses = st.binary(min_size=20, max_size=20).map(addresses.from_bytes)
_amounts = st.integers(0, 2**256 - 1)
_swaps = st.builds(
    Swap,
    sell=_addresses,
    buy=_addresses,
    amount=_amounts,
    minimum=st.integers(0, 2**255),
    recipient=_addresses.filter(lambda found: found != NOBODY),
)


@pytest.mark.parametrize("method", ALL)
@given(swap=_swaps)
def test_terms_are_read_as_written(method: str, swap: Swap) -> None:
    assert decode(ALL[method](swap)) == CalldataTerms(
        min_buy_amount=swap.minimum,
        recipient=swap.recipient,
        sell_token=swap.sell,
        buy_token=swap.buy,
        sell_amount=swap.amount,
    )


@pytest.mark.parametrize("method", sorted(ALL.keys() - {"sushi", "zeroex"}))
def test_zero_recipient_is_the_sender(method: str) -> None:
    terms = decode(ALL[method](replace(SWAP, recipient=NOBODY)))
    assert terms is not None
    assert terms.recipient is None


@pytest.mark.parametrize("method", ["sushi", "zeroex"])
def test_zero_recipient_is_nobody_where_the_router_pays_it(method: str) -> None:
    terms = decode(ALL[method](replace(SWAP, recipient=NOBODY)))
    assert terms is not None
    assert terms.recipient == NOBODY


@pytest.mark.parametrize("method", WITH_FLAGS)
@pytest.mark.parametrize(("flags", "partial"), [(0, False), (1, True), (0xC0, False), (5, True)])
def test_partial_fill_is_seen(method: str, flags: int, partial: bool) -> None:
    terms = decode(ALL[method](replace(SWAP, flags=flags)))
    assert terms is not None
    assert terms.partial is partial


@pytest.mark.parametrize("method", WITH_FEE)
def test_fee_behind_the_minimum_is_taken_off(method: str) -> None:
    terms = decode(ALL[method](replace(SWAP, minimum=1_000_001, fee_bps=10)))
    assert terms is not None
    assert terms.min_buy_amount == 1_000_001 - 1000


def test_no_fee_takes_more_than_everything() -> None:
    terms = decode(ENCODERS["velora"](replace(SWAP, fee_bps=0x3FFF)))
    assert terms is not None
    assert terms.min_buy_amount == 0


def test_unoswap_names_neither_recipient_nor_bought_token() -> None:
    terms = decode(unoswap(SWAP))
    assert terms == CalldataTerms(SWAP.minimum, None, WETH, None, SWAP.amount)


def test_zeroex_must_call_whom_it_lets_take() -> None:
    with pytest.raises(HostileCalldata, match="another contract"):
        decode(zeroex(SWAP, operator=WALLET))


@pytest.mark.parametrize("inner", [b"", b"\x1f\xff", b"\xa9\x05\x9c\xbb" + bytes(96)])
def test_zeroex_must_call_the_settler(inner: bytes) -> None:
    with pytest.raises(HostileCalldata, match=r"Settler\.execute"):
        decode(zeroex(SWAP, inner=inner))


def test_zeroex_settler_call_cut_short() -> None:
    with pytest.raises(HostileCalldata, match="ends before"):
        decode(zeroex(SWAP, inner=bytes.fromhex("1fff991f") + bytes(64)))


@pytest.mark.parametrize("data", [b"", b"\xe2", b"\xe2\x1f\xd0", b"\xde\xad\xbe\xef" + bytes(500)])
def test_unknown_selector_says_nothing(data: bytes) -> None:
    assert decode(data) is None


@pytest.mark.parametrize("method", ALL)
def test_truncation_is_hostile_or_harmless(method: str) -> None:
    """A cut copy is refused, or says exactly what the whole one says: never something else."""
    whole = ALL[method](SWAP)
    refused = 0
    for length in range(4, len(whole), 7):
        try:
            assert decode(whole[:length]) == decode(whole)
        except HostileCalldata:
            refused += 1
    assert refused > 10


@pytest.mark.parametrize("method", ["kyberswap", "swapSimpleMode", "openocean", "zeroex"])
@pytest.mark.parametrize("offset", [2**256 - 1, 2**255, 2**64, 10**6])
def test_huge_offsets_are_hostile(method: str, offset: int) -> None:
    whole = ALL[method](SWAP)
    first = 4 + 32 * {"kyberswap": 0, "swapSimpleMode": 1, "openocean": 1, "zeroex": 4}[method]
    with pytest.raises(HostileCalldata):
        decode(whole[:first] + offset.to_bytes(32) + whole[first + 32 :])


def test_dirty_address_is_hostile() -> None:
    whole = ENCODERS["sushi"](SWAP)
    with pytest.raises(HostileCalldata, match="more than an address"):
        decode(whole[:4] + b"\1" + whole[5:])


_selectors = st.sampled_from([bytes.fromhex(key) for key in (*_LAYOUTS, "2213bc0b")])
_words = st.one_of(
    st.integers(0, 24).map(lambda n: (32 * n).to_bytes(32)),
    st.binary(min_size=20, max_size=20).map(lambda raw: bytes(12) + raw),
    st.binary(min_size=32, max_size=32),
)


@given(selector=_selectors, words=st.lists(_words, max_size=30), tail=st.binary(max_size=40))
def test_random_words_never_crash(selector: bytes, words: list[bytes], tail: bytes) -> None:
    _survives(selector + b"".join(words) + tail)


@given(data=st.binary(max_size=400))
def test_random_bytes_never_crash(data: bytes) -> None:
    _survives(data)


@given(method=st.sampled_from(sorted(ALL)), at=st.integers(4, 1500), byte=st.integers(0, 255))
def test_flipped_bytes_never_crash(method: str, at: int, byte: int) -> None:
    data = bytearray(ALL[method](SWAP))
    data[4 + at % (len(data) - 4)] = byte
    _survives(bytes(data))


def _survives(data: bytes) -> None:
    """Anything but terms, None or HostileCalldata fails the test."""
    with contextlib.suppress(HostileCalldata):
        terms = decode(data)
        assert terms is None or 0 <= terms.min_buy_amount < 2**256


def test_oracle_covers_every_layout() -> None:
    written = {ALL[method](SWAP)[:4].hex() for method in ALL} | {unoswap(SWAP)[:4].hex()}
    untested = {"8770ba91", "19367472"}  # unoswap2 and unoswap3: the same first three words
    assert {*_LAYOUTS, "2213bc0b"} == written | untested
