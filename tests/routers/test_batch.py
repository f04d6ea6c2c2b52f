"""The batched form of a swap: one encoding, and nothing else is one."""

from dataclasses import replace

import pytest

from quietswap.rules.routers import batch
from quietswap.rules.routers.batch import DELEGATES, SwapBatch
from quietswap.rules.tokens.token import WETH, WrapOperation
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import UnsignedTransaction
from tests.batches import Batch, wrong_batches

WALLET = Address("0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045")
ROUTER = Address("0x6131B5fae19EA4f9D964eAc0408E4408b66337b5")
SWAPS = [b"", b"\x38", bytes(31), bytes(32), bytes.fromhex("5ae401dc") + bytes(range(200))]
GOOD = Batch(WALLET, WETH, ROUTER, 10**18, SWAPS[-1])
USDC = Address("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48")
GOODS = {
    "plain": GOOD,
    "wrap": replace(GOOD, wrapped=10**18),
    "unwrap": replace(GOOD, token=USDC, amount=3 * 10**9, unwrapped=99 * 10**16),
}
"""A batch of each form."""
BY_VIEM = (
    "e9ae5c53"
    "0100000000000000000000000000000000000000000000000000000000000000"
    "0000000000000000000000000000000000000000000000000000000000000040"
    "0000000000000000000000000000000000000000000000000000000000000200"
    "0000000000000000000000000000000000000000000000000000000000000020"
    "0000000000000000000000000000000000000000000000000000000000000002"
    "0000000000000000000000000000000000000000000000000000000000000040"
    "0000000000000000000000000000000000000000000000000000000000000120"
    "000000000000000000000000c02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"
    "0000000000000000000000000000000000000000000000000000000000000000"
    "0000000000000000000000000000000000000000000000000000000000000060"
    "0000000000000000000000000000000000000000000000000000000000000044"
    "095ea7b30000000000000000000000006131b5fae19ea4f9d964eac0408e4408"
    "b66337b50000000000000000000000000000000000000000000000000de0b6b3"
    "a764000000000000000000000000000000000000000000000000000000000000"
    "0000000000000000000000006131b5fae19ea4f9d964eac0408e4408b66337b5"
    "0000000000000000000000000000000000000000000000000000000000000000"
    "0000000000000000000000000000000000000000000000000000000000000060"
    "0000000000000000000000000000000000000000000000000000000000000004"
    "5ae401dc00000000000000000000000000000000000000000000000000000000"
)
"""`encodeExecuteData` of viem 2.56.0 for the approval and a swap with the calldata 0x5ae401dc."""


def transaction(to: str, data: bytes, value: int = 0) -> UnsignedTransaction:
    return UnsignedTransaction(Address(to), data, value, 300_000, 10**9, 7)


def test_a_library_of_wallets_encodes_the_same() -> None:
    swap = SwapBatch(WETH, ROUTER, 10**18, bytes.fromhex("5ae401dc"))
    assert swap.calldata().hex() == BY_VIEM


@pytest.mark.parametrize("swap", SWAPS)
@pytest.mark.parametrize("amount", [1, 10**18, 2**256 - 1])
@pytest.mark.parametrize("conversion", [None, *WrapOperation])
def test_what_is_written_is_read(
    swap: bytes, amount: int, conversion: WrapOperation | None
) -> None:
    wrapped = amount if conversion is WrapOperation.WRAP else 0
    unwrapped = 7 if conversion is WrapOperation.UNWRAP else 0
    good = Batch(WALLET, WETH, ROUTER, amount, swap, wrapped, unwrapped)
    expected = batch.swap_batch(WETH, ROUTER, amount, swap, min_buy_amount=7, conversion=conversion)
    assert expected.conversion is conversion
    assert expected.calldata() == good.data
    params = transaction(WALLET, good.data)
    assert batch.read(params, WALLET) == expected
    found = batch.plain_swap(params, WALLET)
    assert (found.to, found.data, found.value, found.gas_limit) == (ROUTER, swap, 0, 300_000)


@pytest.mark.parametrize("good", GOODS.values(), ids=GOODS)
def test_there_are_more_than_300_wrong_batches(good: Batch) -> None:
    wrong = wrong_batches(good)
    assert len(wrong) > 300
    assert len({(one.to, one.data, one.value) for one in wrong}) > 300
    assert (good.wallet, good.data, 0) not in {(one.to, one.data, one.value) for one in wrong}


@pytest.mark.parametrize("good", GOODS.values(), ids=GOODS)
def test_a_wrong_batch_is_none_or_that_of_another_swap(good: Batch) -> None:
    """A flipped bit may make another amount or calldata: no quote has that swap."""
    expected = batch.read(transaction(good.wallet, good.data), WALLET)
    assert expected is not None
    assert (expected.wrapped, expected.unwrapped) == (good.wrapped, good.unwrapped)
    for wrong in wrong_batches(good):
        params = transaction(wrong.to, wrong.data, wrong.value)
        found = batch.read(params, WALLET)
        assert found != expected, wrong.name
        if found is None:
            assert batch.plain_swap(params, WALLET) is params
        else:
            assert found.calldata() == wrong.data, wrong.name


def test_another_wallet_s_batch_is_none() -> None:
    assert batch.read(transaction(WALLET, GOOD.data), ROUTER) is None


def test_only_delegates_whose_code_was_read_may_batch() -> None:
    for delegate in DELEGATES:
        code = batch.DELEGATION + bytes.fromhex(delegate[2:])
        assert batch.delegate_of(code) == delegate
        assert batch.refused_code(code) is None
    foreign = batch.DELEGATION + bytes.fromhex(ROUTER[2:])
    assert "was not read" in (batch.refused_code(foreign) or "")
    for code in (b"", b"\x60\x80", foreign[:-1], foreign + b"\0", b"\xef\x01\x01" + foreign[3:]):
        assert batch.delegate_of(code) is None
        assert "not delegated" in (batch.refused_code(code) or "")


@pytest.mark.parametrize(("allowance", "words"), [(None, "does not tell"), (1, "allowance is 1")])
def test_an_allowance_must_be_known_and_zero(allowance: int | None, words: str) -> None:
    assert words in (batch.refused_allowance(allowance) or "")
    assert batch.refused_allowance(0) is None
