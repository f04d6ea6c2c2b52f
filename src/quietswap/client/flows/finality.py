"""What became of a signed transaction, and how an order ended: the one place that tells it.

Only the caller's own node decides, about the transaction that the caller signed. What a service
reports is a claim: without a node or a record of what was signed it stays one.
"""

from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from quietswap.client import errors, node_calls
from quietswap.client.flows.effects import (
    BUSY_PAUSES_S,
    Flow,
    Sleep,
    perform,
    perform_all,
    read_clock,
)
from quietswap.client.flows.polling import PollingPolicy, follow_order
from quietswap.rules.contract.orders import OrderStatusResponse
from quietswap.rules.tx.address import from_any_case
from quietswap.rules.tx.signed import MAINNET
from quietswap.rules.wire import WireAmount

SURE_S = 24.0
"""Two blocks: time for the receipt of a transaction whose nonce is used already."""
SURE_LOOKS = 3
"""Looks with a used nonce and no receipt: backends of one RPC URL may be at different blocks."""
SAFE_DEPTH = 2
"""Blocks, with its own, that a transaction must have before another one may take its place.

A reorganization of one block would bring the first one back beside the second. So a cancel counts
from there on, too: its receipt makes another swap safe.
"""
CANCEL = "the cancel"
"""`what` of a cancel."""
_SEARCHED_BLOCKS = 127
"""How far back every node has the state (geth keeps 128 blocks)."""
_RECEIPT_LOOKS, _RECEIPT_S = 10, 18.0
"""The least number of looks at a confirmed order, and the least time in s."""


class TransactionOutcome(StrEnum):
    """The outcome of a signed transaction at the caller's own node."""

    MINED = "mined"
    """It was mined and succeeded."""
    REVERTED = "reverted"
    REPLACED = "replaced"
    """Another transaction of the wallet used its nonce."""
    OPEN = "open"
    """Its nonce is unused, or the node failed: it may still be mined."""


@dataclass(frozen=True, slots=True)
class SubmittedTransaction:
    """A signed transaction that was submitted; `what` names it in messages.

    A swap sells `sell_amount` smallest units of `sell_token`; None for anything else.

    Of a swap with ETH, `trade` is the hash of its first transaction. That one has the terms of all:
    it sells `sell_amount` of `sell_token` for `at_least` smallest units of `buy_token`, of which
    one is "ETH". `told`: a run has told the end of its trade.
    """

    what: str
    tx_hash: str
    wallet: str
    nonce: int
    order_id: str | None = None
    sell_token: str | None = None
    sell_amount: int = 0
    trade: str | None = None
    buy_token: str | None = None
    at_least: int = 0
    told: bool = False

    def is_shown(self, seen: "Sighting") -> bool:
        """Return whether its receipt is an end: a success at any depth, unless it is a cancel."""
        if seen.receipt is None:
            return False
        at_once = seen.receipt.succeeded and self.what != CANCEL
        return at_once or seen.depth >= SAFE_DEPTH


SignedOrders = MutableMapping[str, SubmittedTransaction]
"""What the caller signed for each order, by order id; of a swap with ETH by its hash, too."""


def record(orders: SignedOrders, sent: SubmittedTransaction) -> None:
    """Record a transaction by its hash before it is submitted. Raises QuoteDeclined.

    A mapping that cannot keep it raises OSError: then nothing may be submitted.
    """
    try:
        orders[sent.tx_hash] = sent
    except OSError as error:
        raise errors.QuoteDeclined(
            f"{sent.what} was signed, but it cannot be recorded ({error}): it was not submitted"
        ) from error


Record = Callable[[SubmittedTransaction], SubmittedTransaction]
"""Called with what was signed before it is submitted; returns it as it is recorded."""


def unrecorded(sent: SubmittedTransaction) -> SubmittedTransaction:
    """Return it: an order is recorded once the service names it."""
    return sent


def remember(orders: SignedOrders, sent: SubmittedTransaction) -> None:
    """Record the order's transaction. Raises UnexpectedResponse for the id of another one."""
    order_id = sent.order_id or ""
    if orders.setdefault(order_id, sent).tx_hash != sent.tx_hash:
        raise errors.UnexpectedResponse(f"the service named order {order_id} for two transactions")


@dataclass(frozen=True, slots=True)
class OutcomeWatch:
    """Event: the caller's own node is now watched for `seconds`; `why` is the reason."""

    why: str
    sent: SubmittedTransaction
    seconds: float


@dataclass(frozen=True, slots=True)
class Sighting:
    """What one node shows of a transaction in one answer, which proves its chain."""

    head: int
    next_nonce: int
    receipt: node_calls.NodeReceipt | None

    @property
    def depth(self) -> int:
        """Return the number of blocks from the transaction's own to the head; 0 without one."""
        return 0 if self.receipt is None else max(self.head - self.receipt.block_number + 1, 0)


