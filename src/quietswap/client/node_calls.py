"""Calls to the caller's own Ethereum node: approvals, nonces, simulations and receipts. No I/O.

JSON-RPC: https://ethereum.github.io/execution-apis
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from quietswap.client.errors import NodeUnreachable, UnexpectedResponse
from quietswap.rules.chain.node_reads import (
    CHAIN_ID,
    LATEST,
    RECEIPT,
    NodeLog,
    block,
    code,
    estimate_gas,
    eth_balance,
    mined_receipt,
    nonce,
    transaction,
)
from quietswap.rules.chain.records import Head
from quietswap.rules.chain.rpc_wire import (
    SEND,
    Json,
    MalformedResult,
    NodeCall,
    hex_bytes,
    number,
    octets,
    or_none,
    quantity,
    read,
    text,
)
from quietswap.rules.tokens import erc20
from quietswap.rules.tx.address import Address
from quietswap.rules.wire import WireStruct

__all__ = ("CHAIN_ID", "NodeCall", "block", "code", "estimate_gas", "eth_balance", "nonce")
"""What the service asks, too, and what a caller of `QuietswapClient.node` finds here."""

T = TypeVar("T")

TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
"""Topic of `Transfer(address,address,uint256)` (https://eips.ethereum.org/EIPS/eip-20)."""


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


def word_of(data: bytes) -> int:
    """Return the number that a view function returned.

    Raises UnexpectedResponse for less than 32 bytes: empty data does not mean zero.
    """
    word = erc20.read_uint(data)
    if word is None:
        raise UnexpectedResponse(
            "no token contract, or something else than an Ethereum node, answered"
        )
    return word


def view(to: str, data: bytes, read: Callable[[bytes], T], block: str = "latest") -> NodeCall[T]:
    """Call a view function; `read` converts the bytes it returns to a value."""
    call = {"to": to, "data": "0x" + data.hex()}
    return NodeCall("eth_call", (call, block), lambda raw: read(octets(raw)))


def approval_data(spender: str, amount: int) -> str:
    """Return the calldata of `approve(spender, amount)`."""
    return "0x" + erc20.approve(Address(spender), amount).hex()


def approval_of(data: str) -> tuple[str, int] | None:
    """Return spender and amount of the calldata of an `approve`; None for any other."""
    return erc20.read_approve(bytes.fromhex(data.removeprefix("0x")))


TIP = NodeCall("eth_maxPriorityFeePerGas", (), number)
"""The node's suggested priority fee, in wei per gas."""
BASE_FEE = LATEST.then(lambda head: head.base_fee)
"""The latest block's base fee, in wei per gas."""
BLOCK_TIME = LATEST.then(lambda head: head.time)
"""The latest block's time, in Unix seconds."""
HEAD = LATEST.then(lambda head: head.number)
"""The latest block's number."""


def token_balance(token: str, wallet: str, block: str = "latest") -> NodeCall[int]:
    return view(token, erc20.balance_of(Address(wallet)), word_of, block)


def allowance(token: str, owner: str, spender: str, block: str = "latest") -> NodeCall[int]:
    """Request the allowance of `spender` for tokens of `owner`, in smallest units."""
    return view(token, erc20.allowance(Address(owner), Address(spender)), word_of, block)


def decimals(token: str) -> NodeCall[int | None]:
    """Request the decimals of an ERC-20 token; None if no contract answers."""
    return view(token, erc20.DECIMALS, lambda data: word_of(data) if data else None)


def symbol(token: str) -> NodeCall[str]:
    """Request the symbol of an ERC-20 token, harmless to show; empty if it is not readable."""
    return view(token, erc20.SYMBOL, erc20.read_symbol)


def latest_block(since: int = 0) -> NodeCall[Head]:
    """Request the latest block.

    Before block `since`, which the node has shown, one of several backends is late: it is busy.
    """

    def not_before(head: Head) -> Head:
        if head.number < since:
            late = f"the node answers from block {head.number} and has shown block {since}"
            raise NodeUnreachable(late, is_busy=True)
        return head

    return LATEST.then(not_before)


def send(raw: str) -> NodeCall[str]:
    return NodeCall(SEND, (raw,), text)


def receipt(tx_hash: str) -> NodeCall[NodeReceipt | None]:
    """Request a receipt; None until the transaction is mined."""
    return NodeCall(RECEIPT, (tx_hash,), partial(or_none, _receipt))


def _receipt(raw: Json) -> NodeReceipt:
    mined = mined_receipt(raw)
    return NodeReceipt(
        transaction_hash=mined.tx_hash,
        succeeded=mined.status == 1,
        block_number=mined.block_number,
        gas_used=mined.gas_used,
        effective_gas_price=mined.effective_gas_price,
        logs=read(mined.logs, tuple[NodeLog, ...]),
        sender=str(mined.sender or ""),
    )


def sender_and_nonce(tx_hash: str) -> NodeCall[tuple[str, int] | None]:
    """Request sender (lower case) and nonce of a transaction; None if the node does not know it."""

    def sent(members: dict[str, object] | None) -> tuple[str, int] | None:
        if members is None:
            return None
        return str(members["from"]).lower(), quantity(str(members["nonce"]))

    return transaction(tx_hash).then(sent)


def _first_word(data: str) -> int:
    try:
        return int.from_bytes(hex_bytes(data)[:32])
    except MalformedResult as error:
        raise UnexpectedResponse("the node answered an unreadable log") from error


def received(receipt: NodeReceipt, token: str, wallet: str) -> int:
    """Return what `wallet` gained of `token`, from the receipt's Transfer events."""
    me, gained = erc20.address_word(Address(wallet)).hex(), 0
    for log in receipt.logs:
        if log.address.lower() != token.lower() or len(log.topics) != 3:
            continue
        if log.topics[0] == TRANSFER:
            amount = _first_word(log.data)
            gained += amount * ((log.topics[2][2:] == me) - (log.topics[1][2:] == me))
    return gained
