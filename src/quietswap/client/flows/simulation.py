"""Simulation of a swap on the caller's own node, before it is signed.

It is a check in addition to the router's own: of the amount received, and of everything that leaves
the wallet. `rules/trial/codec.py` builds and reads it, as for the service: a contract cannot
distinguish the simulation from the transaction.
"""

import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from quietswap.client import node_calls
from quietswap.client.errors import NodeRpcError, UnexpectedResponse, UnsafeQuote
from quietswap.client.flows import quote_checks
from quietswap.client.flows.effects import Flow, perform
from quietswap.client.flows.moment import read_ahead
from quietswap.rules.chain.rpc_wire import MalformedResult
from quietswap.rules.contract.quotes import SwapQuoteResponse
from quietswap.rules.quotes.transfer_fee_measurement import TransferFeeProbe, forwarder, lost
from quietswap.rules.safety.calldata import payer
from quietswap.rules.safety.wallet_effects import SwapBounds, arrived, broken_rule
from quietswap.rules.tokens import erc20
from quietswap.rules.trial import codec
from quietswap.rules.tx.address import Address, from_any_case

_HEADS = 3
"""Most blocks on which a trial begins, if a new one comes each time."""
_GAS_MULTIPLE_HALVES, _MODEST_GAS = 7, 500_000
_NO_METHOD, _NO_SUCH_FORM = -32601, -32602
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
    head: node_calls.NodeBlock | None = None,
    beside: Sequence[node_calls.NodeCall[Any]] = (),
) -> Flow[SwapSimulation]:
    """Simulate the swap at the caller's own node; `must` refuses it if the node cannot.

    It is simulated on the node's latest block, and not before block `since`, which has the
    approval. `head` is the latest that the caller has read: if it still is, balances and trial are
    one batch, in which `beside` is read, too. Raises UnsafeQuote when the swap reverts, delivers
    less than the minimum, takes anything but the sell amount from the wallet, or has a gas limit
    far above the gas used.
    """
    call_in = partial(_call, quote, request, is_batched=is_batched)
    if head is None or head.number < since:
        head = yield from perform(node_calls.latest_block(since))
    reads, block = _balances(quote, request, head), codec.NextBlock.after(head, secrets.randbelow)
    trial = call_in(block)
    for _ in range(_HEADS):
        yield from read_ahead(node_calls.latest_block(), *reads, trial, *beside)
        latest = yield from perform(node_calls.latest_block(since))
        if latest.hash == head.hash:
            break
        head, reads = latest, _balances(quote, request, latest)
        block = codec.NextBlock.after(head, secrets.randbelow)
        trial = call_in(block)
    sell, buy, allowance = reads
    before = _Before(
        sell=(yield from perform(sell)),
        buy=(yield from perform(buy)),
        allowed=(yield from perform(allowance)),
    )
    try:
        tried = yield from _tried(trial, block, call_in)
    except NodeRpcError as error:
        if must or not _lacks_method(error):
            raise UnsafeQuote(f"your node cannot try the swap ({error}): not signed") from error
        quote_checks.check_unsimulated(quote)
        return SwapSimulation(None, str(error))
    return _judge(tried, quote, request, before)


def _balances(
    quote: SwapQuoteResponse, request: quote_checks.SwapRequest, head: node_calls.NodeBlock
) -> tuple[node_calls.NodeCall[int], node_calls.NodeCall[int], node_calls.NodeCall[int]]:
    wallet, at = request.wallet, hex(head.number)
    return (
        node_calls.token_balance(request.sell_token, wallet, at),
        node_calls.token_balance(request.buy_token, wallet, at),
        node_calls.allowance(request.sell_token, wallet, quote.dex_route.target, at),
    )


def _tried(
    trial: node_calls.NodeCall["_Outcome"],
    block: codec.NextBlock,
    call_in: Callable[[codec.NextBlock], node_calls.NodeCall["_Outcome"]],
) -> Flow["_Outcome"]:
    while True:
        try:
            return (yield from perform(trial))
        except NodeRpcError as error:
            if error.code != _NO_SUCH_FORM or block.root_name is None:
                raise
        block = block.other_root()
        trial = call_in(block)


def _lacks_method(error: NodeRpcError) -> bool:
    return error.code in (_NO_METHOD, _NO_SUCH_FORM) or bool(
        _NO_METHOD_WORDS.search(str(error).lower())
    )


def _call(
    quote: SwapQuoteResponse,
    request: quote_checks.SwapRequest,
    block: codec.NextBlock,
    *,
    is_batched: bool,
) -> node_calls.NodeCall["_Outcome"]:
    """Return the call that simulates the swap in `block`.

    The block after it reads both balances. If the router compares a balance of its own, that block
    also measures a fee on transfer: by a transfer from the payer to the wallet, and by one from the
    wallet to a random address. The nonce is not set: a contract cannot read it, and a node refuses
    one that follows a pending transaction.
    """
    wallet = from_any_case(request.wallet)
    sell, buy = from_any_case(request.sell_token), from_any_case(request.buy_token)
    steps = [(token, erc20.balance_of(wallet)) for token in (sell, buy)]
    code: dict[str, object] = {}
    if quote_checks.measures_itself(quote):
        probe = _probe(quote, request)
        steps += probe.steps()
        code = {probe.payer: {"code": "0x" + forwarder(probe.token).hex()}}
    if is_batched:
        router = from_any_case(quote.dex_route.target)
        steps.append((sell, erc20.allowance(wallet, router)))
    blocks = [
        {
            "blockOverrides": block.overrides(),
            "stateOverrides": block.history(),
            "calls": [_swap(quote, wallet)],
        },
        {
            "blockOverrides": block.overrides(later=1),
            "stateOverrides": {wallet: {"balance": _reader_wei(block, len(steps))}} | code,
            "calls": [
                codec.call_object(wallet, to, data, gas=codec.VIEW_GAS, max_fee=block.view_fee)
                for to, data in steps
            ],
        },
    ]
    params = codec.blocks_call(blocks, block.tag, validation=True, transfers=True).params
    return node_calls.NodeCall(
        codec.METHOD, params, lambda result: _results(result, len(steps), is_batched=is_batched)
    )


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


