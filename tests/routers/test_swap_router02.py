"""SwapRouter02's calls against eth-abi, and what is refused of them."""

import contextlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietswap.rules.routers.known_pools import V3_FEES, v2_pair, v3_pool
from quietswap.rules.routers.swap_router02 import Leg, encode, read
from quietswap.rules.safety.calldata import UnboundCalldata, payer
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx.address import Address, from_bytes, to_bytes
from quietswap.rules.vendors.uniswap import ROUTER as UNISWAP
from tests.routers.decoding import SWAP, USDC, WALLET, decode
from tests.vendors.router import EXECUTOR, call
from tests.vendors.uniswap import DEADLINE, ITSELF, multicall
from tests.vendors.uniswap import encoded_leg as uniswap_leg

SDK = json.loads((Path(__file__).parent / "uniswap_sdk.json").read_text("utf-8"))
_addresses = st.binary(min_size=20, max_size=20).map(from_bytes)


@st.composite
def _legs(draw: st.DrawFn) -> Leg:
    tokens = (*draw(st.lists(_addresses, min_size=1, max_size=3)), USDC)
    fees = draw(st.sampled_from([(), tuple(V3_FEES[: len(tokens) - 1])]))
    return Leg(draw(st.integers(0, 2**256 - 1)), tokens, fees)


@given(
    legs=st.lists(_legs(), min_size=1, max_size=4),
    deadline=st.integers(0, 2**256 - 1),
    minimum=st.integers(0, 2**256 - 1),
)
def test_a_call_is_what_its_signature_says(legs: list[Leg], deadline: int, minimum: int) -> None:
    assert encode(legs, deadline, minimum, WALLET) == multicall(legs, deadline, minimum, WALLET)


@pytest.mark.parametrize("case", SDK, ids=[case["name"] for case in SDK])
def test_it_is_what_uniswaps_own_library_writes(case: dict[str, Any]) -> None:
    """`SwapRouter.swapCallParameters` of npm's `@uniswap/router-sdk` 2.11.5, slippage 0.

    It pays two legs to the wallet, each with a minimum; from three on it sweeps, as here from two.
    """
    legs = [Leg(int(amount), tuple(tokens), tuple(fees)) for amount, tokens, fees in case["legs"]]
    made = encode(legs, case["deadline"], int(case["minimum"]), case["wallet"])
    assert "0x" + made.hex() == case["data"]
    assert read(made).legs == tuple(legs)


def test_fees_must_match_the_tokens() -> None:
    with pytest.raises(ValueError, match="zip"):
        encode([Leg(1, (USDC, WALLET), (500, 500))], 1, 1, WALLET)


HALF = SWAP.amount // 2
SINGLE = Leg(HALF, (WETH, USDC), (500,))
PATH = Leg(HALF, (WETH, EXECUTOR, USDC), (3000, 100))
PAIR = Leg(HALF, (WETH, USDC))
PAIRS = Leg(HALF, (WETH, EXECUTOR, USDC))
SWEEP = call("sweepToken", ("address", "uint256", "address"), USDC, SWAP.minimum, WALLET)


def around(*calls: bytes) -> bytes:
    return call("multicall", ("uint256", "bytes[]"), DEADLINE, calls)


def paying(to: Address, *legs: Leg) -> list[bytes]:
    return [uniswap_leg(leg, 0, to) for leg in legs]


@pytest.mark.parametrize(
    ("legs", "pool"),
    [
        ([SINGLE], v3_pool(WETH, USDC, 500)),
        ([PATH], v3_pool(EXECUTOR, USDC, 100)),
        ([PAIR], v2_pair(WETH, USDC)),
        ([PAIRS], None),
        ([SINGLE, PATH, PAIR, PAIRS], None),
    ],
)
def test_what_is_encoded_is_read(legs: list[Leg], pool: Address | None) -> None:
    data = encode(legs, DEADLINE, SWAP.minimum, WALLET)
    terms = decode("uniswap", data)
    assert (terms.sell_token, terms.buy_token, terms.recipient) == (WETH, USDC, WALLET)
    assert (terms.sell_amount, terms.min_buy_amount) == (HALF * len(legs), SWAP.minimum)
    assert (terms.pool, terms.deadline) == (pool, DEADLINE)
    assert payer(UNISWAP, data, USDC) == (pool or UNISWAP)


def _swapped(data: bytes, old: bytes, new: bytes) -> bytes:
    assert data.count(old) >= 1
    return data.replace(old, new, 1)