def look(tx_hash: str, wallet: str, pauses: Sequence[float]) -> Flow[Sighting]:
    """Look at a transaction at the caller's own node, again after `pauses` (s) while it is busy.

    Raises WrongChain for a node of another chain, and UnexpectedResponse for another's receipt.
    """
    # the nonce before the receipt: the block that uses it may come between the two
    next_nonce, receipt, head = yield from _on_mainnet(
        node_calls.nonce(wallet, "latest"),
        node_calls.receipt(tx_hash),
        node_calls.HEAD,
        pauses=pauses,
    )
    if receipt is not None and receipt.transaction_hash.lower() != tx_hash.lower():
        raise errors.UnexpectedResponse("the node answered the receipt of another transaction")
    return Sighting(head, next_nonce, receipt)


def _pauses(watched_s: float | None) -> Sequence[float]:
    """Return the pauses of each look: none in a watch, which waits between its looks."""
    return BUSY_PAUSES_S if watched_s == 0.0 else ()


def _on_mainnet(
    *calls: node_calls.NodeCall[Any], pauses: Sequence[float] = BUSY_PAUSES_S
) -> Flow[tuple[Any, ...]]:
    """Return the results of a node that proves its chain in the same answer. Raises WrongChain."""
    chain, *results = yield from perform_all(node_calls.CHAIN_ID, *calls, pauses=pauses)
    if chain != MAINNET:
        raise errors.WrongChain(chain)
    return tuple(results)


@dataclass(frozen=True, slots=True)
class Watched:
    """The end of a watch. A shallow `receipt`, of a revert or a cancel, may come with OPEN.

    `trouble` is the error of the last look, if it failed.
    """

    outcome: TransactionOutcome
    receipt: node_calls.NodeReceipt | None = None
    trouble: errors.ClientError | None = None


class _Passes:
    """Judges looks at a transaction one after another."""

    def __init__(self, sent: SubmittedTransaction, sure_looks: int) -> None:
        self._sent, self._sure_looks = sent, sure_looks
        self._passed = 0
        self._since = 0.0

    def judge(self, seen: Sighting, now: float) -> Flow[TransactionOutcome]:
        if seen.receipt is not None:
            if not self._sent.is_shown(seen):
                return TransactionOutcome.OPEN
            succeeded = seen.receipt.succeeded
            return TransactionOutcome.MINED if succeeded else TransactionOutcome.REVERTED
        if seen.next_nonce <= self._sent.nonce:
            self._passed = 0  # what other looks counted was another backend's
            return TransactionOutcome.OPEN
        self._since = now if not self._passed else self._since
        self._passed += 1
        if (yield from self._is_replaced(seen, now)):
            return TransactionOutcome.REPLACED
        return TransactionOutcome.OPEN

    def _is_replaced(self, seen: Sighting, now: float) -> Flow[bool]:
        """Return whether a block shows that the nonce was used by another transaction.

        A count alone does not: it may come from another backend. Where the node has no state of
        the blocks before, or an authorization (EIP-7702) used the nonce, its finalized count must
        agree over some looks.
        """
        try:
            block = yield from _block_of_nonce(self._sent, seen.head)
            user = None if block is None else (yield from _user_of_nonce(self._sent, block))
            if block is not None and user is not None:
                return user != self._sent.tx_hash.lower() and seen.head - block + 1 >= SAFE_DEPTH
        except errors.NodeRpcError:
            pass  # it has no such state
        if self._passed < self._sure_looks or now - self._since < SURE_S:
            return False
        final = yield from perform(node_calls.nonce(self._sent.wallet, "finalized"))
        return bool(final > self._sent.nonce)


def _block_of_nonce(sent: SubmittedTransaction, head: int) -> Flow[int | None]:
    """Return the block that used the nonce; None if it is older than what every node can show."""
    low, high = max(head - _SEARCHED_BLOCKS, 0), head
    if (yield from perform(node_calls.nonce(sent.wallet, hex(low)))) > sent.nonce:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if (yield from perform(node_calls.nonce(sent.wallet, hex(middle)))) > sent.nonce:
            high = middle
        else:
            low = middle
    return high


def _user_of_nonce(sent: SubmittedTransaction, block: int) -> Flow[str | None]:
    """Return the hash of the transaction in this block that has the wallet's nonce."""
    mined = yield from perform(node_calls.block(hex(block)))
    user = from_any_case(sent.wallet), sent.nonce
    transactions = mined.transactions if mined else ()
    return next((tx.hash for tx in transactions if (tx.sender, tx.nonce) == user), None)


