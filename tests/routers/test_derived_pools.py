"""Pools that must be what they say: 1inch's `unoswap`, and Velora's list of Uniswap V3 pools."""

from dataclasses import replace

import pytest

from quietswap.rules.routers.known_pools import v2_pairs, v3_pools
from quietswap.rules.routers.method import Measure
from quietswap.rules.safety.calldata import (
    DecodedCalldata,
    MalformedCalldata,
    UnboundCalldata,
    decode,
)
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address
from quietswap.rules.vendors import oneinch, velora
from tests.routers.router_calldata import OTHER_METHODS
from tests.vendors.oneinch import dex_word, unoswap
from tests.vendors.router import Swap
from tests.vendors.velora import v3_group

USDC = Address("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48")
DAI = Address("0x6B175474E89094C44Da98b954EedeAC495271d0F")
WALLET = Address("0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045")
STRANGER = Address("0x1234567890123456789012345678901234567890")
SWAP = Swap(sell=WETH, buy=USDC, amount=10**18, minimum=2_985_000_000, recipient=WALLET)
BACK = replace(SWAP, sell=USDC, buy=WETH)

MAINNET_V2 = {
    Address("0xB4e16d0168e52d35CaCD2c6185b44281Ec28C9Dc"),
    Address("0x397FF1542f962076d0BFE58eA045FfA2d347ACa0"),
}
"""USDC/WETH of Uniswap V2 and of Sushi, as block explorers name them."""
MAINNET_V3 = {
    Address("0xE0554a476A092703abdB3Ef35c80e0D76d32939F"),
    Address("0x88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640"),
    Address("0x8ad599c3A0ff1De082011EFDDc58f1908eb6e6D8"),
    Address("0x7BeA39867e4169DBe237d55C8242a8f2fcDcc387"),
}
"""USDC/WETH of Uniswap V3 at 1, 5, 30 and 100 bps."""


@pytest.mark.parametrize("pair", [(WETH, USDC), (USDC, WETH)])
def test_known_pools_are_mainnets(pair: tuple[Address, Address]) -> None:
    assert v2_pairs(*pair) == MAINNET_V2
    assert v3_pools(*pair) == MAINNET_V3


def bought(swap: Swap, wanted: Address | None = None) -> DecodedCalldata:
    return decode(oneinch.ROUTER, unoswap(swap), buy_token=wanted or swap.buy)


@pytest.mark.parametrize("swap", [SWAP, BACK], ids=["one_for_zero", "zero_for_one"])
@pytest.mark.parametrize(
    ("version", "pool"),
    [*((2, pool) for pool in sorted(MAINNET_V2)), *((3, pool) for pool in sorted(MAINNET_V3))],
)
def test_a_genuine_pool_proves_the_token_bought(swap: Swap, version: int, pool: Address) -> None:
    dex = dex_word(swap, version=version, pool=pool)
    terms = bought(replace(swap, dex=dex))
    assert terms == DecodedCalldata(
        swap.minimum, None, swap.sell, swap.buy, swap.amount, Measure.SELF, pool=pool
    )


@pytest.mark.parametrize(("version", "pool"), [(2, STRANGER), (3, STRANGER)])
def test_a_made_up_pool_is_refused(version: int, pool: Address) -> None:
    with pytest.raises(UnboundCalldata, match="not derived from a known factory"):
        bought(replace(SWAP, dex=dex_word(SWAP, version=version, pool=pool)))


def test_a_pool_of_the_other_kind_is_refused() -> None:
    """A V3 pool read as a pair, or the reverse, is not what it says."""
    for version, pool in ((2, min(MAINNET_V3)), (3, min(MAINNET_V2))):
        with pytest.raises(UnboundCalldata, match="not derived"):
            bought(replace(SWAP, dex=dex_word(SWAP, version=version, pool=pool)))


def test_a_genuine_pool_of_other_tokens_is_refused() -> None:
    for wanted in (DAI, STRANGER):
        with pytest.raises(UnboundCalldata, match="not derived"):
            bought(SWAP, wanted)
    with pytest.raises(UnboundCalldata, match="not derived"):
        bought(replace(SWAP, sell=DAI, dex=dex_word(SWAP)), USDC)


def test_a_pool_asked_to_sell_what_is_bought_is_refused() -> None:
    with pytest.raises(UnboundCalldata, match="asked to sell the token bought"):
        bought(replace(SWAP, dex=dex_word(SWAP) ^ 1 << 247))


def test_without_the_token_wanted_nothing_is_proven() -> None:
    with pytest.raises(UnboundCalldata, match="cannot be derived"):
        decode(oneinch.ROUTER, unoswap(SWAP))


