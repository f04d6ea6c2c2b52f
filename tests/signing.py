"""Signed transactions for tests, made as a wallet makes them (eth-account)."""

from typing import Any

import rlp
from eth_account import Account
from eth_account.signers.local import LocalAccount

WALLET: LocalAccount = Account.from_key("0x" + "11" * 32)
OTHER_WALLET: LocalAccount = Account.from_key("0x" + "22" * 32)
ROUTER = "0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D"

FIELDS: dict[str, Any] = {
    "type": 2,
    "chainId": 1,
    "nonce": 7,
    "to": ROUTER,
    "value": 0,
    "gas": 250_000,
    "maxFeePerGas": 30 * 10**9,
    "maxPriorityFeePerGas": 0,
    "data": "0x38ed1739" + "00" * 64,
    "accessList": [],
}


def sign(wallet: LocalAccount = WALLET, **changes: Any) -> str:
    """Return the signed transaction as 0x-prefixed hex."""
    signed = wallet.sign_transaction(FIELDS | changes)
    return "0x" + bytes(signed.raw_transaction).hex()


def unpacked(raw_hex: str) -> list[Any]:
    """Return the twelve raw fields, to be changed and packed again."""
    fields: list[Any] = rlp.decode(bytes.fromhex(raw_hex[4:]))
    return fields


def packed(fields: list[Any]) -> str:
    """Return the fields as type-2 hex, with the signature they had."""
    return "0x02" + rlp.encode(fields).hex()