def watch_transaction(
    sent: SubmittedTransaction,
    polling: PollingPolicy,
    watched_s: float,
    sure_looks: int = SURE_LOOKS,
    gives_up_s: float | None = None,
) -> Flow[Watched]:
    """Look at a transaction until it is decided, for at most `watched_s` seconds, at least once.

    No error of the node decides it. One that is not transient ends the watch after `gives_up_s`.
    """
    started = (yield from read_clock()).seconds
    passes, failures, failing_since = _Passes(sent, sure_looks), 0, started
    while True:
        wait, trouble, receipt = polling.node_interval_s, None, None
        now = (yield from read_clock()).seconds
        try:
            seen = yield from look(sent.tx_hash, sent.wallet, _pauses(watched_s))
            outcome = yield from passes.judge(seen, (yield from read_clock()).seconds)
            if outcome is not TransactionOutcome.OPEN:
                return Watched(outcome, seen.receipt)
            failures, receipt = 0, seen.receipt
        except errors.ClientError as error:
            failing_since = failing_since if failures else now
            failures += 1
            wait, trouble = polling.wait(failures, error).seconds, error
        now = (yield from read_clock()).seconds
        is_hopeless = trouble is not None and not trouble.is_transient and gives_up_s is not None
        if now - started + wait > watched_s or (
            is_hopeless and now - failing_since + wait > (gives_up_s or 0.0)
        ):
            return Watched(TransactionOutcome.OPEN, receipt, trouble)
        yield Sleep(wait)


@dataclass(frozen=True, slots=True)
class OrderEnd:
    """How an order stands: what the service reports, and what the caller's own node shows.

    `fate` is the outcome of the signed transaction at the caller's own node; None if nothing could
    be compared: `unchecked` says why. `receipt` is that node's.
    """

    record: OrderStatusResponse
    fate: TransactionOutcome | None
    receipt: node_calls.NodeReceipt | None = None
    unchecked: str = ""
    trouble: errors.ClientError | None = None

    @property
    def own_record(self) -> OrderStatusResponse:
        """The record with hash, block and gas of the own node's receipt, where it has one.

        What only the service says of the amount received is left out then.
        """
        receipt = self.receipt
        if receipt is None or not self.is_final:
            return self.record
        return msgspec.structs.replace(
            self.record,
            tx_hash=receipt.transaction_hash,
            block_number=receipt.block_number,
            gas_used=receipt.gas_used,
            effective_gas_price=WireAmount(receipt.effective_gas_price),
            fee_paid_wei=WireAmount(receipt.gas_used * receipt.effective_gas_price),
            received=None,
            delivered=None,
        )

    @property
    def checked(self) -> bool:
        """Whether the caller's own node was asked; if not, only the service reports the state."""
        return self.fate is not None

    @property
    def is_final(self) -> bool:
        """Whether the caller's own node shows the end. A service's report is none."""
        return self.fate not in (None, TransactionOutcome.OPEN)

    @property
    def confirmed(self) -> bool:
        """Whether it was mined and succeeded. Unchecked, only the service reports this."""
        if self.fate is None:
            return self.record.status == "confirmed"
        return self.fate is TransactionOutcome.MINED

    @property
    def may_be_mined(self) -> bool:
        """Whether the transaction may still be mined, or have been mined."""
        return not self.is_final and not self.confirmed

    @property
    def is_contradicted(self) -> bool:
        """Whether the service calls the order final, and the caller's own node shows otherwise."""
        ended_well = self.record.status == "confirmed"
        return self.record.is_terminal and self.is_final and ended_well != self.confirmed

    def require_agreement(self, sent: SubmittedTransaction) -> None:
        """Raise StatusContradiction, or MayBeMined if only the service calls it confirmed."""
        record = self.record
        if self.is_contradicted:
            raise errors.StatusContradiction(record.order_id, record.status, sent.tx_hash)
        if record.status == "confirmed":
            self.require_certainty(sent)

    def require_certainty(self, sent: SubmittedTransaction) -> None:
        """Raise StatusContradiction, or MayBeMined if the own node does not show the end."""
        record = self.record
        if self.is_contradicted:
            raise errors.StatusContradiction(record.order_id, record.status, sent.tx_hash)
        if self.fate is TransactionOutcome.OPEN:
            shows = f"cannot show it ({self.trouble})" if self.trouble else "has no receipt of it"
            raise errors.MayBeMined(
                f"the service says that the order is {record.status}, but your own node {shows}",
                tx_hash=sent.tx_hash,
                nonce=sent.nonce,
                order_id=record.order_id,
            )


NO_NODE = "not checked: there is no node of yours"
NOT_SIGNED_HERE = "not checked: what was signed for it is not recorded here"