def test_every_other_bit_of_the_pools_word_is_refused() -> None:
    honest = {*range(160, 192), 247, 251}  # fee numerator, direction, no wrap
    for bit in range(160, 253):
        if bit in honest - {247}:
            assert bought(replace(SWAP, dex=dex_word(SWAP) | 1 << bit)) == bought(SWAP)
        elif bit != 247:
            with pytest.raises(UnboundCalldata, match="unknown bits"):
                bought(replace(SWAP, dex=dex_word(SWAP) | 1 << bit))


@pytest.mark.parametrize("protocol", range(2, 8))
def test_curve_and_whatever_comes_are_refused(protocol: int) -> None:
    with pytest.raises(UnboundCalldata, match="neither of Uniswap"):
        bought(replace(SWAP, dex=dex_word(SWAP) | protocol << 253))


def test_a_dirty_token_word_is_malformed() -> None:
    whole = unoswap(SWAP)
    with pytest.raises(MalformedCalldata):
        decode(oneinch.ROUTER, whole[:4] + b"\x80" + whole[5:], buy_token=USDC)


def v3(*groups: bytes, swap: Swap = SWAP) -> DecodedCalldata:
    data = OTHER_METHODS["swapExactAmountInOnUniswapV3"](replace(swap, pools=b"".join(groups)))
    return decode(velora.ROUTER, data)


@pytest.mark.parametrize("swap", [SWAP, BACK])
def test_pools_that_lead_from_the_sold_to_the_bought_token_pass(swap: Swap) -> None:
    v3(v3_group(swap.sell, swap.buy), swap=swap)
    v3(v3_group(swap.sell, DAI), v3_group(DAI, swap.buy, 100), swap=swap)
    v3(
        v3_group(swap.sell, STRANGER),
        v3_group(STRANGER, DAI),
        v3_group(DAI, swap.buy),
        swap=swap,
    )


def test_pools_that_pull_another_token_are_refused() -> None:
    """srcToken says WETH, the callback would pull DAI: the theft of the review of the router."""
    with pytest.raises(UnboundCalldata, match=f"its pools sell {DAI}, not {WETH}"):
        v3(v3_group(DAI, USDC))
    with pytest.raises(UnboundCalldata, match=f"its pools sell {USDC}, not {WETH}"):
        v3(v3_group(USDC, WETH))


def test_pools_that_do_not_meet_or_end_elsewhere_are_refused() -> None:
    with pytest.raises(UnboundCalldata, match=f"its pools sell {STRANGER}, not {DAI}"):
        v3(v3_group(WETH, DAI), v3_group(STRANGER, USDC))
    with pytest.raises(UnboundCalldata, match=f"its pools buy {DAI}, not {USDC}"):
        v3(v3_group(WETH, DAI))


def test_a_pools_first_word_has_no_other_bits() -> None:
    group = v3_group(WETH, USDC)
    for bit in range(160, 255):
        head = int.from_bytes(group[:32]) | 1 << bit
        with pytest.raises(MalformedCalldata, match="more than direction"):
            v3(head.to_bytes(32) + group[32:])


def test_a_pools_tokens_are_in_order_and_clean() -> None:
    group = v3_group(WETH, USDC)
    low, high = group[:32], group[32:64]
    with pytest.raises(MalformedCalldata, match="not in order"):
        v3(high + low + group[64:])
    with pytest.raises(MalformedCalldata, match="not in order"):
        v3(high + high + group[64:])
    with pytest.raises(MalformedCalldata, match="more than an address"):
        v3(low + b"\1" + high[1:] + group[64:])


@pytest.mark.parametrize(("version", "size"), [(2, 64), (3, 96)])
def test_pools_come_in_whole_groups(version: int, size: int) -> None:
    encoded = OTHER_METHODS[f"swapExactAmountInOnUniswapV{version}"]
    group = v3_group(WETH, USDC)
    for pools in (b"", group[: size - 1], group[: size - 32], (group * 2)[: size + 1]):
        with pytest.raises(MalformedCalldata, match=f"whole groups of {size}"):
            decode(velora.ROUTER, encoded(replace(SWAP, pools=pools)))


def test_addresses_order_as_numbers_do() -> None:
    """The direction is compared as the contracts compare: as numbers, whatever the EIP-55 case."""
    low, high = (addresses.from_bytes(raw) for raw in (bytes(19) + b"\x0a", b"\x0b" + bytes(19)))
    swap = replace(SWAP, sell=low, buy=high)
    assert v3(v3_group(low, high), swap=swap).sell_token == low
    assert bought(replace(swap, dex=dex_word(swap))).buy_token == high
