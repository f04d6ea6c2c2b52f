"""The calldata decoder against short, shifted, dirty and random bytes."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietswap.rules.safety import calldata
from quietswap.rules.safety.calldata import MalformedCalldata, UnboundCalldata
from quietswap.rules.safety.methods import METHODS
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx import address as addresses
from quietswap.rules.vendors import velora
from tests.routers.decoding import ALL, SWAP, USDC, WALLET, decode, read
from tests.routers.router_calldata import ENCODERS, ROUTER_OF, WRITTEN


@pytest.mark.parametrize("method", ALL)
def test_truncation_is_hostile_or_harmless(method: str) -> None:
    """A cut copy is refused, or says exactly what the whole one says: never something else."""
    whole = ALL[method](SWAP)
    refused = 0
    for length in range(4, len(whole)):
        try:
            assert decode(method, whole[:length]) == decode(method, whole)
        except UnboundCalldata:
            refused += 1
    assert refused > 100


@pytest.mark.parametrize("method", sorted(ALL.keys() - {"uniswap", "legs of uniswap"}))
@given(tail=st.binary(max_size=40))
def test_bytes_behind_the_end_change_nothing(method: str, tail: bytes) -> None:
    """1inch appends four to all its calldata."""
    assert decode(method, ALL[method](SWAP) + tail) == read(method)


OFFSETS = {method: case.offset for method, case in WRITTEN.items() if case.offset is not None}


@pytest.mark.parametrize("method", OFFSETS)
@pytest.mark.parametrize("offset", [2**256 - 1, 2**256 - 32, 2**255, 2**64, 10**6])
def test_huge_and_negative_offsets_are_malformed(method: str, offset: int) -> None:
    whole = ALL[method](SWAP)
    first = 4 + 32 * OFFSETS[method]
    with pytest.raises(MalformedCalldata):
        decode(method, whole[:first] + offset.to_bytes(32) + whole[first + 32 :])


@pytest.mark.parametrize("length", [2**256 - 1, 2**255, 10**6])
def test_a_permit_longer_than_the_calldata_is_malformed(length: int) -> None:
    whole = ENCODERS["velora"](SWAP)
    at = 4 + int.from_bytes(whole[4 + 9 * 32 : 4 + 10 * 32])
    with pytest.raises(MalformedCalldata, match="longer than"):
        decode("velora", whole[:at] + length.to_bytes(32) + whole[at + 32 :])


@pytest.mark.parametrize("method", sorted(ALL))
def test_a_dirty_address_is_malformed(method: str) -> None:
    """Every word that holds the wallet or a token, with one upper bit set."""
    whole = ALL[method](SWAP)
    for address in (WALLET, WETH, USDC):
        at = whole.find(bytes(12) + addresses.to_bytes(address))
        assert at > 0
        with pytest.raises(MalformedCalldata, match="more than"):
            decode(method, whole[:at] + b"\1" + whole[at + 1 :])


_ROWS = sorted(METHODS)
_words = st.one_of(
    st.integers(0, 24).map(lambda n: (32 * n).to_bytes(32)),
    st.binary(min_size=20, max_size=20).map(lambda raw: bytes(12) + raw),
    st.binary(min_size=32, max_size=32),
)


@given(row=st.sampled_from(_ROWS), words=st.lists(_words, max_size=30), tail=st.binary(max_size=40))
def test_random_words_never_crash(
    row: tuple[addresses.Address, str], words: list[bytes], tail: bytes
) -> None:
    _survives(row[0], bytes.fromhex(row[1]) + b"".join(words) + tail)


@given(data=st.binary(max_size=400))
def test_random_bytes_never_crash(data: bytes) -> None:
    _survives(velora.ROUTER, data)


@given(method=st.sampled_from(sorted(ALL)), at=st.integers(4, 1500), byte=st.integers(0, 255))
def test_flipped_bytes_never_crash(method: str, at: int, byte: int) -> None:
    data = bytearray(ALL[method](SWAP))
    data[4 + at % (len(data) - 4)] = byte
    _survives(ROUTER_OF[method], bytes(data))


def _survives(router: addresses.Address, data: bytes) -> None:
    """Anything but terms or UnboundCalldata fails the test."""
    with contextlib.suppress(UnboundCalldata):
        terms = calldata.decode(router, data, buy_token=USDC)
        assert 0 < terms.min_buy_amount < 2**256
        assert terms.sell_amount > 0
