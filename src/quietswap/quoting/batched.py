"""The batched form of a quote, for a wallet that is delegated (`quietswap.routers.batch`)."""

from msgspec.structs import replace

from quietswap.chain import fees
from quietswap.chain.chain import SimulationResult
from quietswap.chain.signed import UnsignedTransaction
from quietswap.quoting.quote import BatchForm, Route, SwapQuote
from quietswap.quoting.routes import CollectedRoutes
from quietswap.routers import batch


async def batched_form(quote: SwapQuote, collected: CollectedRoutes) -> BatchForm | None:
    """Return the form, simulated as its transaction, or the reason for none.

    None for a wallet that is not delegated; nothing is asked of the node then.
    """
    sender, route = collected.sender, quote.route
    delegate = batch.delegate_of(sender.code)
    if delegate is None:
        return None
    reason = _obstacle(quote, collected)
    if reason is not None:
        return BatchForm(delegate, reason=reason)
    run = await collected.prepared.simulate_batched(replace(route, gas=quote.gas + batch.FIRST_GAS))
    reason = _fault(run, route)
    if reason is not None or run.gas_limit is None:
        return BatchForm(delegate, reason=reason)
    calls = batch.SwapBatch(quote.sell_token, route.target, quote.sell_amount, route.data)
    params = UnsignedTransaction(
        to=quote.wallet,
        data=calls.calldata(),
        value=0,
        gas_limit=run.gas_limit,
        max_fee_per_gas=fees.max_fee_per_gas(
            collected.next_base_fee,
            fees.SWAP_FEE_MULTIPLE,
            gas_limit=run.gas_limit,
            balance=sender.eth_balance,
        ),
        nonce=quote.params.nonce,
    )
    return BatchForm(delegate, params, run.gas)


def _obstacle(quote: SwapQuote, collected: CollectedRoutes) -> str | None:
    sender, route = collected.sender, quote.route
    if not route.bound:
        return "no router is proven to enforce the terms of this route"
    if quote.params.nonce != sender.nonce:
        return batch.LATER
    return batch.refused_code(sender.code) or batch.refused_allowance(
        sender.allowances.get(route.spender)
    )


def _fault(run: SimulationResult, route: Route) -> str | None:
    if run.succeeded is None:
        return f"it could not be simulated: {run.reason}"
    if not run.succeeded:
        return f"it would revert: {run.reason}"
    if run.broken is not None:
        return run.broken
    if run.received is None or run.received < route.min_buy_amount:
        return f"it delivers {run.received or 0}, less than its minimum {route.min_buy_amount}"
    return None
