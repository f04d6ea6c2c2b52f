"""Calls to the caller's own Ethereum node: approvals, nonces, simulations and receipts. No I/O.

JSON-RPC: https://ethereum.github.io/execution-apis
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from quietswap.client.errors import NodeUnreachable, UnexpectedResponse
from quietswap.rules.chain.node_reads import NodeLog
from quietswap.rules.chain.rpc_wire import SEND, RpcCall
from quietswap.rules.tokens import erc20
from quietswap.rules.tx.address import Address, from_any_case
from quietswap.rules.tx.fees import next_base_fee
from quietswap.rules.wire import WireStruct

T = TypeVar("T")

TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
"""Topic of `Transfer(address,address,uint256)` (https://eips.ethereum.org/EIPS/eip-20)."""

_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}")
_WORD_CHARS = 2 + 64
RECEIPT = "eth_getTransactionReceipt"
"""No error of it is a verdict: geth answers one while it indexes what it has."""
ELSE = "something else than an Ethereum node answered there"


def _as_it_is(result: Any) -> Any:
    return result


class NodeCall(RpcCall, Generic[T], frozen=True):
    """One call; `read` converts its result to a value."""

    read: Callable[[Any], T] = _as_it_is


@dataclass(frozen=True, slots=True)
class NodeBlock:
    """The latest block: `time` in Unix seconds, `next_base_fee` in wei per gas.

    `is_amsterdam`: it has the rules of that fork.
    """

    number: int
    hash: str
    time: int
    gas_limit: int
    next_base_fee: int
    coinbase: Address
    is_amsterdam: bool


class NodeReceipt(WireStruct, frozen=True):
    """The receipt of a mined transaction: `gas_used` in units, `effective_gas_price` in wei."""

    transaction_hash: str
    succeeded: bool
    block_number: int
    gas_used: int
    effective_gas_price: int
    logs: tuple[NodeLog, ...]
    sender: str = ""


@dataclass(frozen=True, slots=True)
class NodeBatch:
    """Calls in one JSON-RPC batch, which one node answers. The outcome is a tuple of results.

    With `keeps_errors` the error of a single call stands in its place; otherwise it is raised. A
    refusal for a while is raised only if no call was answered.
    """

    calls: tuple[NodeCall[Any], ...]
    keeps_errors: bool = False


def number(result: Any) -> int:
    """Return a hex quantity as an int. Raises UnexpectedResponse."""
    if not isinstance(result, str) or not _QUANTITY.fullmatch(result):
        raise UnexpectedResponse(f"{ELSE}: no number came")
    return int(result, 16)


def octets(result: Any) -> bytes:
    return bytes.fromhex(str(result).removeprefix("0x"))


def word_of(result: Any) -> int:
    """Return the number that a view function returned.

    Raises UnexpectedResponse for less than 32 bytes: empty data does not mean zero.
    """
    if not isinstance(result, str) or len(result) < _WORD_CHARS:
        raise UnexpectedResponse(
            "no token contract, or something else than an Ethereum node, answered"
        )
    return number(result[:_WORD_CHARS])


def _decimals_of(result: Any) -> int | None:
    return None if result == "0x" else word_of(result)


def view(to: str, data: bytes, read: Callable[[Any], T], block: str = "latest") -> NodeCall[T]:
    """Call a view function; `read` converts the hex it returns to a value."""
    return NodeCall("eth_call", ({"to": to, "data": "0x" + data.hex()}, block), read)


def approval_data(spender: str, amount: int) -> str:
    """Return the calldata of `approve(spender, amount)`."""
    return "0x" + erc20.approve(Address(spender), amount).hex()


def approval_of(data: str) -> tuple[str, int] | None:
    """Return spender and amount of the calldata of an `approve`; None for any other."""
    return erc20.read_approve(octets(data))


CHAIN_ID = NodeCall("eth_chainId", (), number)
TIP = NodeCall("eth_maxPriorityFeePerGas", (), number)
"""The node's suggested priority fee, in wei per gas."""
BASE_FEE = NodeCall(
    "eth_getBlockByNumber", ("latest", False), lambda block: number(block["baseFeePerGas"])
)
"""The latest block's base fee, in wei per gas."""
BLOCK_TIME = NodeCall(
    "eth_getBlockByNumber", ("latest", False), lambda block: number(block["timestamp"])
)
"""The latest block's time, in Unix seconds."""


HEAD = NodeCall("eth_getBlockByNumber", ("latest", False), lambda block: number(block["number"]))
"""The latest block's number."""


