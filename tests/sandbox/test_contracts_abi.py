"""The hand-written ABI coding agrees with the library's."""

from typing import Any

import eth_abi
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietswap.sandbox import abi

LEAVES: dict[str, st.SearchStrategy[Any]] = {
    "uint256": st.integers(0, 2**256 - 1),
    "uint24": st.integers(0, 2**24 - 1),
    "int256": st.integers(-(2**255), 2**255 - 1),
    "address": st.binary(min_size=20, max_size=20).map(lambda raw: "0x" + raw.hex()),
    "bool": st.booleans(),
    "bytes": st.binary(max_size=70),
    "bytes32": st.binary(min_size=32, max_size=32),
    "string": st.text(max_size=40),
}


def _lists(inner: tuple[str, st.SearchStrategy[Any]]) -> tuple[str, st.SearchStrategy[Any]]:
    kind, values = inner
    return f"{kind}[]", st.lists(values, max_size=3)


def _tuples(inner: list[tuple[str, st.SearchStrategy[Any]]]) -> tuple[str, st.SearchStrategy[Any]]:
    return f"({','.join(kind for kind, _ in inner)})", st.tuples(*(values for _, values in inner))


TYPES = st.recursive(
    st.sampled_from(sorted(LEAVES.items())),
    lambda inner: st.one_of(
        inner.map(_lists), st.lists(inner, min_size=1, max_size=3).map(_tuples)
    ),
    max_leaves=6,
)


@given(st.data())
def test_it_codes_as_the_library_does(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(TYPES, max_size=4))
    values = [data.draw(strategy) for _, strategy in kinds]
    names = [kind for kind, _ in kinds]
    assert abi.encode(f"({','.join(names)})", values) == eth_abi.encode(names, values)


def test_a_call_starts_with_the_selector() -> None:
    coded = abi.call("transfer(address,uint256)", "0x" + "11" * 20, 5)
    assert coded.hex() == "a9059cbb" + "00" * 12 + "11" * 20 + f"{5:064x}"


@given(st.lists(st.integers(0, 2**256 - 1), max_size=5))
def test_an_array_of_numbers_is_read_back(numbers: list[int]) -> None:
    assert abi.uints(abi.encode("(uint256[])", (numbers,))) == numbers


def test_missing_values_and_short_answers_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        abi.encode("(uint256,uint256)", (1,))
    with pytest.raises(ValueError, match="word 1"):
        abi.word(bytes(63), 1)
