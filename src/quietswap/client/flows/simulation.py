"""Simulation of a swap on the caller's own node, before it is signed.

It is a check in addition to the router's own: of the amount received, and of everything that leaves
the wallet. `rules/trial` builds and judges it, as for the service: a contract cannot distinguish
the simulation from the transaction.
"""

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from quietswap.client import node_calls
from quietswap.client.errors import NodeRpcError, UnexpectedResponse, UnsafeQuote
from quietswap.client.flows import quote_checks
from quietswap.client.flows.effects import Flow, perform
from quietswap.client.flows.moment import read_ahead
from quietswap.rules.chain.records import Head
from quietswap.rules.chain.rpc_codes import INVALID_PARAMS, METHOD_NOT_FOUND
from quietswap.rules.chain.rpc_wire import MalformedResult
from quietswap.rules.contract.quotes import SwapQuoteResponse
from quietswap.rules.safety.calldata import payer
from quietswap.rules.tokens.token import WrapOperation
from quietswap.rules.trial import codec, next_block, verdict
from quietswap.rules.trial.swap_trial import (
    RanTrial,
    SwapTrial,
    after_swap,
    read_trial,
    reader,
    trial_call,
)
from quietswap.rules.tx.address import Address, from_any_case

_HEADS = 3
"""Most blocks on which a trial begins, if a new one comes each time."""
_NO_METHOD_WORDS = re.compile(
    r"does not exist|not (supported|found|available|implemented|allowed)|unsupported|unknown method"
)


@dataclass(frozen=True, slots=True)
class SwapSimulation:
    """The result of a simulated swap.

    `delivers` is the amount received, in smallest units of the buy token. It is None, with a
    `reason`, if the caller's own node cannot simulate. `gas_used` is in gas units, after refunds.
    """

    delivers: int | None
    reason: str = ""
    gas_used: int | None = None


def simulate_swap(
    quote: SwapQuoteResponse,
    request: quote_checks.SwapRequest,
    *,
    must: bool,
    since: int = 0,
    is_batched: bool = False,
    head: Head | None = None,
    beside: Sequence[node_calls.NodeCall[Any]] = (),
) -> Flow[SwapSimulation]:
    """Simulate the swap at the caller's own node; `must` refuses it if the node cannot.

    It is simulated on the node's latest block, and not before block `since`, which has the
    approval. `head` is the latest that the caller has read: if it still is, balances and trial are
    one batch, in which `beside` is read, too. Raises UnsafeQuote when the swap reverts, delivers
    less than the minimum, takes anything but the sell amount from the wallet, or has a gas limit
    far above the gas used.
    """
    terms = trial_of(quote, request, is_batched=is_batched)
    swap = _swap(quote, terms.wallet)
    call_in = partial(_call, terms, swap)
    if head is None or head.number < since:
        head = yield from perform(node_calls.latest_block(since))
    reads, block = (
        _balances(quote, request, head),
        next_block.NextBlock.after(head, secrets.randbelow),
    )
    trial = call_in(block)
    for _ in range(_HEADS):
        yield from read_ahead(node_calls.latest_block(), *reads, trial, *beside)
        latest = yield from perform(node_calls.latest_block(since))
        if latest.hash == head.hash:
            break
        head, reads = latest, _balances(quote, request, latest)
        block = next_block.NextBlock.after(head, secrets.randbelow)
        trial = call_in(block)
    sell, buy, allowance = reads
    before = verdict.WalletBefore(
        sell=(yield from perform(sell)),
        buy=(yield from perform(buy)),
        allowance=(yield from perform(allowance)),
    )
    try:
        tried = yield from _tried(trial, block, call_in)
    except NodeRpcError as error:
        if must or not _lacks_method(error):
            raise UnsafeQuote(f"your node cannot try the swap ({error}): not signed") from error
        quote_checks.check_unsimulated(quote)
        return SwapSimulation(None, str(error))
    simulation = _judge(tried, terms, before)
    limit = quote.mev_protection.transaction_params.gas_limit
    if verdict.exceeds_gas(limit, tried.swap.gas):
        less = swap | {"gas": hex(verdict.enough_gas(limit))}
        needs_it = head.is_amsterdam and (yield from _needs_more(tried, terms, less, block))
        if not needs_it:
            raise UnsafeQuote(
                f"its gas limit is {limit}, though it uses {tried.swap.gas} tried on your node:"
                " not signed"
            )
    return simulation


