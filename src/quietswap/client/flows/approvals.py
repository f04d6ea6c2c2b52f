"""Approvals: allow a router to move the sell token, by a public transaction of the wallet."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from quietswap.client import node_calls
from quietswap.client.errors import ClientError, NodeRpcError, QuoteDeclined, WrongChain
from quietswap.client.flows.effects import Flow, Sleep, perform
from quietswap.client.flows.finality import SubmittedTransaction, TransactionOutcome
from quietswap.client.flows.moment import of_one_moment, read_ahead
from quietswap.client.flows.polling import BACKENDS, PollingPolicy
from quietswap.client.flows.quote_checks import MAX_FEE_OPTION, Approval, require_cost
from quietswap.client.flows.submission_outcome import error_for_outcome, mined
from quietswap.client.signing import Signer, Transaction, hash_of, sign
from quietswap.rules.amounts import UINT256_MAX
from quietswap.rules.tx.fees import NEW_SLOT_GAS
from quietswap.rules.tx.signed import MAINNET

_SENDINGS = 3
_FROM_ZERO_GAS = 22_100 - 5_000 + NEW_SLOT_GAS
"""Extra gas to write a zero storage slot instead of a nonzero one (EIP-2929).

An approval after a reset needs it, and from Amsterdam on `NEW_SLOT_GAS` more. No node can estimate
that approval before the reset is mined.
"""
_HELD = ("already known", "already imported", "nonce too low")
"""Node errors for bytes that it already has; then the receipt decides."""


@dataclass(frozen=True, slots=True)
class ApprovalSent:
    """One approval that the node took; no block has it yet. `amount` in smallest units."""

    token: str
    router: str
    amount: int
    tx_hash: str
    nonce: int


@dataclass(frozen=True, slots=True)
class Approved:
    """One approval that was mined; `amount` in smallest units (0 for a reset)."""

    token: str
    router: str
    amount: int
    receipt: node_calls.NodeReceipt


def newest_block(approvals: Sequence[Approved]) -> int:
    """Return the number of the block with the last approval; 0 without one."""
    return approvals[-1].receipt.block_number if approvals else 0


def block_name(since: int) -> str:
    """Return the block to read at: the latest, or the one with the approval of just before.

    It is named, because of several backends of a node one may be late and not have it.
    """
    return hex(since) if since else "latest"


def allowance_since(token: str, wallet: str, router: str, since: int) -> Flow[int]:
    """Return the allowance in block `since`; in the latest if that one's state is gone by now."""
    try:
        read = node_calls.allowance(token, wallet, router, block_name(since))
        return (yield from perform(read))
    except NodeRpcError:
        if not since:
            raise
    latest = yield from perform(node_calls.latest_block(since))
    read = node_calls.allowance(token, wallet, router, hex(latest.number))
    return (yield from perform(read))


@of_one_moment
def ensure_allowance(
    *,
    token: str,
    router: str,
    amount: int,
    wallet: str,
    signer: Signer,
    approval: Approval,
    polling: PollingPolicy,
    max_fee_wei: int | None = None,
    watch: Callable[[ApprovalSent | Approved], None] = lambda _: None,
) -> Flow[tuple[Approved, ...]]:
    """Approve `router` if its allowance is below `amount`; return the mined approvals.

    Some tokens (USDT) refuse to change an allowance that is not zero. If the allowance is not zero
    and the node estimates that the approval reverts, the allowance is first reset to zero.
    `max_fee_wei` is the highest gas cost of each. Raises QuoteDeclined while a public transaction
    of the wallet waits for a block, NodeRpcError when the approval itself reverts, and the errors
    of `send_public`.
    """
    yield from read_ahead(
        *_reads(token, wallet, router, amount, approval),
        node_calls.allowance(token, wallet, router),  # after the nonces: no approval is missed
    )
    current = yield from perform(node_calls.allowance(token, wallet, router))
    if current >= amount or approval == "never":
        return ()
    yield from _require_nothing_waits(wallet, polling)
    # an earlier try's approval may have been mined since
    current = yield from perform(node_calls.allowance(token, wallet, router))
    if current >= amount:
        return ()
    amounts = yield from approval_amounts(
        token=token, router=router, amount=amount, wallet=wallet, approval=approval, current=current
    )
    approvals: list[Approved] = []
    next_nonce = 0
    for each in amounts:

        def sent(tx_hash: str, nonce: int, approved: int = each) -> None:
            nonlocal next_nonce
            next_nonce = nonce + 1
            watch(ApprovalSent(token, router, approved, tx_hash, nonce))

        data = node_calls.approval_data(router, each)
        receipt = yield from send_public(
            "the approval", to=token, data=data, wallet=wallet, signer=signer, polling=polling,
            max_fee_wei=max_fee_wei, sent=sent, since=newest_block(approvals),
            least_nonce=next_nonce,
        )  # fmt: skip
        approvals.append(Approved(token, router, each, receipt))
        watch(approvals[-1])
    return tuple(approvals)


