"""EIP-1559 transactions as bytes, read and signed by `rlp` and `eth-keys`.

The service decodes transactions with code of its own (`chain.signed`). The sandbox
uses the libraries below eth-account, so that two independent readers of
https://eips.ethereum.org/EIPS/eip-1559 agree. eth-account itself takes 0.4 s more to import.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import rlp
from eth_keys.datatypes import PrivateKey, Signature
from eth_keys.exceptions import BadSignature
from eth_utils.exceptions import ValidationError
from rlp.sedes import Binary, List, big_endian_int, binary

from quietswap.chain import address as addresses
from quietswap.chain.address import Address, keccak256

_HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
_NUMBERS = [big_endian_int] * 5
_SHAPE = List([*_NUMBERS, Binary.fixed_length(20), big_endian_int, binary, List([]), *_NUMBERS[:3]])
"""Chain id, nonce, tip, fee cap, gas, `to`, value, data, empty access list, y parity, r, s."""


class BadTransaction(ValueError):
    """The bytes are not a transaction that a node accepts; the message is geth's."""


@dataclass(frozen=True, slots=True)
class TransactionFields:
    """The fields that a wallet signs, in wei and gas units; `to` is required: no deployments."""

    nonce: int
    to: Address
    data: bytes
    gas: int
    max_fee: int
    tip: int = 0
    value: int = 0
    chain_id: int = 1


@dataclass(frozen=True, slots=True)
class DecodedTransaction:
    """A decoded transaction: `hash` as 0x text, `sender` recovered from the signature."""

    raw: bytes
    hash: str
    sender: Address
    fields: TransactionFields

    @property
    def cost(self) -> int:
        """The most wei that the transaction can take from its sender."""
        return self.fields.gas * self.fields.max_fee + self.fields.value


def sign(fields: TransactionFields, private_key: str) -> DecodedTransaction:
    """Return the transaction signed with `private_key` (0x and 64 hexadecimal digits)."""
    numbers = fields.chain_id, fields.nonce, fields.tip, fields.max_fee, fields.gas
    unsigned = [*numbers, addresses.to_bytes(fields.to), fields.value, fields.data, []]
    key = PrivateKey(bytes.fromhex(private_key.removeprefix("0x")))
    signature = key.sign_msg_hash(_digest(unsigned)).vrs
    return decode(b"\x02" + rlp.encode([*unsigned, *signature]))


def decode(raw: bytes) -> DecodedTransaction:
    """Return the decoded transaction. Raises BadTransaction."""
    if not raw:
        raise BadTransaction("typed transaction too short")
    if raw[0] != 2:
        raise BadTransaction("transaction type not supported")
    try:
        items = rlp.decode(raw[1:], _SHAPE)
    except (rlp.DecodingError, RecursionError) as error:
        raise BadTransaction("rlp: value size exceeds available input length") from error
    except rlp.DeserializationError as error:
        raise BadTransaction("rlp: the transaction has not the shape of type 2") from error
    chain_id, nonce, tip, max_fee, gas, to, value, data, _, *signature = items
    if max(chain_id, nonce, tip, max_fee, gas, value) >= 2**256:
        raise BadTransaction("rlp: input string too long for uint256")
    fields = TransactionFields(
        nonce, addresses.from_bytes(to), data, gas, max_fee, tip, value, chain_id
    )
    sender = _signer(_digest(items[:9]), *signature)
    return DecodedTransaction(raw, "0x" + keccak256(raw).hex(), sender, fields)


def _digest(unsigned: Sequence[Any]) -> bytes:
    return keccak256(b"\x02" + rlp.encode(unsigned))


def _signer(digest: bytes, parity: int, r: int, s: int) -> Address:
    try:
        if s > _HALF_ORDER:  # EIP-2; libraries accept it
            raise BadSignature("s is high")
        key = Signature(vrs=(parity, r, s)).recover_public_key_from_msg_hash(digest)
    except (BadSignature, ValidationError) as error:
        raise BadTransaction("invalid transaction v, r, s values") from error
    return addresses.from_bytes(key.to_canonical_address())
