"""The sandbox's reading of raw transactions against an independent library's writing of them."""

import pytest
from eth_account import Account
from hypothesis import given, settings
from hypothesis import strategies as st

from quietswap.domain.address import Address, from_bytes
from quietswap.sandbox.rawtx import BadTransaction, Unsigned, decode, sign
from tests.sandbox.town import ALICE, BOB

_N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


def _raw(**changes: object) -> bytes:
    fields: dict[str, object] = {
        "type": 2, "chainId": 1, "nonce": 0, "to": BOB.address, "value": 1, "data": b"",
        "gas": 21_000, "maxFeePerGas": 10**9, "maxPriorityFeePerGas": 0,
    }  # fmt: skip
    return bytes(Account.sign_transaction(fields | changes, ALICE.private_key).raw_transaction)


@settings(deadline=None)
@given(
    nonce=st.integers(0, 2**63),
    to=st.binary(min_size=20, max_size=20).map(from_bytes),
    data=st.binary(max_size=300),
    gas=st.integers(0, 2**40),
    max_fee=st.integers(0, 2**90),
    value=st.integers(0, 2**90),
)
def test_it_reads_what_another_library_wrote(
    nonce: int, to: Address, data: bytes, gas: int, max_fee: int, value: int
) -> None:
    raw = _raw(nonce=nonce, to=to, data=data, gas=gas, maxFeePerGas=max_fee, value=value)
    read = decode(raw)
    fields = Unsigned(nonce, to, data, gas, max_fee, 0, value)
    assert (read.fields, read.sender, read.raw) == (fields, ALICE.address, raw)
    written = sign(fields, ALICE.private_key)
    assert Account.recover_transaction(written.raw) == ALICE.address
    assert written.hash == "0x" + bytes(Account.sign_transaction(
        {"type": 2, "chainId": 1, "nonce": nonce, "to": to, "value": value, "data": data,
         "gas": gas, "maxFeePerGas": max_fee, "maxPriorityFeePerGas": 0},
        ALICE.private_key,
    ).hash).hex()  # fmt: skip


def test_the_cost_is_the_most_it_can_take() -> None:
    assert decode(_raw(value=5)).cost == 21_000 * 10**9 + 5


@pytest.mark.parametrize(
    "spoil",
    [
        lambda raw: raw + b"\0",
        lambda raw: raw[:-1],
        lambda raw: b"\x01" + raw[1:],
        lambda raw: raw.replace(b"\x82\x52\x08", b"\x83\x00\x52\x08").replace(
            bytes([raw[2]]), bytes([raw[2] + 1]), 1
        ),
    ],
    ids=["trailing", "cut", "other type", "zero before a number"],
)
def test_what_is_not_canonical_is_refused(spoil: object) -> None:
    with pytest.raises(BadTransaction):
        decode(spoil(_raw()))  # type: ignore[operator]


def test_a_high_s_is_refused() -> None:
    raw = _raw()
    s = int.from_bytes(raw[-32:])
    assert decode(raw)
    with pytest.raises(BadTransaction, match="invalid transaction v, r, s values"):
        decode(raw[:-32] + (_N - s).to_bytes(32))