ONE = encode([SINGLE], DEADLINE, SWAP.minimum, WALLET)
MANY = encode([SINGLE, PATH, PAIRS], DEADLINE, SWAP.minimum, WALLET)
WORD_500 = (500).to_bytes(32)
REFUSED = {
    "nothing": (around(), "its multicall calls 0x$"),
    "sweep alone": (around(SWEEP), "its multicall calls 0xdf2ab5bb"),
    "legs without sweep": (around(*paying(WALLET, SINGLE, PAIR)), "encoding is not the accepted"),
    "sweep before a leg": (around(SWEEP, *paying(WALLET, SINGLE)), "encoding is not the accepted"),
    "one leg to itself": (
        around(uniswap_leg(SINGLE, SWAP.minimum, UNISWAP), SWEEP),
        f"a leg pays {UNISWAP}",
    ),
    "one pool and sweep": (
        around(*paying(ITSELF, SINGLE), SWEEP),
        "encoding is not the accepted",
    ),
    "two V2 pools to the wallet": (
        around(uniswap_leg(PAIRS, SWAP.minimum, WALLET)),
        "encoding is not the accepted",
    ),
    "a leg to the wallet": (around(*paying(WALLET, SINGLE, PAIR), SWEEP), f"a leg pays {WALLET}"),
    "a leg to a thief": (
        around(*paying(ITSELF, SINGLE), *paying(EXECUTOR, PAIR), SWEEP),
        f"a leg pays {EXECUTOR}",
    ),
    "another sweep": (
        around(
            *paying(ITSELF, SINGLE, PAIR),
            call("sweepToken", ("address", "uint256"), USDC, 1),
        ),
        "its multicall calls 0xe90a182f",
    ),
    "a sweep of another token": (
        _swapped(MANY, SWEEP[:36], SWEEP[:16] + to_bytes(WETH)),
        "a leg buys",
    ),
    "a leg that sells another": (
        around(*paying(ITSELF, replace(PAIR, tokens=(EXECUTOR, USDC)), SINGLE), SWEEP),
        "do not sell the same",
    ),
    "a leg that buys another": (
        around(*paying(ITSELF, replace(PAIR, tokens=(WETH, EXECUTOR)), SINGLE), SWEEP),
        "a leg buys",
    ),
    "a leg of all it has": (
        encode([SINGLE, replace(PAIR, amount=0)], DEADLINE, 1, WALLET),
        "amount of 0",
    ),
    "a fee of no pool": (
        encode([replace(SINGLE, fees=(400,))], DEADLINE, 1, WALLET),
        "no pools with a fee of 400",
    ),
    "a fee beyond its bits": (
        _swapped(ONE, WORD_500, b"\1" + WORD_500[1:]),
        "no pools with a fee of",
    ),
    "a price limit": (
        _swapped(
            ONE,
            SWAP.minimum.to_bytes(32) + bytes(32),
            SWAP.minimum.to_bytes(32) + b"\0" * 31 + b"\1",
        ),
        "encoding is not the accepted",
    ),
    "an amount in the sweep form's leg": (
        around(
            uniswap_leg(SINGLE, 1, ITSELF),
            *paying(ITSELF, PAIR),
            SWEEP,
        ),
        "encoding is not the accepted",
    ),
    "another call first": (
        around(call("refundETH", ()), *paying(ITSELF, SINGLE), SWEEP),
        "calls 0x12210e8a",
    ),
    "a permit": (around(bytes.fromhex("f3995c67") + bytes(192), SWEEP), "calls 0xf3995c67"),
    "a pull": (around(call("pull", ("address", "uint256"), WETH, 1), SWEEP), "calls 0xf2d5d56b"),
    "a multicall within": (around(ONE), "calls 0x5ae401dc"),
    "too many": (encode([SINGLE] * 16, DEADLINE, 1, WALLET), "too many parts"),
    "a path of one pool": (
        around(
            call(
                "exactInput",
                ("(bytes,address,uint256,uint256)",),
                (to_bytes(WETH) + bytes.fromhex("0001f4") + to_bytes(USDC), WALLET, HALF, 1),
            )
        ),
        "encoding is not the accepted",
    ),
    "a path with a half pool": (
        around(
            call("exactInput", ("(bytes,address,uint256,uint256)",), (bytes(42), WALLET, HALF, 1))
        ),
        "no whole pools",
    ),
    "a path of one token": (
        around(uniswap_leg(replace(PAIR, tokens=(USDC,)), 1, WALLET)),
        "a path has no pool",
    ),
    "bytes behind it": (ONE + b"\0", "encoding is not the accepted"),
    "bytes behind a call": (
        around(uniswap_leg(SINGLE, SWAP.minimum, WALLET) + b"\0" * 32),
        "encoding is not the accepted",
    ),
    "padding that is not zero": (ONE[:-1] + b"\1", "encoding is not the accepted"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_everything_else_is_refused(name: str) -> None:
    data, rule = REFUSED[name]
    with pytest.raises(UnboundCalldata, match=rule):
        decode("uniswap", data)


@pytest.mark.parametrize("wrong", [32, 96, 65])
def test_a_moved_array_is_refused(wrong: int) -> None:
    """Overlapping or shifted data that reads as the same terms, or not at all."""
    data = ONE[:36] + wrong.to_bytes(32) + ONE[68:]
    with pytest.raises(UnboundCalldata):
        decode("uniswap", data)


def test_two_heads_may_not_share_a_leg() -> None:
    """The second leg's offset points at the first one: twice the same bytes."""
    twice = encode([SINGLE, SINGLE], DEADLINE, SWAP.minimum, WALLET)
    heads = 4 + 96
    shared = twice[: heads + 32] + twice[heads : heads + 32] + twice[heads + 64 :]
    with pytest.raises(UnboundCalldata, match="encoding is not the accepted"):
        decode("uniswap", shared)


@given(at=st.integers(0, 4000), byte=st.integers(0, 255), many=st.booleans())
def test_a_changed_byte_changes_the_terms_or_is_refused(at: int, byte: int, many: bool) -> None:
    whole = MANY if many else ONE
    at %= len(whole)
    changed = whole[:at] + bytes([byte]) + whole[at + 1 :]
    if changed == whole:
        return
    with contextlib.suppress(UnboundCalldata):
        assert read(changed) != read(whole)
