"""The strict reader of signed transactions, with eth-account as the oracle."""

from typing import Any

import pytest
import rlp
from eth_account import Account
from hypothesis import example, given, settings
from hypothesis import strategies as st

from quietswap.rules.tx.signed import (
    SIZE_CAP,
    BadSignature,
    SignedTransaction,
    TransactionDecodeError,
    TransactionRuleViolation,
    decode,
)
from tests.signing import FIELDS, ROUTER, WALLET, packed, sign, unpacked

CURVE_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
NAMES = (
    "chainId", "nonce", "maxPriorityFeePerGas", "maxFeePerGas", "gasLimit", "to",
    "value", "data", "accessList", "yParity", "r", "s",
)  # fmt: skip


def changed(name: str, content: Any) -> str:
    """Return a signed transaction with one raw field replaced (the signature no longer fits)."""
    fields = unpacked(sign())
    fields[NAMES.index(name)] = content
    return packed(fields)


def test_every_field_is_read_as_it_was_signed() -> None:
    raw = sign(value=5, nonce=0)
    signed = decode(raw)
    assert signed.sender == WALLET.address
    assert signed.raw == bytes.fromhex(raw[2:])
    assert (signed.params.to, signed.params.value, signed.nonce) == (ROUTER, 5, 0)
    assert signed.params.gas_limit == FIELDS["gas"]
    assert signed.params.max_fee_per_gas == FIELDS["maxFeePerGas"]
    assert "0x" + signed.params.data.hex() == FIELDS["data"]
    assert signed.max_cost_wei == 250_000 * 30 * 10**9 + 5


def test_the_raw_bytes_do_not_appear_in_a_representation() -> None:
    signed = decode(sign())
    assert signed.raw.hex() not in repr(signed)
    assert repr(signed.raw)[2:-1] not in repr(signed)


fees = st.integers(0, 2**256 - 1)


@settings(deadline=None)
@given(
    key=st.integers(1, CURVE_ORDER - 1),
    nonce=st.integers(0, 2**64 - 2),
    to=st.binary(min_size=20, max_size=20),
    value=fees,
    gas=st.integers(0, 2**24),
    cap_and_tip=st.tuples(fees, fees).map(sorted),
    data=st.binary(max_size=300),
)
@example(key=1, nonce=0, to=b"\1" * 20, value=0, gas=0, cap_and_tip=[0, 0], data=b"")
@example(key=1, nonce=127, to=b"\1" * 20, value=128, gas=1, cap_and_tip=[0, 55], data=b"\x7f")
@example(key=1, nonce=128, to=b"\1" * 20, value=1, gas=1, cap_and_tip=[0, 56], data=b"\x80" * 56)
def test_the_oracle_agrees_on_sender_hash_and_fields(
    key: int, nonce: int, to: bytes, value: int, gas: int, cap_and_tip: list[int], data: bytes
) -> None:
    tip, cap = cap_and_tip
    wallet = Account.from_key(key.to_bytes(32))
    fields = FIELDS | {
        "nonce": nonce, "to": to, "value": value, "gas": gas,
        "maxFeePerGas": cap, "maxPriorityFeePerGas": tip, "data": data,
    }  # fmt: skip
    oracle = wallet.sign_transaction(fields)
    signed = decode("0x" + bytes(oracle.raw_transaction).hex())
    assert signed.sender == wallet.address
    assert signed.hash == "0x" + bytes(oracle.hash).hex()
    assert signed.priority_fee == tip
    params = signed.params
    assert (params.nonce, params.value, params.gas_limit) == (nonce, value, gas)
    assert (params.max_fee_per_gas, params.data) == (cap, data)
    assert bytes.fromhex(params.to[2:]) == to


def accepted(raw: bytes) -> SignedTransaction | None:
    """Return what is read from the bytes, None when they are refused."""
    try:
        return decode("0x" + raw.hex())
    except (TransactionDecodeError, TransactionRuleViolation, BadSignature):
        return None


def test_no_flipped_bit_keeps_the_sender() -> None:
    raw = bytes.fromhex(sign()[2:])
    survivors = 0
    for position in range(len(raw)):
        for bit in range(8):
            mutant = bytearray(raw)
            mutant[position] ^= 1 << bit
            signed = accepted(bytes(mutant))
            survivors += signed is not None
            assert signed is None or signed.sender != WALLET.address
    assert survivors > 0


