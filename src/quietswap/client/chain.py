"""What the flows need from an Ethereum node that the service does not do: approvals, nonces,
receipts. JSON-RPC (https://ethereum.github.io/execution-apis) without I/O.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from quietswap.client.errors import BadAnswer, NodeRefused
from quietswap.client.wire import Resource

T = TypeVar("T")

UINT256_MAX = 2**256 - 1
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
"""Topic of `Transfer(address,address,uint256)` (https://eips.ethereum.org/EIPS/eip-20)."""

_ALLOWANCE, _APPROVE, _BALANCE_OF = "0xdd62ed3e", "0x095ea7b3", "0x70a08231"
_DECIMALS, _SYMBOL = "0x313ce567", "0x95d89b41"
_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}")
_WORD_CHARS = 2 + 64
_ELSE = "something else than an Ethereum node answered there"


@dataclass(frozen=True, slots=True)
class NodeCall(Generic[T]):
    """One JSON-RPC call; `read` turns its result into a value."""

    method: str
    params: Sequence[Any]
    read: Callable[[Any], T]


class Log(Resource, frozen=True):
    """One event of a receipt."""

    address: str
    topics: tuple[str, ...]
    data: str


class Receipt(Resource, frozen=True):
    """What the chain did with a transaction; gas in units, price in wei."""

    transaction_hash: str
    succeeded: bool
    block_number: int
    gas_used: int
    effective_gas_price: int
    logs: tuple[Log, ...]
    sender: str = ""


def number(result: Any) -> int:
    """Return a hex quantity as an int. Raises BadAnswer."""
    if not isinstance(result, str) or not _QUANTITY.fullmatch(result):
        raise BadAnswer(f"{_ELSE}: no number came")
    return int(result, 16)


def _word(value: int | str) -> str:
    digits = value[2:].lower() if isinstance(value, str) else f"{value:x}"
    return digits.rjust(64, "0")


def first_word(result: Any) -> int:
    """Return the first word of returned data as a number; 0 where there is none."""
    return number(result[:_WORD_CHARS]) if isinstance(result, str) and len(result) > 2 else 0


def _word_of(result: Any) -> int:
    """Return what a view answered. Raises BadAnswer: nothing at all is not a zero."""
    if not isinstance(result, str) or len(result) < _WORD_CHARS:
        raise BadAnswer("no token contract, or something else than an Ethereum node, answered")
    return number(result[:_WORD_CHARS])


def _decimals_of(result: Any) -> int | None:
    return None if result == "0x" else _word_of(result)


def _view(to: str, data: str, read: Callable[[Any], T]) -> NodeCall[T]:
    return NodeCall("eth_call", ({"to": to, "data": data}, "latest"), read)


def approval_data(spender: str, amount: int) -> str:
    """Return the calldata of `approve(spender, amount)`."""
    return _APPROVE + _word(spender) + _word(amount)


def balance_data(wallet: str) -> str:
    """Return the calldata of `balanceOf(wallet)`."""
    return _BALANCE_OF + _word(wallet)


def chain_id() -> NodeCall[int]:
    """Ask which chain this is."""
    return NodeCall("eth_chainId", (), number)


def nonce(wallet: str, block: str = "pending") -> NodeCall[int]:
    """Ask for the wallet's transaction count."""
    return NodeCall("eth_getTransactionCount", (wallet, block), number)


def eth_balance(wallet: str) -> NodeCall[int]:
    """Ask for ETH, in wei."""
    return NodeCall("eth_getBalance", (wallet, "latest"), number)


def token_balance(token: str, wallet: str) -> NodeCall[int]:
    """Ask for a token balance, in smallest units."""
    return _view(token, balance_data(wallet), _word_of)


def allowance(token: str, owner: str, spender: str) -> NodeCall[int]:
    """Ask what `spender` may move of `owner`, in smallest units."""
    return _view(token, _ALLOWANCE + _word(owner) + _word(spender), _word_of)


