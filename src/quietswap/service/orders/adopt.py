"""Signed bytes that a block has already, although no order has them: they become an order.

After a restore, or a failover that lost the last commits, the row of an order may be missing while
its transaction is mined. A refusal ("nonce 7 is used", "the quote expired") would then say that it
was not executed, and a caller who signs again swaps twice.
"""

import asyncio
from dataclasses import replace

from quietswap.rules.chain.records import ChainReader, NodeBehind, NodeUnavailable, Receipt
from quietswap.rules.errors.base import RequestError
from quietswap.rules.errors.requests import NonceTooLow
from quietswap.rules.orders.new_order import OrderTimeouts, PlannedOrder, new_pending_order
from quietswap.rules.orders.order import Order, OrderKind, OrderStatus
from quietswap.rules.orders.preflight import node_unavailable
from quietswap.rules.orders.wallet_transaction import (
    is_empty_self_transfer,
    plain_trade,
    read_approval,
    read_wrap,
)
from quietswap.rules.quotes.issued_quote import CancelOrderTerms
from quietswap.rules.tx.signed import SignedTransaction


async def mined_receipt(
    chain: ChainReader, signed: SignedTransaction, refusal: RequestError
) -> Receipt:
    """Return the receipt of `signed`, which `refusal` is about to refuse.

    Raises `refusal` if no block has the bytes. If the node cannot tell, raises `refusal` as well,
    but ProviderUnavailable instead of NonceTooLow: these bytes may be what used the nonce.
    """
    is_nonce = isinstance(refusal, NonceTooLow)
    try:
        receipt = (await chain.receipts([signed.hash]))[signed.hash]
        if receipt is None and is_nonce and await _is_newly_mined(chain, signed.hash):
            raise NodeUnavailable("it has the block of a transaction, and not yet its receipt")
    except (NodeUnavailable, KeyError):  # a receipt that cannot be read is left out
        if not is_nonce:
            raise refusal from None
        raise node_unavailable(
            "its nonce is used, and the Ethereum node does not say whether by this transaction"
        ) from refusal
    if receipt is None:
        raise refusal
    return receipt


async def _is_newly_mined(chain: ChainReader, tx_hash: str) -> bool:
    """Return whether one of the two newest blocks has the transaction.

    A node shows a receipt a moment after its block, and one URL may lead to several nodes, of which
    another one counted the nonce. Raises NodeUnavailable if they do not show these blocks.
    """
    newest = await chain.newest_number()
    blocks = await asyncio.gather(*(chain.block(newest - back) for back in range(min(2, newest))))
    transactions = [one for block in blocks if block is not None for one in block.transactions]
    if None in blocks:
        raise NodeBehind(f"no block {newest}")
    return any(one.hash == tx_hash for one in transactions)


def already_mined(signed: SignedTransaction, receipt: Receipt) -> NonceTooLow:
    """Return the error of bytes that a block has, and of which nothing else is stored any more."""
    error = NonceTooLow(provided=signed.nonce, expected=signed.nonce + 1)
    end = "succeeded" if receipt.succeeded else "reverted"
    error.message = (
        f"this very transaction is in block {receipt.block_number}, where it {end}; the service has"
        " no record of its order"
    )
    error.suggestion = "Do not sign it again before you have read its receipt."
    error.add(tx_hash=signed.hash, may_be_mined=True)
    return error


def adopted_order(
    order_id: str,
    signed: SignedTransaction,
    plan: PlannedOrder,
    receipt: Receipt,
    *,
    now_ms: int,
    limits: OrderTimeouts,
) -> Order:
    """Return the order of mined bytes: a relay had them, and nothing is sent now.

    Its end is the tracker's to tell, after the confirmations that every order needs.
    """
    head = receipt.block_number
    fresh = new_pending_order(
        order_id, signed, plan, now_ms=now_ms, counted_from_ms=now_ms, head=head, limits=limits
    )  # a block has it: nothing expires
    return replace(fresh, status=OrderStatus.SUBMITTED, attempts=0)  # the tracker looks at once


def evidence(receipt: Receipt) -> str:
    """Return the text of the event that stores an adopted order."""
    return f"no order had these bytes, and block {receipt.block_number} has them"


def plan_of(
    signed: SignedTransaction, client_id: str, *, tier: int, endpoint_type: str, share_mode: str
) -> PlannedOrder:
    """Return what a mined transaction without its quote becomes, by its calldata alone.

    A swap becomes a plain transaction: what was promised for it is not in the chain.
    """
    approval, wrap = read_approval(signed.params), read_wrap(signed.params)
    kind, trade = OrderKind.TRANSACTION, plain_trade(signed.params)
    if is_empty_self_transfer(signed):
        kind, trade = OrderKind.CANCEL, CancelOrderTerms.trade
    elif wrap is not None:
        kind, trade = OrderKind.WRAP, wrap.trade
    elif approval is not None:
        kind, trade = OrderKind.APPROVAL, approval.trade
    return PlannedOrder(
        client_id=client_id,
        kind=kind,
        trade=trade,
        tier=tier,
        endpoint_type=endpoint_type,
        share_mode=share_mode,
    )