@given(position=st.integers(0, 10**6), extra=st.binary(max_size=3), cut=st.integers(0, 3))
def test_no_inserted_or_removed_byte_keeps_the_sender(
    position: int, extra: bytes, cut: int
) -> None:
    raw = bytes.fromhex(sign()[2:])
    at = position % (len(raw) + 1)
    mutant = raw[:at] + extra + raw[at + cut :]
    signed = accepted(mutant)
    assert signed is None or mutant == raw or signed.sender != WALLET.address


@given(noise=st.binary(min_size=1, max_size=400))
def test_noise_is_refused_by_one_of_the_three_errors(noise: bytes) -> None:
    assert accepted(noise) is None
    assert accepted(b"\x02" + noise) is None


@given(
    items=st.lists(st.binary(max_size=70), min_size=9, max_size=9),
    position=st.integers(0, 10**4),
    byte=st.integers(0, 255),
)
def test_only_what_the_reference_encoder_writes_is_readable(
    items: list[bytes], position: int, byte: int
) -> None:
    legacy = rlp.encode(items)
    mutant = bytearray(legacy)
    mutant[position % len(legacy)] = byte
    with pytest.raises(TransactionRuleViolation):
        decode("0x" + legacy.hex())
    if mutant[0] >= 0xC0:
        with pytest.raises((TransactionRuleViolation, TransactionDecodeError)) as refused:
            decode("0x" + mutant.hex())
        readable = refused.type is TransactionRuleViolation
        assert not readable or rlp.encode(rlp.decode(bytes(mutant))) == bytes(mutant)


@pytest.mark.parametrize(
    "text",
    [
        "", "0x", "0x0", "02f8", "0X" + "00" * 100, "0x 02", "0x0_2f", "0xzz", "0x02", "0x02c0",
        "0x02f8", "0x05c0", "0x7fc0", "0x80", "0xbf", "0x02ff", "0x02b8", " " + sign(),
        sign() + "00", sign() + " ", sign()[:-2], "0x02" + "ff" * 9, "0xc0c0", "0x01",
    ],
)  # fmt: skip
def test_what_is_not_a_transaction_is_undecodable(text: str) -> None:
    with pytest.raises(TransactionDecodeError):
        decode(text)


def test_hex_case_does_not_matter() -> None:
    raw = sign()
    assert decode("0x" + raw[2:].upper()) == decode(raw)


@pytest.mark.parametrize(
    "name", ["chainId", "nonce", "maxPriorityFeePerGas", "maxFeePerGas", "value", "r", "s"]
)
def test_an_integer_with_a_leading_zero_is_undecodable(name: str) -> None:
    content = unpacked(sign(value=1, maxPriorityFeePerGas=1))[NAMES.index(name)]
    with pytest.raises(TransactionDecodeError, match="leading zero"):
        decode(changed(name, b"\0" + content))


@pytest.mark.parametrize("name", NAMES)
def test_a_field_of_the_wrong_kind_is_undecodable(name: str) -> None:
    with pytest.raises(TransactionDecodeError, match=f"{name} is not an RLP (list|byte string)"):
        decode(changed(name, b"" if name == "accessList" else [b""]))


@pytest.mark.parametrize("size", [1, 19, 21, 32])
def test_an_address_of_another_length_is_undecodable(size: int) -> None:
    with pytest.raises(TransactionDecodeError, match="20 bytes"):
        decode(changed("to", b"\1" * size))