def decimals(token: str) -> NodeCall[int | None]:
    """Ask for an ERC-20's decimals; None where nothing answers."""
    return _view(token, _DECIMALS, _decimals_of)


def symbol(token: str) -> NodeCall[str]:
    """Ask for an ERC-20's symbol; empty where it has none that can be read."""
    return _view(token, _SYMBOL, _text)


def _text(result: Any) -> str:
    raw = bytes.fromhex(result.removeprefix("0x"))
    if len(raw) >= 64 and raw[:32] == (32).to_bytes(32):
        raw = raw[64 : 64 + int.from_bytes(raw[32:64])]
    return "".join(c for c in raw.rstrip(b"\0").decode("ascii", "ignore") if c.isprintable())


def estimate_gas(transaction: dict[str, str]) -> NodeCall[int]:
    """Ask for the gas of a call; NodeRefused when it reverts."""
    return NodeCall("eth_estimateGas", (transaction,), number)


def tip() -> NodeCall[int]:
    """Ask for a fitting priority fee per gas, in wei."""
    return NodeCall("eth_maxPriorityFeePerGas", (), number)


def base_fee() -> NodeCall[int]:
    """Ask for the latest block's base fee per gas, in wei."""
    return NodeCall("eth_getBlockByNumber", ("latest", False), lambda b: number(b["baseFeePerGas"]))


def send(raw: str) -> NodeCall[str]:
    """Send a transaction to the node's public mempool; its hash comes back."""
    return NodeCall("eth_sendRawTransaction", (raw,), str)


def receipt(tx_hash: str) -> NodeCall[Receipt | None]:
    """Ask for a receipt; None until the transaction is mined."""
    return NodeCall("eth_getTransactionReceipt", (tx_hash,), _receipt)


def _receipt(result: Any) -> Receipt | None:
    if result is None:
        return None
    try:
        return Receipt(
            transaction_hash=result["transactionHash"],
            succeeded=number(result["status"]) == 1,
            block_number=number(result["blockNumber"]),
            gas_used=number(result["gasUsed"]),
            effective_gas_price=number(result["effectiveGasPrice"]),
            logs=msgspec.convert(result["logs"], tuple[Log, ...]),
            sender=str(result.get("from") or ""),
        )
    except (KeyError, TypeError, AttributeError, msgspec.ValidationError) as error:
        raise BadAnswer("the node answered an unreadable receipt") from error


def received(receipt: Receipt, token: str, wallet: str) -> int:
    """Return what `wallet` gained of `token` by the transaction, from its Transfer events."""
    me, gained = _word(wallet), 0
    for log in receipt.logs:
        if log.address.lower() != token.lower() or len(log.topics) != 3:
            continue
        if log.topics[0] == TRANSFER:
            amount = first_word(log.data)
            gained += amount * ((log.topics[2][2:] == me) - (log.topics[1][2:] == me))
    return gained


def read_result(call: NodeCall[T], status: int, body: bytes) -> T:
    """Return the result of a JSON-RPC answer. Raises NodeRefused or BadAnswer.

    An error is taken under any HTTP status, as nodes differ there; a result only under 200.
    """
    try:
        answer = msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise BadAnswer(f"{call.method}: {_ELSE}, not in JSON-RPC") from error
    fault = answer.get("error")
    if isinstance(fault, dict):
        code = fault.get("code")
        message = str(fault.get("message", ""))
        raise NodeRefused(call.method, code if isinstance(code, int) else 0, message)
    if status != 200 or "result" not in answer:
        raise BadAnswer(f"{call.method}: {_ELSE} (HTTP {status}, no JSON-RPC result)")
    try:
        return call.read(answer["result"])
    except (TypeError, ValueError, KeyError, AttributeError, msgspec.ValidationError) as error:
        raise BadAnswer(f"{call.method}: the node's answer cannot be read") from error
