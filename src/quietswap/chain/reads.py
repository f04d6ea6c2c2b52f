"""JSON-RPC results as domain values. An error or a malformed result raises NodeUnavailable."""

from collections.abc import Mapping, Sequence

from quietswap import observe
from quietswap.chain import erc20, multicall, rpc_wire
from quietswap.chain.address import Address
from quietswap.chain.chain import Block, Head, NodeUnavailable, Receipt
from quietswap.chain.rpc import NodeRpcClient
from quietswap.chain.rpc_wire import (
    BlockWire,
    HeaderWire,
    Result,
    RpcCall,
    RpcErrorObject,
    value,
    value_or_none,
)


def count(wallet: Address, block: str) -> RpcCall:
    """Return the call that reads the transaction count of a wallet at `block`."""
    return RpcCall("eth_getTransactionCount", (wallet, block))


def octets(result: Result) -> bytes:
    """Return bytes."""
    return rpc_wire.octets(value(result, str))


def quantity(result: Result) -> int:
    """Return a number."""
    return rpc_wire.quantity(value(result, str))


def amounts(result: Result, count: int) -> list[int]:
    """Return the numbers that `count` views of one multicall returned."""
    answers = [erc20.read_uint(answer) for answer in multicall.answers(result, count)]
    known = [amount for amount in answers if amount is not None]
    if len(known) != count:
        raise NodeUnavailable("the token does not tell a balance or an allowance")
    return known


def head(result: Result) -> Head:
    """Return a block header."""
    return rpc_wire.head(value(result, HeaderWire))


def block(result: Result) -> Block | None:
    """Return a block with its transactions; None if the node does not know it."""
    wire = value_or_none(result, BlockWire)
    return None if wire is None else rpc_wire.block(wire)


def receipt(result: Result, tx_hash: str) -> Receipt | None:
    """Return a complete receipt; None if there is none."""
    if isinstance(result, RpcErrorObject):
        raise NodeUnavailable(f"the node answered error {result.code}: {result.message}")
    return rpc_wire.receipt(result, tx_hash)


def known(number: int | None) -> int:
    """Return a number that every node can tell. Raises NodeUnavailable."""
    if number is None:
        raise NodeUnavailable("the node does not tell the block or the ETH balance")
    return number


# Receipts in batches that shrink, because the sender of a transaction decides how large one is.
#
# A transaction of 2**24 gas can write about 2 MB of logs, which is 4 MB of JSON. A few of them
# exceed the largest body that is read, or the largest batch that a node answers.


async def read_receipts(
    rpc: NodeRpcClient, tx_hashes: Sequence[str], batch_size: int
) -> Mapping[str, Receipt | None]:
    """Return receipts by hash, None where there is none; unreadable ones are left out.

    After a failed batch the node must answer a small call; then the batches that follow have half
    the size. So at most log2(`batch_size`) batches fail, and one more for each unreadable receipt.
    Each other batch has at least one receipt. Raises NodeUnavailable if the small call fails, too.
    """
    found: dict[str, Receipt | None] = {}
    unread: dict[str, str] = {}
    waiting, size = list(tx_hashes), batch_size
    while waiting:
        piece, waiting = waiting[:size], waiting[size:]
        try:
            results = await rpc.batch([_call(tx_hash) for tx_hash in piece])
        except NodeUnavailable as error:
            await _probe(rpc)
            if len(piece) > 1:
                waiting = piece + waiting
                size = len(piece) // 2
            else:
                unread[piece[0]] = str(error)
            continue
        refused = _keep(piece, results, found)
        if len(refused) < len(piece):
            waiting = [*refused, *waiting]
        else:
            await _probe(rpc)
            unread |= refused
    if unread:
        observe.receipts_unread(unread)
    return found


def _call(tx_hash: str) -> RpcCall:
    return RpcCall("eth_getTransactionReceipt", (tx_hash,))


async def _probe(rpc: NodeRpcClient) -> None:
    quantity(await rpc.call("eth_blockNumber"))


def _keep(
    piece: Sequence[str], results: Sequence[Result], found: dict[str, Receipt | None]
) -> dict[str, str]:
    """Add the receipts to `found`. Return the refused hashes with the reason, to be asked again.

    A node that limits the bytes of a batch answers its first calls, and the others with errors
    (`rpc.batch-response-max-size` of geth).
    """
    refused: dict[str, str] = {}
    for tx_hash, result in zip(piece, results, strict=True):
        if isinstance(result, RpcErrorObject):
            refused[tx_hash] = f"the node answered error {result.code}: {result.message}"
        else:
            found[tx_hash] = receipt(result, tx_hash)
    return refused
