"""The sandbox's ABI coding, against examples that Solidity's documentation and mainnet give."""

import pytest
from eth_abi.exceptions import EncodingError
from hypothesis import given
from hypothesis import strategies as st

from quietswap.sandbox.contracts import abi


def _words(*words: str) -> bytes:
    return bytes.fromhex("".join(one.rjust(64, "0") for one in words))


def test_a_tuple_is_coded_as_the_specification_shows() -> None:
    """https://docs.soliditylang.org/en/latest/abi-spec.html#examples: `sam` and `f`."""
    sam = abi.call("sam(bytes,bool,uint256[])", b"dave", True, [1, 2, 3])
    dave = b"dave".hex().ljust(64, "0")
    assert sam == bytes.fromhex("a5643bf2") + _words("60", "1", "a0", "4", dave, "3", "1", "2", "3")
    f = abi.call("f(uint256,uint32[],bytes10,bytes)", 0x123, [0x456, 0x789], b"1234567890", b"Hi")
    assert f[4:] == _words(
        "123", "80", b"1234567890".hex().ljust(64, "0"), "e0",
        "2", "456", "789", "2", b"Hi".hex().ljust(64, "0"),
    )  # fmt: skip


def test_a_tuple_in_an_array_in_a_tuple_is_coded() -> None:
    coded = abi.encode("((address,bytes)[],int24)", ([("0x" + "11" * 20, b"\1")], -1))
    assert coded == _words(
        "40", "f" * 64, "1", "20", "11" * 20, "40", "1", "01".ljust(64, "0")
    )  # fmt: skip


def test_a_call_starts_with_the_selector() -> None:
    coded = abi.call("transfer(address,uint256)", "0x" + "11" * 20, 5)
    assert coded.hex() == "a9059cbb" + "00" * 12 + "11" * 20 + f"{5:064x}"
    assert abi.call("sync()") == bytes.fromhex("fff6cae9")


@given(st.lists(st.integers(0, 2**256 - 1), max_size=5))
def test_an_array_of_numbers_is_read_back(numbers: list[int]) -> None:
    assert abi.uints(abi.encode("(uint256[])", (numbers,))) == numbers


def test_missing_values_and_short_answers_are_refused() -> None:
    with pytest.raises(EncodingError, match="1 items when 2 were expected"):
        abi.encode("(uint256,uint256)", (1,))
    with pytest.raises(ValueError, match="word 1"):
        abi.word(bytes(63), 1)