@pytest.mark.parametrize("count", [0, 9, 11, 13])
def test_another_number_of_fields_is_undecodable(count: int) -> None:
    fields = [*unpacked(sign()), b"", b""][:count]
    with pytest.raises(TransactionDecodeError):
        decode(packed(fields))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("chainId", b"\5"),
        ("chainId", b""),
        ("chainId", b"\1" * 60_000),
        ("nonce", b"\xff" * 8),
        ("nonce", b"\1" + bytes(8)),
        ("gasLimit", (2**24 + 1).to_bytes(4)),
        ("maxFeePerGas", b"\1" + bytes(32)),
        ("value", b"\1" + bytes(32)),
        ("maxPriorityFeePerGas", (30 * 10**9 + 1).to_bytes(5)),
        ("to", b""),
        ("accessList", [[b"\1" * 20, []]]),
    ],
)
def test_a_readable_transaction_that_breaks_a_rule_names_the_field(name: str, content: Any) -> None:
    with pytest.raises(TransactionRuleViolation) as broken:
        decode(changed(name, content))
    assert broken.value.name == name
    assert len(str(broken.value)) < 300


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (
            WALLET.sign_transaction(
                {"nonce": 0, "to": ROUTER, "value": 0, "gas": 21000, "gasPrice": 1, "chainId": 1}
            ),
            "0",
        ),
        (
            WALLET.sign_transaction(
                {
                    "nonce": 0, "to": ROUTER, "value": 0, "gas": 21000, "gasPrice": 1,
                    "chainId": 1, "type": 1,
                }
            ),
            "1",
        ),
    ],
)  # fmt: skip
def test_other_types_are_readable_but_break_the_rule_of_type(raw: Any, kind: str) -> None:
    with pytest.raises(TransactionRuleViolation) as broken:
        decode("0x" + bytes(raw.raw_transaction).hex())
    assert (broken.value.name, broken.value.provided) == ("type", kind)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("0x02" + rlp.encode(unpacked(sign())[:9]).hex(), "it is not signed: yParity, r and s"),
        (changed("maxPriorityFeePerGas", b"\x0a" * 8), "at most its maxFeePerGas, 30000000000, n"),
        (changed("gasLimit", b"\1\0\0\1"), "gasLimit must be at most EIP-7825's 16777216, not"),
        (changed("nonce", b"\xff" * 8), "nonce must be at most EIP-2681's 18446744073709551614"),
        (changed("value", b"\1" + bytes(32)), r"2\^256 - 1, not a number above 2\^256 - 1"),
        (changed("to", b""), "to must be an address, not empty: it creates a contract"),
        ("0x03" + "fa" * (SIZE_CAP + 1), "type must be 2, not 3"),
        ("0x03" + "00" * (SIZE_CAP + 1), "it is larger than 131072 bytes"),
        ("0x05" + "c0", "its first byte, 0x05, names no transaction type"),
        ("0x00" + "c0", "its first byte, 0x00, names no transaction type"),
        ("0x02f9", "it ends too early"),
        ("0x02f901", "it ends too early"),
        ("0x02f8", "it ends too early"),
        ("0x02c181", "it ends too early"),
    ],
    ids=lambda value: value[:40],
)
def test_a_refusal_names_the_rule_that_was_broken(raw: str, said: str) -> None:
    with pytest.raises((TransactionDecodeError, TransactionRuleViolation), match=said):
        decode(raw)


def test_the_malleated_copy_of_a_signature_is_refused() -> None:
    """It recovers to the same wallet under another hash: a way around the replay check."""
    fields = unpacked(sign())
    fields[9] = b"" if fields[9] else b"\1"
    fields[11] = (CURVE_ORDER - int.from_bytes(fields[11])).to_bytes(32)
    assert Account.recover_transaction(packed(fields)) == WALLET.address
    with pytest.raises(BadSignature, match="upper half"):
        decode(packed(fields))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("yParity", b"\2"),
        ("yParity", b"\x1b"),
        ("r", b""),
        ("s", b""),
        ("r", CURVE_ORDER.to_bytes(32)),
        ("s", CURVE_ORDER.to_bytes(32)),
        ("r", b"\1" + bytes(32)),
        ("r", (CURVE_ORDER - 1).to_bytes(32)),
    ],
)
def test_a_signature_outside_its_bounds_or_off_the_curve_is_refused(
    name: str, content: bytes
) -> None:
    with pytest.raises(BadSignature):
        decode(changed(name, content))


def test_size_is_looked_at_before_anything_is_built() -> None:
    with pytest.raises(TransactionDecodeError, match="larger than"):
        decode("0x" + "00" * (SIZE_CAP + 1))
    biggest = decode(sign(data="0x" + "ab" * (SIZE_CAP - 400), gas=2**24))
    assert biggest.sender == WALLET.address


def test_a_list_of_very_many_items_costs_next_to_nothing() -> None:
    count = SIZE_CAP - 10
    raw = b"\x02\xfa" + count.to_bytes(3) + b"\1" * count
    with pytest.raises(TransactionDecodeError, match="fields"):
        decode("0x" + raw.hex())
    with pytest.raises(TransactionDecodeError):
        decode("0x02" + "c1" * (SIZE_CAP - 1))
