"""Simulation of a swap on the caller's own node, before it is signed.

It is a check in addition to the router's own: of the amount received, and of everything that leaves
the wallet. Every field equals that of the transaction or of the next block, so that a contract
cannot distinguish the simulation from the transaction.

Source: https://ethereum.github.io/execution-apis/api-documentation/ (eth_simulateV1)
"""

import re
import secrets
from dataclasses import dataclass
from typing import Any

import msgspec

from quietswap.client import node_calls
from quietswap.client.errors.base import NodeRpcError, UnexpectedResponse
from quietswap.client.errors.flow import UnsafeQuote
from quietswap.client.flows.effects import Flow, perform
from quietswap.client.flows.quote_checks import SwapRequest, check_unsimulated, measures_itself
from quietswap.contract.quotes import SwapQuoteResponse
from quietswap.domain.address import from_any_case
from quietswap.domain.quote.transfer_fee_probe import STEPS, TransferFeeProbe, forwarder, lost
from quietswap.domain.quote.wallet_effects import (
    EventLog,
    SwapBounds,
    arrived,
    broken_rule,
    parse_log,
)
from quietswap.domain.routers.calldata import payer

_VIEW_GAS = 3_000_000
_GAS_MULTIPLE_HALVES, _MODEST_GAS = 7, 500_000
_NO_METHOD, _NO_SUCH_FORM = -32601, -32602
_NO_METHOD_WORDS = re.compile(
    r"does not exist|not (supported|found|available|implemented|allowed)|unsupported|unknown method"
)


@dataclass(frozen=True, slots=True)
class SwapSimulation:
    """The result of a simulated swap.

    `delivers` is the amount received, in smallest units of the buy token. It is None, with a
    `reason`, if the caller's own node cannot simulate. `gas_used` is in gas units, after refunds;
    None if the node does not report it.
    """

    delivers: int | None
    reason: str = ""
    gas_used: int | None = None


def simulate_swap(
    quote: SwapQuoteResponse, request: SwapRequest, *, must: bool
) -> Flow[SwapSimulation]:
    """Simulate the swap at the caller's own node; `must` refuses it if the node cannot.

    Raises UnsafeQuote when the swap reverts, delivers less than the minimum, takes anything but the
    sell amount from the wallet, or has a gas limit far above the gas used.
    """
    block = yield from perform(node_calls.latest_block())
    wallet, router, head = request.wallet, quote.dex_route.target, hex(block.number)
    held = yield from perform(node_calls.token_balance(request.sell_token, wallet, head))
    bought = yield from perform(node_calls.token_balance(request.buy_token, wallet, head))
    allowed = yield from perform(node_calls.allowance(request.sell_token, wallet, router))
    before = _Before(held, bought, allowed)
    try:
        tried = yield from perform(_call(quote, request, block))
    except NodeRpcError as error:
        if must or not _lacks_method(error):
            raise UnsafeQuote(f"your node cannot try the swap ({error}): not signed") from error
        check_unsimulated(quote)
        return SwapSimulation(None, str(error))
    return _judge(tried, quote, request, before)


def _lacks_method(error: NodeRpcError) -> bool:
    return error.code in (_NO_METHOD, _NO_SUCH_FORM) or bool(
        _NO_METHOD_WORDS.search(str(error).lower())
    )


def _call(
    quote: SwapQuoteResponse, request: SwapRequest, block: node_calls.NodeBlock
) -> node_calls.NodeCall["_Outcome"]:
    """Return the call that simulates the swap in the next block.

    The block after it reads both balances. If the router compares a balance of its own, that block
    also measures a fee on transfer: by a transfer from the payer to the wallet, and by one from the
    wallet to a random address.
    """
    params = quote.mev_protection.transaction_params
    held = node_calls.balance_data(request.wallet)
    views = [_view(token, held) for token in (request.sell_token, request.buy_token)]
    second: dict[str, object] = {"blockOverrides": _overrides(block, 2), "calls": views}
    if measures_itself(quote):
        probe = _probe(quote, request)
        second["calls"] = views + [
            _view(target, "0x" + data.hex()) | {"from": request.wallet}
            for target, data in probe.steps()
        ]
        code = "0x" + forwarder(probe.token).hex()
        second["stateOverrides"] = {probe.payer: {"code": code}}
    swap = {
        "from": request.wallet,
        "to": params.to,
        "data": params.data,
        "value": hex(params.value),
        "gas": hex(params.gas_limit),
        "maxFeePerGas": hex(params.max_fee_per_gas),
        "maxPriorityFeePerGas": hex(params.max_priority_fee_per_gas),
        "nonce": hex(params.nonce or 0),
    }
    state = {
        "blockStateCalls": [
            {"blockOverrides": _overrides(block, 1), "calls": [swap]},
            second,
        ],
        "traceTransfers": True,
        "validation": False,
    }
    return node_calls.NodeCall("eth_simulateV1", (state, hex(block.number)), _results)


