"""The plan of a swap: what would be signed, what it costs and may lose, and whether it may be.

All decisions before a signature are made here, from the request, from the calldata and from the
caller's own node. Commands and tools show a plan; none decides again.
"""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from quietswap.client import api_calls, node_calls
from quietswap.client.errors import ClientError, QuoteDeclined, UnsafeQuote
from quietswap.client.flows import approvals as approvals_flow
from quietswap.client.flows import quoting, reference_price, wrap
from quietswap.client.flows.effects import Flow, perform, perform_all, read_clock
from quietswap.client.flows.finality import SignedOrders
from quietswap.client.flows.moment import at_one_moment, read_ahead
from quietswap.client.flows.polling import (
    PollingPolicy,
    open_orders,
    require_trade_scope,
    retry_transient,
)
from quietswap.client.flows.quote_checks import (
    MAX_FEE_OPTION,
    SwapRequest,
    is_accepted,
    require_cost,
)
from quietswap.client.flows.simulation import simulate_swap
from quietswap.client.flows.swap_plan import PlannedApproval, SwapPlan, WalletFacts
from quietswap.client.signing import Signer
from quietswap.rules.amounts import format_units
from quietswap.rules.contract.quotes import SwapQuoteResponse
from quietswap.rules.safety.loss import Loss, together
from quietswap.rules.tokens.token import WETH

_MOST_QUOTES = 10
_MOST_ROUTERS = 5
"""Most approvals in one swap; each fresh quote may name another source's router."""


Event = SwapQuoteResponse | SwapPlan | approvals_flow.ApprovalSent | approvals_flow.Approved
Watch = Callable[[Event], None]


def planned(
    request: SwapRequest,
    polling: PollingPolicy,
    watch: Watch,
    orders: SignedOrders,
    *,
    has_node: bool,
    since: int = 0,
) -> Flow[SwapPlan]:
    """Request a quote that passes the checks and plan its signatures, at block `since` or later.

    `orders` are what the caller signed before. What is only declined is the plan's `refusal`.
    Raises UnsafeQuote and NonceMismatch.
    """
    flow = _planned(request, polling, watch, orders, has_node=has_node, since=since)
    return (yield from at_one_moment(flow))


def _planned(
    request: SwapRequest,
    polling: PollingPolicy,
    watch: Watch,
    orders: SignedOrders,
    *,
    has_node: bool,
    since: int,
) -> Flow[SwapPlan]:
    conversion, request = request.conversion, request.in_weth
    if (conversion or request.batch) and not has_node:
        subject = "approve and swap in one" if request.batch else "a plan with ETH"
        raise QuoteDeclined(f"{subject} needs your own node (--rpc-url): nothing was signed")
    quote = yield from quoting.safe_quote(request, polling, has_node=has_node, since=since)
    at = (yield from read_clock()).seconds
    watch(quote)
    reads = has_node and quoting.needs_reference(request)
    reference = (
        (yield from reference_price.find(request, int(quote.sell_amount))) if reads else None
    )
    below = None
    if reference is not None:
        below = reference.below_percent(quote, request.slippage_bps)
    loss = quoting.judge_quote(quote, request.slippage_bps, below)
    plan = SwapPlan(request, quote, loss, at, reference=reference, conversion=conversion)
    plan = replace(plan, refusal=_refused_price(plan))
    if has_node:
        plan = yield from _with_wallet(plan, polling, orders, since)
    return plan


def _refused_price(plan: SwapPlan) -> ClientError | None:
    """Return why minimum, price or loss are not accepted; None if they are, or may be."""
    quote, request = plan.quote, plan.request
    try:
        if request.at_least is not None and quote.min_buy_amount < request.at_least:
            raise QuoteDeclined(f"the minimum {quote.min_buy_amount} is below {request.at_least}")
        reference_price.require_fair(quote, request, plan.reference)
        if request.confirm is None:
            _require_consent(plan)
    except QuoteDeclined as error:
        return error
    return None


def _require_consent(plan: SwapPlan) -> None:
    request = plan.request
    quoting.require_consent(
        plan.loss,
        plan.accepted_bps,
        plan.quote,
        request.confirm,
        has_floor=request.at_least is not None,
    )


