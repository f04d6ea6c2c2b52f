"""The sandbox reads transactions with libraries, the service with its own code: both must agree."""

import pytest
from eth_account import Account
from hypothesis import example, given, settings
from hypothesis import strategies as st

from quietswap.rules.tx import signed as service
from quietswap.rules.tx.address import Address, from_bytes
from quietswap.sandbox.chain.transactions import BadTransaction, TransactionFields, decode, sign
from tests.example_counts import examples
from tests.sandbox.small_network import ALICE, BOB

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
    fields = TransactionFields(nonce, to, data, gas, max_fee, 0, value)
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


@pytest.mark.parametrize("depth", [10, examples(40_000, short=4_000)])
def test_nested_lists_are_refused(depth: int) -> None:
    _refuse_nested(depth)


@pytest.mark.usefixtures("usual_recursion_limit")
def test_lists_nested_deeper_than_calls_are_refused() -> None:
    _refuse_nested(40_000)


def _refuse_nested(depth: int) -> None:
    headers, inside = list[bytes](), 0
    for _ in range(depth):
        headers.append(_list_header(inside))
        inside += len(headers[-1])
    with pytest.raises(BadTransaction):
        decode(b"\x02" + b"".join(reversed(headers)))


def _list_header(length: int) -> bytes:
    if length < 56:
        return bytes([0xC0 + length])
    size = length.to_bytes((length.bit_length() + 7) // 8)
    return bytes([0xF7 + len(size)]) + size


@settings(deadline=None, max_examples=examples(300))
@given(at=st.integers(0, 10**6), new=st.binary(max_size=3), cut=st.integers(0, 3))
@example(at=0, new=b"", cut=0)
def test_what_the_service_accepts_is_read_alike(at: int, new: bytes, cut: int) -> None:
    """Change some bytes anywhere: what the service accepts, the libraries decode equally."""
    raw = _raw(data=b"\x01" * 70, value=2**70, maxPriorityFeePerGas=5)
    at %= len(raw)
    changed = raw[:at] + new + raw[at + cut :]
    try:
        ours = service.decode("0x" + changed.hex())
    except (service.TransactionDecodeError, service.BadSignature, service.TransactionRuleViolation):
        return
    read, params = decode(changed), ours.params
    assert (read.hash, read.sender) == (ours.hash, ours.sender)
    assert read.fields == TransactionFields(
        ours.nonce, params.to, params.data, params.gas_limit, params.max_fee_per_gas,
        ours.priority_fee, params.value,
    )  # fmt: skip


@settings(deadline=None, max_examples=examples(300))
@given(at=st.integers(0, 10**6), new=st.binary(max_size=3), cut=st.integers(0, 3))
def test_a_changed_transaction_is_read_or_refused(at: int, new: bytes, cut: int) -> None:
    raw = _raw()
    at %= len(raw)
    try:
        read = decode(raw[:at] + new + raw[at + cut :])
    except BadTransaction:
        return
    assert read.raw == raw[:at] + new + raw[at + cut :]