def _needs_more(
    tried: RanTrial, terms: SwapTrial, less: Mapping[str, object], block: next_block.NextBlock
) -> Flow[bool]:
    """Return whether the swap fails with `less` gas, where the node does not tell what it needs."""
    if tried.swap.tells_peak:
        return False
    call_in = partial(_call, terms, less)
    try:
        again = yield from _tried(call_in(block), block, call_in)
    except NodeRpcError as error:
        raise UnsafeQuote(f"your node cannot try the swap ({error}): not signed") from error
    return not again.swap.succeeded


def _balances(
    quote: SwapQuoteResponse, request: quote_checks.SwapRequest, head: Head
) -> tuple[node_calls.NodeCall[int], node_calls.NodeCall[int], node_calls.NodeCall[int]]:
    wallet, at = request.wallet, hex(head.number)
    return (
        node_calls.token_balance(request.sell_token, wallet, at),
        node_calls.token_balance(request.buy_token, wallet, at),
        node_calls.allowance(request.sell_token, wallet, quote.dex_route.target, at),
    )


def _tried(
    trial: node_calls.NodeCall[RanTrial],
    block: next_block.NextBlock,
    call_in: Callable[[next_block.NextBlock], node_calls.NodeCall[RanTrial]],
) -> Flow[RanTrial]:
    while True:
        try:
            return (yield from perform(trial))
        except NodeRpcError as error:
            if error.code != INVALID_PARAMS or block.root_name is None:
                raise
        block = block.other_root()
        trial = call_in(block)


def _lacks_method(error: NodeRpcError) -> bool:
    return error.code in (METHOD_NOT_FOUND, INVALID_PARAMS) or bool(
        _NO_METHOD_WORDS.search(str(error).lower())
    )


def trial_of(
    quote: SwapQuoteResponse, request: quote_checks.SwapRequest, *, is_batched: bool
) -> SwapTrial:
    """Return the trial of a quote that `check_quote` accepts."""
    router, buy = from_any_case(quote.dex_route.target), from_any_case(request.buy_token)
    data = bytes.fromhex(quote.dex_route.data[2:])
    inside = request.batch_conversion if is_batched else None
    measures = quote_checks.measures_itself(quote) and inside != "unwrap"
    return SwapTrial(
        wallet=from_any_case(request.wallet),
        router=router,
        sell_token=from_any_case(request.sell_token),
        sell_amount=quote.sell_amount,
        buy_token=buy,
        min_buy_amount=quote.min_buy_amount,
        payer=payer(router, data, buy) if measures else None,
        is_batched=is_batched,
        conversion=WrapOperation(inside) if inside else None,
    )


def _call(
    trial: SwapTrial, swap: Mapping[str, object], block: next_block.NextBlock
) -> node_calls.NodeCall[RanTrial]:
    """Return the call that simulates the swap in `block`."""
    below = secrets.randbelow
    after = after_swap(trial, block, reader(trial.wallet, block, below), below)
    call = trial_call(block, swap, after, {})
    return node_calls.NodeCall(call.method, call.params, partial(read_trial, trial=trial))


def _swap(quote: SwapQuoteResponse, wallet: Address) -> dict[str, object]:
    params = quote.mev_protection.transaction_params
    return codec.call_object(
        wallet,
        from_any_case(params.to),
        bytes.fromhex(params.data[2:]),
        value=params.value,
        gas=params.gas_limit,
        max_fee=params.max_fee_per_gas,
        tip=params.max_priority_fee_per_gas,
    )


def _judge(tried: RanTrial, trial: SwapTrial, before: verdict.WalletBefore) -> SwapSimulation:
    try:
        result = verdict.judged(trial, tried, before)
    except MalformedResult as error:
        raise UnexpectedResponse(str(error)) from error
    match verdict.fault(result, trial.min_buy_amount):
        case verdict.Fault.UNKNOWN:
            raise UnsafeQuote(f"{result.reason} on your node: not signed")
        case verdict.Fault.REVERTS:
            reason = "" if result.reason == codec.NO_REASON else f": {result.reason}"
            raise UnsafeQuote(f"tried on your node the swap reverts{reason}: not signed")
        case verdict.Fault.BREAKS_A_RULE if result.takes_fee:
            raise UnsafeQuote(
                f"tried on your node {trial.buy_token} takes a fee on transfer, or cannot be sent"
                " on, and this router's minimum holds only before that: not signed"
            )
        case verdict.Fault.BREAKS_A_RULE:
            raise UnsafeQuote(f"tried on your node {result.broken}: not signed")
        case verdict.Fault.SHORT:
            raise UnsafeQuote(
                f"tried on your node it delivers {result.received}, not {trial.min_buy_amount}:"
                " not signed"
            )
    return SwapSimulation(result.received, gas_used=result.gas_used or 0)
