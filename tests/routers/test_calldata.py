"""The calldata decoder against eth-abi, and against whatever an attacker writes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietswap.rules.safety import calldata
from quietswap.rules.safety.calldata import DecodedCalldata, MalformedCalldata, UnboundCalldata
from quietswap.rules.safety.methods import METHODS
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address
from tests.routers.decoding import ALL, ETHER, SWAP, USDC, WALLET, decode, read
from tests.routers.router_calldata import (
    APART,
    REFUSED_METHODS,
    ROUTER_OF,
    WRITTEN,
)
from tests.vendors import velora
from tests.vendors.router import NOBODY, Swap
from tests.vendors.zeroex import encoded as zeroex

VELORAS = ("velora", *velora.ROUTER.others)
PAYS_ITS_RECIPIENT = {method for method, case in WRITTEN.items() if not case.zero_is_sender}
KEEPS_DUST = {method for method, case in WRITTEN.items() if case.dust}

_addresses = st.binary(min_size=20, max_size=20).map(addresses.from_bytes)
_swaps = st.builds(
    Swap,
    sell=_addresses.filter(lambda found: found not in (NOBODY, ETHER)),
    buy=_addresses.filter(lambda found: found not in (NOBODY, ETHER)),
    amount=st.integers(1, 2**256 - 1),
    minimum=st.integers(2, 2**255),
    recipient=_addresses.filter(lambda found: found != NOBODY),
).filter(lambda swap: swap.sell != swap.buy)


@pytest.mark.parametrize("method", ALL)
@given(swap=_swaps)
def test_terms_are_read_as_written(method: str, swap: Swap) -> None:
    case = WRITTEN[method]
    assert decode(method, case.encode(swap)) == DecodedCalldata(
        min_buy_amount=swap.minimum - case.dust,
        recipient=swap.recipient,
        sell_token=swap.sell,
        buy_token=swap.buy,
        sell_amount=swap.amount,
        measure=case.measure,
        **case.reads(swap),
    )


@pytest.mark.parametrize("method", sorted(ALL.keys() - PAYS_ITS_RECIPIENT))
def test_zero_recipient_is_the_sender(method: str) -> None:
    assert read(method, recipient=NOBODY).recipient is None


@pytest.mark.parametrize("method", sorted(PAYS_ITS_RECIPIENT))
def test_zero_recipient_is_nobody_where_the_router_pays_it(method: str) -> None:
    assert read(method, recipient=NOBODY).recipient == NOBODY


@pytest.mark.parametrize("method", sorted(ALL))
@pytest.mark.parametrize("token", [ETHER, NOBODY])
@pytest.mark.parametrize("side", ["sell", "buy"])
def test_native_eth_is_refused(method: str, token: addresses.Address, side: str) -> None:
    with pytest.raises(UnboundCalldata, match="native ETH"):
        read(method, **{side: token})


@pytest.mark.parametrize("method", sorted(ALL.keys() - {"swapExactAmountInOnUniswapV3"}))
def test_the_same_token_twice_is_refused(method: str) -> None:
    with pytest.raises(UnboundCalldata, match="same token"):
        read(method, buy=WETH)


@pytest.mark.parametrize("method", sorted(ALL))
def test_an_amount_of_nothing_is_refused(method: str) -> None:
    with pytest.raises(UnboundCalldata, match="amount of 0"):
        read(method, amount=0)


@pytest.mark.parametrize("method", sorted(ALL))
def test_a_minimum_of_nothing_is_refused(method: str) -> None:
    with pytest.raises(UnboundCalldata, match="minimum is 0"):
        read(method, minimum=0)
    if method in KEEPS_DUST:
        with pytest.raises(UnboundCalldata, match="minimum is 0"):
            read(method, minimum=1)


FLAGS = {method: case.flags for method, case in WRITTEN.items() if case.flags is not None}


@pytest.mark.parametrize("method", FLAGS)
def test_every_flag_but_the_allowed_ones_is_refused(method: str) -> None:
    for bit in range(256):
        if FLAGS[method] >> bit & 1:
            assert read(method, flags=1 << bit) == read(method)
            continue
        with pytest.raises(UnboundCalldata, match="sell only a part" if bit == 0 else "flag 0x"):
            read(method, flags=1 << bit | FLAGS[method])


@pytest.mark.parametrize("flags", [0, 0x200, 0x80])
def test_a_fee_on_the_sold_token_is_refused(flags: int) -> None:
    with pytest.raises(UnboundCalldata, match="a fee from the token sold"):
        read("kyberswap", flags=flags, fee_bps=10)
    assert read("kyberswap", flags=flags | 0x40, fee_bps=10) == read("kyberswap")


@pytest.mark.parametrize("method", ["kyberswap", *VELORAS])
@pytest.mark.parametrize("permit", [b"\0", bytes(224), bytes(256), bytes(352)])
def test_a_permit_is_refused(method: str, permit: bytes) -> None:
    with pytest.raises(UnboundCalldata, match="permit"):
        read(method, permit=permit)


@pytest.mark.parametrize("method", VELORAS)
def test_fee_behind_the_minimum_is_taken_off(method: str) -> None:
    dust = method in KEEPS_DUST
    assert read(method, minimum=1_000_001, fee_bps=10).min_buy_amount == 1_000_001 - 1000 - dust


@pytest.mark.parametrize("fee_bps", [200, 201, 0x3FFF])
def test_no_fee_takes_more_than_augustus_allows(fee_bps: int) -> None:
    terms = read("velora", minimum=1_000_000, fee_bps=fee_bps)
    assert terms.min_buy_amount == 980_000 - 1


@pytest.mark.parametrize("method", VELORAS)
def test_a_quote_below_the_minimum_gives_the_partner_all_above_it(method: str) -> None:
    read(method, quoted=SWAP.minimum)
    for quoted in (0, 1, SWAP.minimum - 1):
        with pytest.raises(UnboundCalldata, match="quotedAmount"):
            read(method, quoted=quoted)


@pytest.mark.parametrize("method", VELORAS)
def test_the_bits_of_the_partners_word(method: str) -> None:
    """Surplus flags (90 to 95) take only what lies above the quote; unknown ones are refused."""
    for bit in range(256):
        if 14 <= bit < 90:
            with pytest.raises(UnboundCalldata, match="unknown bits"):
                read(method, partner=1 << bit)
            continue
        taken = SWAP.minimum * min(1 << bit, 200) // 10_000 if bit < 14 else 0
        least = SWAP.minimum - taken - (method in KEEPS_DUST)
        assert read(method, partner=1 << bit).min_buy_amount == least


@pytest.mark.parametrize("method", ["swapExactAmountInOnCurveV1", "swapExactAmountInOnCurveV2"])
def test_curves_wrap_flag_is_refused(method: str) -> None:
    for bit in range(256):
        if bit not in (161, 162):
            assert read(method, curve=1 << bit) == read(method)
            continue
        with pytest.raises(UnboundCalldata, match="wrap flag"):
            read(method, curve=1 << bit)


def test_zeroex_must_call_whom_it_lets_take() -> None:
    with pytest.raises(UnboundCalldata, match="another contract"):
        decode("zeroex", zeroex(SWAP, operator=WALLET))


@pytest.mark.parametrize("inner", [b"", b"\x1f\xff", b"\xa9\x05\x9c\xbb" + bytes(96)])
def test_zeroex_must_call_the_settler(inner: bytes) -> None:
    with pytest.raises(UnboundCalldata, match=r"Settler\.execute"):
        decode("zeroex", zeroex(SWAP, inner=inner))


@pytest.mark.parametrize("words", [0, 1, 2, 3, 4])
def test_zeroex_settler_call_cut_short(words: int) -> None:
    inner = bytes.fromhex("1fff991f") + b"".join(n.to_bytes(32) for n in (1, 2, 3, 160, 5)[:words])
    with pytest.raises(MalformedCalldata, match=r"ends before|beyond its end"):
        decode("zeroex", zeroex(SWAP, inner=inner))


@pytest.mark.parametrize("method", sorted(REFUSED_METHODS))
def test_a_method_refused_by_its_row_says_why(method: str) -> None:
    data = REFUSED_METHODS[method](SWAP)
    with pytest.raises(UnboundCalldata, match=METHODS[ROUTER_OF[method], data[:4].hex()].refuses):
        decode(method, data)


@pytest.mark.parametrize(("router", "selector"), METHODS)
def test_no_row_without_a_proof_is_read(router: Address, selector: str) -> None:
    """Whatever stands behind the selector: words that would be terms in any layout."""
    row = METHODS[router, selector]
    data = bytes.fromhex(selector) + bytes(32 * 20)
    with pytest.raises(UnboundCalldata) as caught:
        calldata.decode(router, data, buy_token=USDC)
    if row.layout is None:
        assert str(caught.value) == f"{row.name}: {row.refuses}"


@pytest.mark.parametrize("method", sorted(ALL))
def test_a_row_is_of_its_router_alone(method: str) -> None:
    """The same selector at another router, or at a stranger's, says nothing."""
    data = ALL[method](SWAP)
    for router in {*ROUTER_OF.values(), WALLET} - {ROUTER_OF[method]}:
        with pytest.raises(UnboundCalldata, match=r"not a known one|nothing is known"):
            calldata.decode(router, data, buy_token=USDC)


@pytest.mark.parametrize("data", [b"", b"\xe2", b"\xe2\x1f\xd0", b"\xde\xad\xbe\xef" + bytes(500)])
@pytest.mark.parametrize("router", sorted(set(ROUTER_OF.values())))
def test_an_unknown_selector_is_refused(router: addresses.Address, data: bytes) -> None:
    with pytest.raises(UnboundCalldata, match="not a known one"):
        calldata.decode(router, data)


def test_oracle_covers_every_row_that_is_read() -> None:
    encoders = ALL | APART
    written = {(ROUTER_OF[method], encode(SWAP)[:4].hex()) for method, encode in encoders.items()}
    assert {key for key, row in METHODS.items() if row.layout} == written