def judge_record(
    record: OrderStatusResponse,
    sent: SubmittedTransaction | None,
    polling: PollingPolicy,
    watched_s: float | None = None,
    *,
    has_node: bool,
) -> Flow[OrderEnd]:
    """Compare a record of an order with the caller's own node and with what the caller signed.

    The node is watched for `watched_s`; None: as long as the record needs. Without `sent` the
    transaction that the service names counts only if the service calls it off and it was mined.
    """
    if not has_node:
        return OrderEnd(record, None, unchecked=NO_NODE)
    if sent is None:
        return (yield from _named_by_service(record))
    if record.status == "confirmed":
        seen = yield from _awaited_receipt(sent, polling, watched_s)
    else:
        most = polling.doubt_s if record.is_terminal else 0.0
        seen = yield from watch_transaction(sent, polling, most if watched_s is None else watched_s)
    return OrderEnd(record, seen.outcome, seen.receipt, trouble=seen.trouble)


def _awaited_receipt(
    sent: SubmittedTransaction, polling: PollingPolicy, watched_s: float | None
) -> Flow[Watched]:
    """Look for the receipt of a confirmed order: the own node may be some blocks behind, or fail.

    A revert contradicts the service at any depth.
    """
    started, looks = (yield from read_clock()).seconds, 0
    least = (_RECEIPT_LOOKS, _RECEIPT_S) if watched_s is None else (1, watched_s)
    trouble: errors.ClientError | None = None
    while looks < least[0] or (yield from read_clock()).seconds - started < least[1]:
        if looks:
            yield Sleep(polling.node_interval_s)
        looks += 1
        try:
            seen = yield from look(sent.tx_hash, sent.wallet, _pauses(watched_s))
        except errors.ClientError as error:
            trouble = error
            if polling.on_trouble is not None:
                polling.on_trouble(error, polling.node_interval_s)
            continue
        receipt = seen.receipt
        if receipt is not None and (sent.what != CANCEL or seen.depth >= SAFE_DEPTH):
            mined = TransactionOutcome.MINED, TransactionOutcome.REVERTED
            return Watched(mined[not receipt.succeeded], receipt)
    return Watched(TransactionOutcome.OPEN, None, trouble)


def _named_by_service(record: OrderStatusResponse) -> Flow[OrderEnd]:
    receipt = None
    if record.tx_hash is not None and record.is_terminal and record.status != "confirmed":
        try:
            (receipt,) = yield from _on_mainnet(node_calls.receipt(record.tx_hash))
        except errors.ClientError:
            receipt = None
    if receipt is not None and receipt.succeeded:
        return OrderEnd(record, TransactionOutcome.MINED, receipt)
    return OrderEnd(record, None, unchecked=NOT_SIGNED_HERE)


class _OwnLooks:
    """Looks at the caller's own node while a service is followed, which may hide the end."""

    def __init__(self, sent: SubmittedTransaction, patience_s: float) -> None:
        self._sent, self._patience_s = sent, patience_s
        self._passes = _Passes(sent, SURE_LOOKS)
        self._since: float | None = None
        self.last: Watched | None = None

    def is_decided(self) -> Flow[bool]:
        """Return whether the node has shown an end for so long. An error of the node is none."""
        try:
            seen = yield from look(self._sent.tx_hash, self._sent.wallet, ())
            now = (yield from read_clock()).seconds
            outcome = yield from self._passes.judge(seen, now)
        except errors.ClientError:
            return False
        if outcome is TransactionOutcome.OPEN:
            self._since = self.last = None
            return False
        self.last = Watched(outcome, seen.receipt)
        self._since = now if self._since is None else self._since
        return now - self._since >= self._patience_s


def follow_to_end(
    order_id: str,
    sent: SubmittedTransaction | None,
    polling: PollingPolicy,
    watch: Callable[[OrderStatusResponse | OutcomeWatch], None],
    *,
    has_node: bool,
) -> Flow[OrderEnd]:
    """Follow an order until the service calls it final; return how it ended.

    A service that does not report for `doubt_s` what the caller's own node shows is not waited for.
    Raises the errors of `follow_order`.
    """
    if sent is None or not has_node:
        record = yield from follow_order(
            order_id, polling, watch, signed_hash=None if sent is None else sent.tx_hash
        )
        return (yield from judge_record(record, sent, polling, has_node=has_node))
    own = _OwnLooks(sent, polling.doubt_s)
    record = yield from follow_order(
        order_id, polling, watch, signed_hash=sent.tx_hash, is_decided=own.is_decided
    )
    if not record.is_terminal and own.last is not None:
        return OrderEnd(record, own.last.outcome, own.last.receipt)
    if record.status != "confirmed":
        watch(OutcomeWatch(f"the service reports {record.status}", sent, polling.doubt_s))
    return (yield from judge_record(record, sent, polling, has_node=has_node))