def _reads(
    token: str, wallet: str, router: str, amount: int, approval: Approval
) -> list[node_calls.NodeCall[Any]]:
    """Return what an approval needs of the caller's own node, read at once."""
    return [
        node_calls.CHAIN_ID,
        node_calls.nonce(wallet),
        node_calls.nonce(wallet, "latest"),
        *cost_reads(token, wallet, router, amount, approval),
    ]


def cost_reads(
    token: str, wallet: str, router: str, amount: int, approval: Approval
) -> list[node_calls.NodeCall[Any]]:
    """Return what `approval_cost` reads."""
    limit = _limit(amount, approval)
    return [node_calls.TIP, node_calls.BASE_FEE, _gas_read(token, router, limit, wallet)]


def _limit(amount: int, approval: Approval) -> int:
    return UINT256_MAX if approval == "max" else amount


def approval_amounts(
    *, token: str, router: str, amount: int, wallet: str, approval: Approval, current: int
) -> Flow[tuple[int, ...]]:
    """Return the amounts to approve one after another, where `current` is approved now.

    A token that refuses to change an allowance is reset first: then these are two transactions.
    """
    limit = _limit(amount, approval)
    if current > 0 and not (yield from _would_pass(token, router, limit, wallet)):
        return 0, limit
    return (limit,)


def _require_nothing_waits(wallet: str, polling: PollingPolicy) -> Flow[None]:
    """Refuse an approval while the node has a transaction of the wallet that no block has.

    It may be the approval of an earlier try, and a second one would be paid for, too. The swap
    would have to wait for it anyway. Of several nodes behind one URL, one may be behind and not
    have the block of an approval that another has, so it asks again. Raises QuoteDeclined.
    """
    pending = 0
    for turn in range(BACKENDS):
        if turn:
            yield Sleep(polling.node_interval_s)
        pending = yield from perform(node_calls.nonce(wallet))
        if (yield from perform(node_calls.nonce(wallet, "latest"))) >= pending:
            return
    raise QuoteDeclined(
        f"your own node has a public transaction of the wallet with nonce {pending - 1} that no"
        " block has yet; it may be this approval, sent before: wait until it is decided"
    )


@of_one_moment
def next_approval(
    *, token: str, router: str, amount: int, wallet: str, polling: PollingPolicy,
    max_fee_wei: int | None,
) -> Flow[Transaction]:  # fmt: skip
    """Return the transaction that approves `amount`, for a signer elsewhere.

    Raises QuoteDeclined while a public transaction of the wallet waits for a block.
    """
    yield from read_ahead(*_reads(token, wallet, router, amount, "exact"))
    yield from _require_nothing_waits(wallet, polling)
    data = node_calls.approval_data(router, amount)
    return (
        yield from public_transaction(
            "the approval", to=token, data=data, wallet=wallet, max_fee_wei=max_fee_wei
        )
    )


def approval_cost(
    *, token: str, router: str, amount: int, wallet: str, approval: Approval
) -> Flow[int]:
    """Return the highest gas cost of `ensure_allowance` in wei, at the node's current fees.

    Raises NodeRpcError when the approval reverts.
    """
    tip = yield from perform(node_calls.TIP)
    base_fee = yield from perform(node_calls.BASE_FEE)
    try:
        gas = yield from _approval_gas(token, router, _limit(amount, approval), wallet)
    except NodeRpcError:
        reset = yield from _approval_gas(token, router, 0, wallet)
        gas = reset + (reset + _FROM_ZERO_GAS) * 5 // 4
    return gas * (2 * base_fee + tip)


def _approval_gas(token: str, router: str, amount: int, wallet: str) -> Flow[int]:
    return (yield from perform(_gas_read(token, router, amount, wallet))) * 5 // 4


def _gas_read(token: str, router: str, amount: int, wallet: str) -> node_calls.NodeCall[int]:
    call = {"from": wallet, "to": token, "data": node_calls.approval_data(router, amount)}
    return node_calls.estimate_gas(call, "latest")


