"""SwapRouter02's calls against eth-abi."""

import pytest
from eth_abi.abi import encode as abi_encode
from hypothesis import given
from hypothesis import strategies as st

from quietswap.chain.address import Address, from_bytes, to_bytes
from quietswap.routers.known_pools import V3_FEES
from quietswap.routers.swap_router02 import Leg, encode
from tests.domain.decoding import USDC, WALLET
from tests.domain.router_calldata import call

ITSELF = Address("0x0000000000000000000000000000000000000002")
_addresses = st.binary(min_size=20, max_size=20).map(from_bytes)


@st.composite
def _legs(draw: st.DrawFn) -> Leg:
    tokens = (*draw(st.lists(_addresses, min_size=1, max_size=3)), USDC)
    fees = draw(st.sampled_from([(), tuple(V3_FEES[: len(tokens) - 1])]))
    return Leg(draw(st.integers(0, 2**256 - 1)), tokens, fees)


def by_signature(legs: list[Leg], deadline: int, minimum: int, wallet: Address) -> bytes:
    """Return the call as eth-abi encodes it from the router's signatures."""
    if len(legs) == 1:
        calls = [_leg(legs[0], minimum, wallet)]
    else:
        calls = [_leg(leg, 0, ITSELF) for leg in legs]
        sweep = ("sweepToken", ("address", "uint256", "address"), USDC, minimum, wallet)
        calls.append(call(*sweep))
    return call("multicall", ("uint256", "bytes[]"), deadline, calls)


def _leg(leg: Leg, minimum: int, to: Address) -> bytes:
    if not leg.fees:
        types = ("uint256", "uint256", "address[]", "address")
        return call("swapExactTokensForTokens", types, leg.amount, minimum, leg.tokens, to)
    if len(leg.fees) == 1:
        words = (*leg.tokens, leg.fees[0], to, leg.amount, minimum, 0)
        single = "(address,address,uint24,address,uint256,uint256,uint160)"
        return call("exactInputSingle", (single,), words)
    path = to_bytes(leg.tokens[0])
    for fee, token in zip(leg.fees, leg.tokens[1:], strict=True):
        path += abi_encode(["uint24"], [fee])[-3:] + to_bytes(token)
    return call("exactInput", ("(bytes,address,uint256,uint256)",), (path, to, leg.amount, minimum))


@given(
    legs=st.lists(_legs(), min_size=1, max_size=4),
    deadline=st.integers(0, 2**256 - 1),
    minimum=st.integers(0, 2**256 - 1),
)
def test_a_call_is_what_its_signature_says(legs: list[Leg], deadline: int, minimum: int) -> None:
    assert encode(legs, deadline, minimum, WALLET) == by_signature(legs, deadline, minimum, WALLET)


def test_fees_must_match_the_tokens() -> None:
    with pytest.raises(ValueError, match="zip"):
        encode([Leg(1, (USDC, WALLET), (500, 500))], 1, 1, WALLET)