def _with_wallet(
    plan: SwapPlan, polling: PollingPolicy, orders: SignedOrders, since: int
) -> Flow[SwapPlan]:
    """Add what the own node shows of the wallet, and the approvals that the swap needs."""
    quote, request = plan.quote, plan.request
    block = yield from perform(node_calls.latest_block(since))
    facts = yield from _wallet_facts(quote, request, since)
    plan = replace(plan, wallet=facts, block=block)
    if plan.refusal is not None:
        return plan
    try:
        plan = yield from _with_conversion(plan)
        _require_funds(plan, facts)
        yield from _require_enough_behind(plan, facts, polling, orders)
        if facts.allowance >= quote.sell_amount and not request.batch_conversion:
            return plan
        if request.batch:
            form = yield from quoting.batched_quote(quote, request, facts.allowance)
            return replace(plan, quote=form, is_batched=True)
        quoting.require_approvable(request, quote, facts.allowance)
        plan = yield from _with_approvals(plan, facts)
        if plan.conversion:
            _require_funds(plan, facts)  # the gas of all steps, before the first one
        # before the public approval: its gas would be paid for a swap that is declined
        plan = yield from with_gas(plan, quote.estimated_gas)
        # last: it asks the service, and what the node is asked after that is a further trip
        yield from quoting.require_free_nonces(request, facts.next_nonce, polling)
        return plan
    except QuoteDeclined as error:
        return replace(plan, refusal=error)


def _with_conversion(plan: SwapPlan) -> Flow[SwapPlan]:
    """Add what the wrap or unwrap of a plan may cost, by its own quote of at least the minimum.

    Raises UnsafeQuote, and QuoteDeclined for gas above the request's limit.
    """
    if plan.conversion is None:
        return plan
    quote, request = plan.quote, plan.request
    units = quote.sell_amount if plan.conversion == "wrap" else quote.min_buy_amount
    converted = wrap.WrapRequest(plan.conversion, format_units(int(units), 18), request.wallet)
    answer = yield from perform(
        api_calls.wrap_quote(converted.operation, converted.amount, request.wallet)
    )
    wrap.check_quote(answer, converted)
    params = answer.mev_protection.transaction_params
    yield from quoting.check_fee(params)
    cost = int(params.max_gas_cost)
    require_cost(f"the gas of the {plan.conversion}", cost, request.max_fee_wei, MAX_FEE_OPTION)
    loss = yield from wrap.judged(answer, converted, has_node=True)
    plan = replace(plan, conversion_gas_wei=cost, loss=together(plan.loss, loss))
    if request.confirm is None:
        _require_consent(plan)
    return plan


def _wallet_facts(quote: SwapQuoteResponse, request: SwapRequest, since: int) -> Flow[WalletFacts]:
    token, wallet, router = request.sell_token, request.wallet, quote.dex_route.target
    allowance = yield from approvals_flow.allowance_since(token, wallet, router, since)
    sell_balance, ether, next_nonce, used_nonces = yield from perform_all(
        node_calls.token_balance(token, wallet),
        node_calls.eth_balance(wallet),
        node_calls.nonce(wallet),
        node_calls.nonce(wallet, "latest"),
    )
    return WalletFacts(sell_balance, ether, allowance, next_nonce, used_nonces)


def _require_funds(plan: SwapPlan, facts: WalletFacts) -> None:
    """Refuse a swap above the balance: before an approval costs gas, and after it.

    The most that it may cost is value + gas limit x fee cap, as a node asks (EIP-1559). With a wrap
    first, or in the same transaction, what is sold is ETH now.
    """
    needs = int(plan.quote.sell_amount)
    if facts.sell_balance < needs and not plan.wraps:
        raise QuoteDeclined(
            f"the wallet holds {facts.sell_balance} of {needs} smallest units of the sell token",
            (plan.request.sell_token, facts.sell_balance, needs),
        )
    cost = plan.params.value + plan.max_gas_cost + (needs if plan.wraps else 0)
    if facts.ether < cost:
        payment = ", ".join(plan.steps) if plan.conversion else "the transaction"
        raise QuoteDeclined(
            f"the wallet holds {facts.ether} wei of ETH, and {payment} may cost {cost} wei"
        )


