"""Signing with an eth_account account, or with a function that signs elsewhere."""

from collections.abc import Callable
from typing import Any, Protocol

from quietswap.client.errors import SignerMismatch, TransactionHashMismatch
from quietswap.rules.contract.transactions import TransactionParams
from quietswap.rules.tx import signed as transaction_signed
from quietswap.rules.tx.keccak import keccak256

Transaction = dict[str, Any]
"""A transaction in the form of eth_account.

Keys: to, data, value, gas, maxFeePerGas, maxPriorityFeePerGas, nonce, chainId, type. Amounts are
ints in wei.
"""


class Account(Protocol):
    """The members of an eth_account account that the client uses."""

    @property
    def address(self) -> Any:
        """The wallet address with EIP-55 checksum."""

    def sign_transaction(self, transaction_dict: Any, /) -> Any:
        """Return an object whose `raw_transaction` holds the signed bytes."""


SignFunction = Callable[[Transaction], bytes | str]
"""Takes the transaction to sign; returns the signed transaction as bytes or hex."""

Signer = Account | SignFunction


def to_sign(params: TransactionParams, nonce: int | None = None) -> Transaction:
    """Return the parameters as a transaction to sign; `nonce` if the quote has none."""
    chosen = params.nonce if params.nonce is not None else nonce
    if chosen is None:
        raise ValueError("this quote leaves the nonce to the client: give one")
    return {
        "to": params.to,
        "data": params.data,
        "value": int(params.value),
        "gas": int(params.gas_limit),
        "maxFeePerGas": int(params.max_fee_per_gas),
        "maxPriorityFeePerGas": int(params.max_priority_fee_per_gas),
        "nonce": chosen,
        "chainId": params.chain_id,
        "type": params.type,
    }


def sign(transaction: Transaction, signer: Signer, wallet: str) -> str:
    """Return the signed transaction as 0x-prefixed hex.

    Raises SignerMismatch when the signer returns another transaction, or when another wallet
    signed. So an error of a signing device or command cannot reach the chain.
    """
    if callable(signer):
        raw = signer(dict(transaction))
    else:
        raw = signer.sign_transaction(dict(transaction)).raw_transaction
    if not isinstance(raw, str | bytes | bytearray):
        raise SignerMismatch(
            f"the signer returned {type(raw).__name__}, not bytes or hex: not sent"
        )
    text = raw if isinstance(raw, str) else raw.hex()
    text = text if text.startswith("0x") else "0x" + text
    try:
        signed = transaction_signed.decode(text)
    except ValueError as error:
        raise SignerMismatch(f"the signer returned no usable transaction: {error}") from error
    if signed.sender.lower() != wallet.lower():
        raise SignerMismatch(f"the signer signed for {signed.sender}, not for {wallet}: not sent")
    returned = _spelled(signed)
    expected = {**transaction, "to": transaction["to"].lower(), "data": transaction["data"].lower()}
    changed = [name for name, value in returned.items() if value != expected[name]]
    if changed:
        raise SignerMismatch(f"the signer changed the transaction ({', '.join(changed)}): not sent")
    return text


def hash_of(signed: str) -> str:
    """Return the transaction hash of signed bytes (0x-prefixed hex); it needs no request.

    It is the Keccak-256 of the bytes (https://eips.ethereum.org/EIPS/eip-2718).
    """
    return "0x" + keccak256(bytes.fromhex(signed.removeprefix("0x"))).hex()


def require_same(signed_hash: str, named_hash: str | None) -> None:
    """Compare the hash that the service names with the signed one; None is not compared.

    Raises TransactionHashMismatch.
    """
    if named_hash is not None and named_hash.lower() != signed_hash.lower():
        raise TransactionHashMismatch(signed_hash, named_hash)


def _spelled(signed: transaction_signed.SignedTransaction) -> Transaction:
    """Return the signed transaction in the form of `Transaction`.

    Chain and type are absent, because the decoder accepts only one of each.
    """
    return {
        "to": signed.params.to.lower(),
        "data": "0x" + signed.params.data.hex(),
        "value": signed.params.value,
        "gas": signed.params.gas_limit,
        "maxFeePerGas": signed.params.max_fee_per_gas,
        "maxPriorityFeePerGas": signed.priority_fee,
        "nonce": signed.nonce,
    }


def wallet_of(signer: Signer, wallet: str | None) -> str:
    """Return `wallet`, or the account's own address if it is None.

    Raises ValueError for a signing function without `wallet`.
    """
    if wallet is not None:
        return wallet
    if callable(signer):
        raise ValueError("a signing function does not say its wallet: give `wallet`")
    return str(signer.address)