def _probe(quote: SwapQuoteResponse, request: SwapRequest) -> TransferFeeProbe:
    target, buy = from_any_case(quote.dex_route.target), from_any_case(request.buy_token)
    return TransferFeeProbe(
        wallet=from_any_case(request.wallet),
        payer=payer(target, bytes.fromhex(quote.dex_route.data[2:]), buy),
        collector=secrets.token_bytes(20),
        token=buy,
        part=quote.min_buy_amount,
    )


def _view(token: str, data: str) -> dict[str, str]:
    return {"to": token, "data": data, "gas": hex(_VIEW_GAS)}


def _overrides(block: node_calls.NodeBlock, later: int) -> dict[str, str]:
    return {
        "number": hex(block.number + later),
        "time": hex(block.time + later * node_calls.BLOCK_S),
        "gasLimit": hex(block.gas_limit),
        "feeRecipient": block.miner,
        "prevRandao": "0x" + secrets.token_hex(32),
        "baseFeePerGas": hex(block.next_base_fee),
    }


@dataclass(frozen=True, slots=True)
class _Before:
    """Balances of the wallet and allowance of the router before the swap, in smallest units."""

    sell: int
    buy: int
    allowed: int


class _LogWire(msgspec.Struct, frozen=True):
    address: str
    topics: tuple[str, ...]
    data: str = "0x"


class _Failure(msgspec.Struct, frozen=True):
    message: str = ""


class _Tried(msgspec.Struct, frozen=True, rename="camel"):
    status: str
    return_data: str = "0x"
    gas_used: str | None = None
    logs: tuple[_LogWire, ...] = ()
    error: _Failure | None = None


class _Block(msgspec.Struct, frozen=True):
    calls: tuple[_Tried, ...]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Results of the simulated calls; `probe` has those of `TransferFeeProbe`, or is empty."""

    swap: _Tried
    sell: _Tried
    buy: _Tried
    probe: tuple[_Tried, ...]


def _results(result: Any) -> _Outcome:
    first, second = msgspec.convert(result, tuple[_Block, _Block])
    (swap,), (sell, buy, *probe) = first.calls, second.calls
    return _Outcome(swap, sell, buy, tuple(probe))


def _judge(
    tried: _Outcome, quote: SwapQuoteResponse, request: SwapRequest, before: _Before
) -> SwapSimulation:
    swap = tried.swap
    if node_calls.number(swap.status) != 1:
        why = f": {swap.error.message[:120]}" if swap.error and swap.error.message else ""
        raise UnsafeQuote(f"tried on your node the swap reverts{why}: not signed")
    bounds = SwapBounds(
        wallet=from_any_case(request.wallet),
        router=from_any_case(quote.dex_route.target),
        sell_token=from_any_case(request.sell_token),
        sell_amount=request.sell_amount,
        allowance=before.allowed,
    )
    left = _amount(tried.sell)
    try:
        logs = _logs(swap)
        broken = broken_rule(logs, bounds, balance_before=before.sell, balance_after=left)
    except ValueError as error:
        raise UnexpectedResponse(f"eth_simulateV1: a log cannot be read ({error})") from error
    if broken is not None:
        raise UnsafeQuote(f"tried on your node {broken}: not signed")
    delivers = _amount(tried.buy) - before.buy
    if delivers < quote.min_buy_amount:
        raise UnsafeQuote(
            f"tried on your node it delivers {delivers}, not {quote.min_buy_amount}: not signed"
        )
    if measures_itself(quote):
        credited = arrived(logs, bounds.wallet, from_any_case(request.buy_token))
        _check_fee(tried, quote, missing=credited - delivers)
    gas_used = None if swap.gas_used is None else node_calls.number(swap.gas_used)
    if gas_used is not None:
        _check_gas(quote, gas_used)
    return SwapSimulation(delivers, gas_used=gas_used)


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
    if len(tried.probe) != STEPS or any(
        node_calls.number(step.status) != 1 for step in tried.probe
    ):
        return False
    _, _, back, _, collected = tried.probe
    return not lost(part, _amount(tried.buy), _amount(back), _amount(collected))


def _amount(view: _Tried) -> int:
    if node_calls.number(view.status) != 1:
        raise UnsafeQuote("a token does not tell the wallet's balance on your node: not signed")
    return node_calls.word_of(view.return_data)


def _logs(swap: _Tried) -> list[EventLog]:
    return [parse_log(log.address, log.topics, log.data) for log in swap.logs]