def _require_enough_behind(
    plan: SwapPlan, facts: WalletFacts, polling: PollingPolicy, orders: SignedOrders
) -> Flow[None]:
    """Refuse a swap behind open orders that will take the balance or the allowance that it needs.

    Those are counted that the service reports, and those of `orders`: at most one with each nonce
    is mined. An order at the swap's own nonce is what it replaces. An order's router is not
    reported: each counts as one of the quote's router. No approval is advised: it would take the
    nonce of such an order. Raises QuoteDeclined.
    """
    request, router = plan.request, plan.quote.dex_route.target
    needs = int(plan.quote.sell_amount)
    nonce = plan.params.nonce
    if nonce is None or nonce <= facts.used_nonces:
        return
    swapped = _sold_here(request, range(facts.used_nonces, nonce), orders)
    unwrapped = 0
    for each in (yield from open_orders(request.wallet, polling, has_node=True)):
        is_sale = each.summary.sell_token.lower() == request.sell_token.lower()
        if not is_sale or each.kind not in ("swap", "wrap"):
            continue
        status = yield from retry_transient(api_calls.order_status(each.order_id), polling)
        if status.nonce is not None and status.nonce >= nonce:
            continue
        if each.kind == "swap":
            key = each.order_id if status.nonce is None else status.nonce
            swapped[key] = max(swapped.get(key, 0), int(each.summary.sell_amount))
        else:
            unwrapped += int(each.summary.sell_amount)
    moved = sum(swapped.values())
    for has, amount, ahead in (
        ("the wallet holds", facts.sell_balance, moved + unwrapped),
        (f"{router} may move", facts.allowance, moved),
    ):
        if ahead and amount < ahead + needs:
            raise QuoteDeclined(
                f"{has} {amount} smallest units of the sell token, and open orders with lower"
                f" nonces sell {ahead} of them: the swap of {needs} behind them would"
                " fail. Nothing was signed; wait until they are decided"
            )


def _sold_here(request: SwapRequest, nonces: range, orders: SignedOrders) -> dict[int | str, int]:
    """Return by nonce how much of the sell token swaps would sell that were signed here."""
    amounts: dict[int | str, int] = {}
    for sent in orders.values():
        is_ours = sent.wallet.lower() == request.wallet.lower() and sent.nonce in nonces
        if is_ours and (sent.sell_token or "").lower() == request.sell_token.lower():
            amounts[sent.nonce] = max(amounts.get(sent.nonce, 0), sent.sell_amount)
    return amounts


def _with_approvals(plan: SwapPlan, facts: WalletFacts) -> Flow[SwapPlan]:
    request, router = plan.request, plan.quote.dex_route.target
    token, wallet = request.sell_token, request.wallet
    costs = approvals_flow.cost_reads(
        token, wallet, router, request.approval_amount, request.approval
    )
    yield from read_ahead(*costs, *reference_price.feed_reads(WETH))
    amounts = yield from approvals_flow.approval_amounts(
        token=token,
        router=router,
        amount=request.approval_amount,
        wallet=wallet,
        approval=request.approval,
        current=facts.allowance,
    )
    cost = yield from approvals_flow.approval_cost(
        token=token,
        router=router,
        amount=request.approval_amount,
        wallet=wallet,
        approval=request.approval,
    )
    each = tuple(PlannedApproval(token, router, amount) for amount in amounts)
    return replace(plan, approvals=each, approval_gas_wei=cost)


def with_gas(plan: SwapPlan, gas_used: int | None) -> Flow[SwapPlan]:
    """Judge the plan again with so much gas, at the current base fee of the own node.

    Returns the plan as it is if a reference, Chainlink's ETH price or the gas is missing. A loss
    that this raises counts; what was accepted before is not asked again. Raises QuoteDeclined.
    """
    request, reference = plan.request, plan.reference
    if gas_used is None or reference is None:
        return plan
    ether = yield from reference_price.usd_price(WETH)
    if ether is None:
        return plan
    base_fee = yield from perform(node_calls.BASE_FEE)
    gas_usd = Decimal(gas_used * base_fee).scaleb(-18) * ether
    gas_percent = 100 * gas_usd / reference.sold_usd
    reference_price.require_fair_with_gas(plan.quote, request, reference, gas_percent)
    loss = quoting.judge_quote(plan.quote, request.slippage_bps, plan.below_percent, gas_percent)
    if loss.bps <= plan.loss.bps:
        return plan
    raised = replace(plan, loss=loss)
    if request.confirm is None:
        _require_consent(raised)
    return raised