def require_mainnet() -> Flow[None]:
    """Refuse a node of another chain, whose nonces do not apply. Raises WrongChain."""
    chain_id = yield from perform(node_calls.CHAIN_ID)
    if chain_id != MAINNET:
        raise WrongChain(chain_id)


def _would_pass(token: str, router: str, amount: int, wallet: str) -> Flow[bool]:
    try:
        yield from _approval_gas(token, router, amount, wallet)
    except NodeRpcError:
        return False
    return True


def send_public(
    what: str,
    *,
    to: str,
    data: str,
    wallet: str,
    signer: Signer,
    polling: PollingPolicy,
    gas_limit: int | None = None,
    max_fee_wei: int | None = None,
    sent: Callable[[str, int], None] = lambda _hash, _nonce: None,
    since: int = 0,
    least_nonce: int = 0,
) -> Flow[node_calls.NodeReceipt]:
    """Send an ordinary transaction through the caller's own node and wait until it is mined.

    The fee cap is twice the base fee plus the node's priority fee. `gas_limit` None uses the node's
    estimate plus 25 percent. The transaction is public in the mempool, so never send a swap this
    way. `sent` is called with hash and nonce once the node has it. What the wallet sent just before
    is in block `since` and used the nonce below `least_nonce`. Raises QuoteDeclined if its gas may
    cost more than `max_fee_wei`, and MayBeMined if the node fails after it was sent.
    """
    transaction = yield from public_transaction(
        what, to=to, data=data, wallet=wallet, gas_limit=gas_limit, max_fee_wei=max_fee_wei,
        since=since, least_nonce=least_nonce,
    )  # fmt: skip
    signed = sign(transaction, signer, wallet)
    made = SubmittedTransaction(what, hash_of(signed), wallet, transaction["nonce"])
    return (yield from publish(signed, made, polling, sent))


@of_one_moment
def public_transaction(
    what: str,
    *,
    to: str,
    data: str,
    wallet: str,
    gas_limit: int | None = None,
    max_fee_wei: int | None = None,
    since: int = 0,
    least_nonce: int = 0,
) -> Flow[Transaction]:
    """Return the transaction that `send_public` signs."""
    call = {"from": wallet, "to": to, "data": data}
    estimate = node_calls.estimate_gas(call, block_name(since))
    reads = [node_calls.CHAIN_ID, node_calls.nonce(wallet), node_calls.TIP, node_calls.BASE_FEE]
    yield from read_ahead(*reads, *([] if gas_limit else [estimate]))
    yield from require_mainnet()
    gas = gas_limit or (yield from perform(estimate)) * 5 // 4
    nonce = max((yield from perform(node_calls.nonce(wallet))), least_nonce)
    tip = yield from perform(node_calls.TIP)
    base_fee = yield from perform(node_calls.BASE_FEE)
    cost = gas * (2 * base_fee + tip)
    require_cost(f"the gas of {what}", cost, max_fee_wei, MAX_FEE_OPTION)
    return {
        "to": to,
        "data": data,
        "value": 0,
        "gas": gas,
        "maxFeePerGas": 2 * base_fee + tip,
        "maxPriorityFeePerGas": tip,
        "nonce": nonce,
        "chainId": MAINNET,
        "type": 2,
    }


def publish(
    signed: str,
    made: SubmittedTransaction,
    polling: PollingPolicy,
    sent: Callable[[str, int], None] = lambda _hash, _nonce: None,
) -> Flow[node_calls.NodeReceipt]:
    """Send signed bytes through the caller's own node and wait until they are mined.

    Raises what `send_public` raises after it signed.
    """
    yield from _send(signed, made, polling)
    sent(made.tx_hash, made.nonce)
    return (yield from mined(made, polling))


def _send(signed: str, made: SubmittedTransaction, polling: PollingPolicy) -> Flow[None]:
    """Send the signed bytes, and repeat if no answer arrives: they can be only one transaction.

    Raises MayBeMined if no try was answered.
    """
    for attempt in range(1, _SENDINGS + 1):
        try:
            yield from perform(node_calls.send(signed))
        except NodeRpcError as refused:
            # error texts for known bytes: https://github.com/ethereum/go-ethereum core/txpool
            if attempt == 1 or not any(word in str(refused).lower() for word in _HELD):
                raise
        except ClientError as error:
            if not error.is_transient or attempt == _SENDINGS:
                raise error_for_outcome(TransactionOutcome.OPEN, str(error), made, error) from error
            yield polling.wait(attempt, error)
            continue
        return
