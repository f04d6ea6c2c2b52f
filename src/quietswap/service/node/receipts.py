"""Receipts in batches that shrink, because the sender of a transaction decides how large one is.

A transaction of 2**24 gas can write about 2 MB of logs, which is 4 MB of JSON. A few of them
exceed the largest body that is read, or the largest batch that a node answers.
"""

from collections.abc import Mapping, Sequence

from quietswap.rules.chain.node_reads import HEIGHT, receipt
from quietswap.rules.chain.records import NodeUnavailable, Receipt
from quietswap.rules.chain.rpc_wire import (
    Result,
    RpcErrorObject,
)
from quietswap.service import observe
from quietswap.service.node.lagging_backends import BACKENDS, NewestBlock, late, pause
from quietswap.service.node.rpc import NodeRpcClient, ask


async def read_receipts(
    rpc: NodeRpcClient, tx_hashes: Sequence[str], batch_size: int, newest: NewestBlock
) -> Mapping[str, Receipt | None]:
    """Return receipts by hash, None where there is none; unreadable ones are left out.

    After a failed batch the node must answer a small call; then the batches that follow have half
    the size. So at most log2(`batch_size`) batches fail, and one more for each unreadable receipt.
    Each other batch has at least one receipt. Raises NodeUnavailable if the small call fails, too,
    and if receipts are missing in all backends' answers because these are late.
    """
    receipts: dict[str, Receipt | None] = {}
    unread: dict[str, str] = {}
    waiting, size, tries = list(tx_hashes), batch_size, 0
    while waiting:
        piece, waiting = waiting[:size], waiting[size:]
        try:
            height, *results = await rpc.batch([HEIGHT, *map(receipt, piece)])
            is_late = not newest.has(HEIGHT.value(height))
        except NodeUnavailable as error:
            await ask(rpc, HEIGHT)
            if len(piece) > 1:
                waiting = piece + waiting
                size = len(piece) // 2
            else:
                unread[piece[0]] = str(error)
            continue
        refused = _keep(piece, results, receipts)
        missing = [one for one in piece if is_late and receipts.get(one, ...) is None]
        if missing:
            tries += 1
            if tries == BACKENDS:
                raise late(newest.number)
            await pause(newest.clock, tries)
            waiting = [*missing, *waiting]
        if len(refused) < len(piece):
            waiting = [*refused, *waiting]
        else:
            await ask(rpc, HEIGHT)
            unread |= refused
    if unread:
        observe.receipts_unread(unread)
    return receipts


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
            found[tx_hash] = receipt(tx_hash).value(result)
    return refused