def transactions(block: int) -> NodeCall[tuple[tuple[str, int, str], ...]]:
    """Request sender (lower case), nonce and hash of each transaction of a block."""

    def read(result: Any) -> tuple[tuple[str, int, str], ...]:
        return tuple(
            (str(tx["from"]).lower(), number(tx["nonce"]), str(tx["hash"]).lower())
            for tx in result["transactions"]
        )

    return NodeCall("eth_getBlockByNumber", (hex(block), True), read)


def nonce(wallet: str, block: str = "pending") -> NodeCall[int]:
    return NodeCall("eth_getTransactionCount", (wallet, block), number)


def code(wallet: str) -> NodeCall[bytes]:
    """Request the code of an account; empty for a plain wallet."""
    return NodeCall("eth_getCode", (wallet, "latest"), octets)


def eth_balance(wallet: str) -> NodeCall[int]:
    return NodeCall("eth_getBalance", (wallet, "latest"), number)


def token_balance(token: str, wallet: str, block: str = "latest") -> NodeCall[int]:
    return view(token, erc20.balance_of(Address(wallet)), word_of, block)


def allowance(token: str, owner: str, spender: str, block: str = "latest") -> NodeCall[int]:
    """Request the allowance of `spender` for tokens of `owner`, in smallest units."""
    return view(token, erc20.allowance(Address(owner), Address(spender)), word_of, block)


def decimals(token: str) -> NodeCall[int | None]:
    """Request the decimals of an ERC-20 token; None if no contract answers."""
    return view(token, erc20.DECIMALS, _decimals_of)


def symbol(token: str) -> NodeCall[str]:
    """Request the symbol of an ERC-20 token, harmless to show; empty if it is not readable."""
    return view(token, erc20.SYMBOL, lambda result: erc20.read_symbol(octets(result)))


def estimate_gas(transaction: dict[str, str], *block: str) -> NodeCall[int]:
    """Request the gas estimate of a call. Raises NodeRpcError when the call reverts."""
    return NodeCall("eth_estimateGas", (transaction, *block), number)


def latest_block(since: int = 0) -> NodeCall[NodeBlock]:
    """Request the latest block.

    Before block `since`, which the node has shown, one of several backends is late: it is busy.
    """

    def read(result: Any) -> NodeBlock:
        at = number(result["number"])
        if at < since:
            late = f"the node answers from block {at} and has shown block {since}"
            raise NodeUnreachable(late, is_busy=True)
        fee, used, limit = (number(result[k]) for k in ("baseFeePerGas", "gasUsed", "gasLimit"))
        return NodeBlock(
            number=at,
            hash=str(result["hash"]),
            time=number(result["timestamp"]),
            gas_limit=limit,
            next_base_fee=next_base_fee(fee, used, limit),
            coinbase=from_any_case(result["miner"]),
            is_amsterdam=result.get("blockAccessListHash") is not None,
        )

    return NodeCall("eth_getBlockByNumber", ("latest", False), read)


def send(raw: str) -> NodeCall[str]:
    return NodeCall(SEND, (raw,), str)


def receipt(tx_hash: str) -> NodeCall[NodeReceipt | None]:
    """Request a receipt; None until the transaction is mined."""
    return NodeCall(RECEIPT, (tx_hash,), _receipt)


def sender_and_nonce(tx_hash: str) -> NodeCall[tuple[str, int] | None]:
    """Request sender (lower case) and nonce of a transaction; None if the node does not know it."""

    def read(result: Any) -> tuple[str, int] | None:
        return None if result is None else (str(result["from"]).lower(), number(result["nonce"]))

    return NodeCall("eth_getTransactionByHash", (tx_hash,), read)


def _receipt(result: Any) -> NodeReceipt | None:
    if result is None:
        return None
    try:
        return NodeReceipt(
            transaction_hash=result["transactionHash"],
            succeeded=number(result["status"]) == 1,
            block_number=number(result["blockNumber"]),
            gas_used=number(result["gasUsed"]),
            effective_gas_price=number(result["effectiveGasPrice"]),
            logs=msgspec.convert(result["logs"], tuple[NodeLog, ...]),
            sender=str(result.get("from") or ""),
        )
    except (KeyError, TypeError, AttributeError, msgspec.ValidationError) as error:
        raise UnexpectedResponse("the node answered an unreadable receipt") from error


def received(receipt: NodeReceipt, token: str, wallet: str) -> int:
    """Return what `wallet` gained of `token`, from the receipt's Transfer events."""
    me, gained = erc20.address_word(Address(wallet)).hex(), 0
    for log in receipt.logs:
        if log.address.lower() != token.lower() or len(log.topics) != 3:
            continue
        if log.topics[0] == TRANSFER:
            amount = number(log.data[:_WORD_CHARS]) if len(log.data) > 2 else 0
            gained += amount * ((log.topics[2][2:] == me) - (log.topics[1][2:] == me))
    return gained