def tried(plan: SwapPlan, since: int) -> Flow[SwapPlan]:
    """Simulate the swap at the caller's own node, and judge it with the gas that it used.

    Raises UnsafeQuote and QuoteDeclined.
    """
    return (yield from at_one_moment(_tried(plan, since)))


def _tried(plan: SwapPlan, since: int) -> Flow[SwapPlan]:
    trial = yield from simulate_swap(
        plan.quote,
        plan.request,
        must=plan.is_batched,
        since=since,
        is_batched=plan.is_batched,
        head=plan.block,
        beside=() if plan.reference is None else reference_price.feed_reads(WETH),
    )
    return (yield from with_gas(replace(plan, trial=trial), trial.gas_used))


def swap_plan(
    request: SwapRequest,
    polling: PollingPolicy,
    watch: Watch,
    orders: SignedOrders,
    *,
    has_node: bool,
) -> Flow[SwapPlan]:
    """Return the plan of a swap, tried at the own node unless another step comes first.

    Nobody is asked: what a person would be asked is `needs_consent`. Raises UnsafeQuote.
    """
    yield from require_trade_scope(polling)
    plan = yield from planned(request, polling, watch, orders, has_node=has_node)
    is_first = not plan.approvals and plan.conversion != "wrap"
    if plan.refusal is not None or not is_first or not has_node:
        return plan
    try:
        return (yield from tried(plan, 0))
    except (QuoteDeclined, UnsafeQuote) as error:
        return replace(plan, refusal=error)


def accepted_plan(
    request: SwapRequest,
    polling: PollingPolicy,
    watch: Watch,
    orders: SignedOrders,
    *,
    has_node: bool,
    since: int = 0,
) -> Flow[SwapPlan]:
    """Return a plan that is accepted, and whose quote has not expired.

    `accept` may take long, for example if a person answers a prompt. If the quote is then too old,
    a new one is planned and passed to `accept`. Raises UnsafeQuote or QuoteDeclined.
    """
    for _ in range(_MOST_QUOTES):
        plan = yield from planned(request, polling, watch, orders, has_node=has_node, since=since)
        watch(plan)
        plan.require()
        if not is_accepted(request.accept, plan.quote):
            raise QuoteDeclined("the quote was not accepted")
        _require_consent(plan)
        if (yield from read_clock()).seconds <= plan.fresh_until:
            return plan
    raise QuoteDeclined("each quote grew old before it was accepted")


def approved_plan(
    request: SwapRequest,
    signer: Signer,
    polling: PollingPolicy,
    watch: Watch,
    orders: SignedOrders,
    *,
    has_node: bool,
) -> Flow[tuple[SwapPlan, tuple[approvals_flow.Approved, ...]]]:
    """Return an accepted plan whose router has an allowance of at least the sell amount.

    An approval takes time and a nonce, so a fresh quote follows each approval; it may name another
    router. Raises QuoteDeclined when balance or allowance is too low, or when the approval would
    use the nonce of an open order. Raises the errors of `ensure_allowance`.
    """
    approvals: list[approvals_flow.Approved] = []
    for _ in range(_MOST_ROUTERS):
        since = approvals_flow.newest_block(approvals)
        plan = yield from accepted_plan(
            request, polling, watch, orders, has_node=has_node, since=since
        )
        if not plan.approvals:
            return plan, tuple(approvals)
        sent = yield from approvals_flow.ensure_allowance(
            token=request.sell_token,
            router=plan.quote.dex_route.target,
            amount=request.approval_amount,
            wallet=request.wallet,
            signer=signer,
            approval=request.approval,
            polling=polling,
            max_fee_wei=request.max_fee_wei,
            watch=watch,
        )
        approvals.extend(sent)
    raise QuoteDeclined("each fresh quote chose a router that was not approved yet")


def require_consent_again(plan: SwapPlan, before: Loss) -> None:
    """Ask for a loss that the trial raised. Raises QuoteDeclined."""
    if plan.loss.bps > before.bps:
        _require_consent(plan)
