"""The batched form of a quote, simulated as its transaction, or the reason for none."""

import dataclasses

from msgspec.structs import replace

from quietswap.rules.chain.records import SimulationResult
from quietswap.rules.quotes.quote import BatchForm, Route, SwapQuote
from quietswap.rules.routers import batch
from quietswap.rules.tokens import erc20
from quietswap.rules.tokens.token import WrapOperation
from quietswap.rules.trial.verdict import Fault, fault
from quietswap.service.quoting.routes import CollectedRoutes


async def batched_form(
    quote: SwapQuote, collected: CollectedRoutes, conversion: WrapOperation | None
) -> BatchForm | None:
    """Return the form, simulated as its transaction, or the reason for none.

    None for a wallet that is not delegated; nothing is asked of the node then.
    """
    sender, route = collected.prepared.sender, quote.route
    delegate = batch.delegate_of(sender.code)
    if delegate is None:
        return None
    refused = BatchForm(delegate, conversion=conversion)
    reason = _obstacle(quote, collected)
    if reason is not None:
        return dataclasses.replace(refused, reason=reason)
    first_gas = quote.gas + batch.FIRST_GAS + (erc20.TYPICAL_GAS[conversion] if conversion else 0)
    run = await collected.prepared.simulate_batched(replace(route, gas=first_gas), conversion)
    reason = _fault(run, route)
    if reason is not None or run.gas_limit is None:
        return dataclasses.replace(refused, reason=reason)
    calls = batch.swap_batch(
        quote.sell_token,
        route.target,
        quote.sell_amount,
        route.data,
        min_buy_amount=route.min_buy_amount,
        conversion=conversion,
    )
    nonce, wrapped = quote.params.nonce, calls.wrapped
    params = collected.transaction(
        quote.wallet, calls.calldata(), run.gas_limit, nonce, wrapped=wrapped
    )
    cost = wrapped + params.gas_limit * params.max_fee_per_gas
    if wrapped and sender.eth_balance < cost:
        reason = f"the wallet holds {sender.eth_balance} wei of ETH, and it may cost {cost} wei"
        return dataclasses.replace(refused, reason=reason)
    return dataclasses.replace(refused, params=params, gas=run.gas)


def _obstacle(quote: SwapQuote, collected: CollectedRoutes) -> str | None:
    sender, route = collected.prepared.sender, quote.route
    if quote.params.nonce != sender.nonce:
        return batch.LATER
    return batch.refused_code(sender.code) or batch.refused_allowance(
        sender.allowances.get(route.spender)
    )


def _fault(run: SimulationResult, route: Route) -> str | None:
    match fault(run, route.min_buy_amount):
        case None:
            return None
        case Fault.UNKNOWN:
            return f"it could not be simulated: {run.reason}"
        case Fault.REVERTS:
            return f"it would revert: {run.reason}"
        case Fault.BREAKS_A_RULE:
            return run.broken
        case Fault.SHORT:
            return f"it delivers {run.received or 0}, less than its minimum {route.min_buy_amount}"