def _reader_wei(block: codec.NextBlock, calls: int) -> str:
    """Return an ETH balance that pays for the calls after the swap."""
    return hex(codec.plausible_wei(calls * codec.VIEW_GAS * block.view_fee, secrets.randbelow))


def _probe(quote: SwapQuoteResponse, request: quote_checks.SwapRequest) -> TransferFeeProbe:
    target, buy = from_any_case(quote.dex_route.target), from_any_case(request.buy_token)
    return TransferFeeProbe(
        wallet=from_any_case(request.wallet),
        payer=payer(target, bytes.fromhex(quote.dex_route.data[2:]), buy),
        collector=codec.unused_address(secrets.randbelow),
        token=buy,
        part=quote.min_buy_amount,
    )


@dataclass(frozen=True, slots=True)
class _Before:
    """Balances of the wallet and allowance of the router before the swap, in smallest units."""

    sell: int
    buy: int
    allowed: int


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Results of the simulated calls; `probe` has those of `TransferFeeProbe`, or is empty.

    `left` is the router's allowance after a batch; None for a plain swap.
    """

    swap: codec.SimulatedCall
    sell: codec.SimulatedCall
    buy: codec.SimulatedCall
    probe: tuple[codec.SimulatedCall, ...]
    left: codec.SimulatedCall | None = None


def _results(result: Any, count: int, *, is_batched: bool) -> _Outcome:
    (_, (swap,)), (_, (sell, buy, *probe)) = codec.read_blocks(
        msgspec.json.encode(result), 1, count
    )
    left = probe.pop() if is_batched else None
    return _Outcome(swap, sell, buy, tuple(probe), left)


def _judge(
    tried: _Outcome, quote: SwapQuoteResponse, request: quote_checks.SwapRequest, before: _Before
) -> SwapSimulation:
    swap = tried.swap
    if not swap.succeeded:
        why = "" if swap.reason == codec.NO_REASON else f": {swap.reason}"
        raise UnsafeQuote(f"tried on your node the swap reverts{why}: not signed")
    bounds = SwapBounds(
        wallet=from_any_case(request.wallet),
        router=from_any_case(quote.dex_route.target),
        sell_token=from_any_case(request.sell_token),
        sell_amount=request.sell_amount,
        allowance=before.allowed if tried.left is None else request.sell_amount,
    )
    if tried.left is not None and tried.left.number != 0:
        raise UnsafeQuote("tried on your node it leaves the router an allowance: not signed")
    left = _amount(tried.sell)
    try:
        logs = codec.logs_about(bounds.wallet, swap.logs)
    except MalformedResult as error:
        raise UnexpectedResponse(str(error)) from error
    if logs is None:
        raise UnsafeQuote("tried on your node it logs too much about the wallet: not signed")
    broken = broken_rule(logs, bounds, balance_before=before.sell, balance_after=left)
    if broken is not None:
        raise UnsafeQuote(f"tried on your node {broken}: not signed")
    delivers = _amount(tried.buy) - before.buy
    if delivers < quote.min_buy_amount:
        raise UnsafeQuote(
            f"tried on your node it delivers {delivers}, not {quote.min_buy_amount}: not signed"
        )
    if quote_checks.measures_itself(quote):
        credited = arrived(logs, bounds.wallet, from_any_case(request.buy_token))
        _check_fee(tried, quote, missing=credited - delivers)
    _check_gas(quote, swap.gas_used)
    return SwapSimulation(delivers, gas_used=swap.gas_used)


def _check_gas(quote: SwapQuoteResponse, used: int) -> None:
    """Refuse a gas limit far above the gas used, which could cost much more. Raises UnsafeQuote.

    A service sets up to 2.5 times the peak. The peak is up to a quarter above the gas used after
    refunds (EIP-3529). Small limits do not justify a second simulation.
    """
    limit = quote.mev_protection.transaction_params.gas_limit
    most = max(used * _GAS_MULTIPLE_HALVES // 2, _MODEST_GAS)
    if limit > most:
        raise UnsafeQuote(
            f"its gas limit is {limit}, though it uses {used} tried on your node: not signed"
        )


def _check_fee(tried: _Outcome, quote: SwapQuoteResponse, missing: int) -> None:
    """Refuse a buy token with a fee on transfer, which the quote's router does not detect.

    `missing` is the amount in the token's logs minus the amount received. Raises UnsafeQuote.
    """
    if missing > 0 or not _is_whole(tried, quote.min_buy_amount):
        raise UnsafeQuote(
            f"tried on your node {quote.buy_token} takes a fee on transfer, or cannot be sent on,"
            " and this router's minimum holds only before that: not signed"
        )


def _is_whole(tried: _Outcome, part: int) -> bool:
    """Return whether all steps of the probe succeeded, and none of `part` was lost on the way."""
    if any(not step.succeeded for step in tried.probe):
        return False
    _, _, back, _, collected = tried.probe
    return not lost(part, _amount(tried.buy), _amount(back), _amount(collected))


def _amount(view: codec.SimulatedCall) -> int:
    if view.number is None:
        raise UnsafeQuote("a token does not tell the wallet's balance on your node: not signed")
    return view.number
