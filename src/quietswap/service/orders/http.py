"""The handlers of swap orders: submission, status, cancellation and history."""

from typing import Any

from quietswap.rules.amounts import difference_bps, format_ether
from quietswap.rules.contract import orders as contract
from quietswap.rules.contract import requests as shapes
from quietswap.rules.contract import wraps as wrap_bodies
from quietswap.rules.contract.orders import (
    CancelOrderEnvelope,
    CancelQuoteEnvelope,
    OrderHistoryEnvelope,
    OrderStatusEnvelope,
    SwapOrderEnvelope,
)
from quietswap.rules.contract.transactions import WrapMevProtection, WrapTransactionParams
from quietswap.rules.contract.wraps import (
    WrapInfoEnvelope,
    WrapOrderData,
    WrapOrderEnvelope,
    WrapQuoteData,
    WrapQuoteEnvelope,
)
from quietswap.rules.orders.order import FailureCode, Order, OrderStatus, may_be_mined
from quietswap.rules.orders.order_views import OrderListItem, OrderPage, OrderView
from quietswap.rules.orders.request import SubmittedSwap, SubmittedWrap
from quietswap.rules.orders.wallet_transaction import CancelQuote, SubmittedCancel
from quietswap.rules.quotes.quote import WrapQuote
from quietswap.rules.quotes.request import WrapBalances
from quietswap.rules.safety.loss import judge_wrap
from quietswap.rules.tokens.token import WETH, WrapOperation
from quietswap.rules.tx.signed import MAINNET
from quietswap.rules.wire import POLLING_INTERVAL_S
from quietswap.service.api.json import amount, iso_second, iso_timestamp
from quietswap.service.api.operation import ApiRequest, operation
from quietswap.service.api.parsing import requests
from quietswap.service.quoting.http import loss_judgement, transaction_params

# What a mined order brought: stored values to contract Structs.
#
# `stored` is the order without its types: its strings already have their JSON form.


def received(order: OrderView) -> contract.Received | None:
    """Return `received`; None before a block, and for an order that an older release confirmed."""
    stored: Any = order
    if order.received is None and order.received_issue is None:
        return None
    return contract.Received(
        token=order.buy_token, amount=stored.received, reason=order.received_issue
    )


def fee_paid(order: OrderView) -> contract.FeePaid | None:
    """Return the network fee in wei as digits; None before a block."""
    if order.gas_used is None or order.effective_gas_price is None:
        return None
    fee: contract.FeePaid = amount(order.gas_used * int(order.effective_gas_price))
    return fee


def delivered(order: OrderView) -> contract.Delivered | None:
    """Return the received amount against the quote; None if unknown or nothing was quoted."""
    promised, minimum = int(order.buy_amount), int(order.min_buy_amount)
    if order.received is None or not order.succeeded or not (promised and minimum):
        return None
    arrived = int(order.received)
    return contract.Delivered(
        to_promise_bps=difference_bps(arrived, promised),
        to_minimum_bps=difference_bps(arrived, minimum),
    )


def reference(order: OrderView) -> contract.Reference | None:
    """Return `reference`; None unless it was read when the order was confirmed."""
    stored: Any = order
    if order.reference is None or order.received is None or order.block_number is None:
        return None
    return contract.Reference(
        block_number=order.block_number - 1,
        amount=stored.reference,
        value_wei=stored.reference_wei,
        received_bps=difference_bps(int(order.received), int(order.reference)),
    )


def refund(order: OrderView) -> contract.Refund | None:
    """Return `refund`; None before a block, and for an order that an older release confirmed."""
    stored: Any = order
    if order.refund_status is None:
        return None
    return contract.Refund(
        status=stored.refund_status, amount_wei=stored.refund_wei, tx_hash=order.refund_tx
    )


# Orders: domain values to contract Structs.
#
# `blockNumber`, `gasUsed`, `effectiveGasPrice` and `confirmedAt` are at their places only once the
# order is confirmed, as the interface requires. The cost of a reverted transaction is in `error`.

_CONFIRMED = OrderStatus.CONFIRMED.value
_NOT_SENT = FailureCode.NOT_SENT.value
"""Plain strings: they compare four times as fast as members of an enum."""


def tracking(order_id: str) -> contract.Tracking:
    return contract.Tracking(
        status_endpoint=f"/api/v1/mev/orders/{order_id}", polling_interval=POLLING_INTERVAL_S
    )


def sent_at(order: Order) -> Any:
    """Return when the relay took it; until that is known, when the service accepted the order."""
    sent = order.submitted_at_ms
    return iso_timestamp(order.created_at_ms if sent is None else sent)


def initial_status(order: Order) -> OrderStatus:
    """Return the status of the first answer, also when the same bytes are posted again later."""
    pending = order.status is OrderStatus.PENDING
    return OrderStatus.PENDING if pending else OrderStatus.SUBMITTED


def swap_order_response(submitted: SubmittedSwap) -> contract.SwapOrderResponse:
    """Return `data` of POST /api/v1/mev/orders."""
    order = submitted.order
    return contract.SwapOrderResponse(
        order=contract.SwapOrder(
            order_id=order.order_id,
            provider=submitted.relay_name,
            tier=order.tier,
            status=order.status.value,
            submitted_at=sent_at(order),
            expires_at=iso_timestamp(order.expires_at_ms),
            executable_until=iso_second(order.deadline_s),
            estimated_execution_time=submitted.estimated_execution,
            tracking_url=submitted.tracking_url,
            provider_order_id=submitted.provider_order_id,
            tx_hash=order.tx_hash,
        ),
        tracking=tracking(order.order_id),
    )


def order_status_response(order: OrderView) -> contract.OrderStatusResponse:
    """Return `data` of GET /api/v1/mev/orders/:orderId; what is not known yet is absent."""
    stored: Any = order
    created_at = iso_timestamp(order.created_at_ms)
    sent = order.submitted_at_ms
    was_sent = order.failure_code != _NOT_SENT
    mined_at = order.mined_at_ms if order.status == _CONFIRMED else None
    confirmed, code = mined_at is not None, order.failure_code
    return contract.OrderStatusResponse(
        order_id=order.order_id,
        status=stored.status,
        created_at=created_at,
        order_params=contract.OrderParams(
            from_token=order.sell_token,
            to_token=order.buy_token,
            amount=stored.sell_amount,
            min_return_amount=stored.min_buy_amount,
        ),
        tx_hash=order.tx_hash if was_sent else None,
        submitted_at=(created_at if sent is None else iso_timestamp(sent)) if was_sent else None,
        block_number=order.block_number if confirmed else None,
        gas_used=amount(order.gas_used) if confirmed else None,
        effective_gas_price=stored.effective_gas_price if confirmed else None,
        confirmed_at=None if mined_at is None else iso_timestamp(mined_at),
        error=None if confirmed or code is None else _failure(order, code),
        kind=stored.kind,
        received=received(order),
        fee_paid_wei=fee_paid(order),
        delivered=delivered(order),
        refund=refund(order),
        reference=reference(order),
        expires_at=None if order.expires_at_ms is None else iso_timestamp(order.expires_at_ms),
        endpoint_type=order.endpoint_type,
        share_mode=order.share_mode,
        relay_answer=order.relay_answer if order.block_number is None else None,
        executable_until=iso_second(order.deadline_s),
        nonce=None if order.nonce is None else int(order.nonce),
    )


def _failure(order: OrderView, code: str) -> contract.OrderFailure:
    stored: Any = order
    reverted = order.succeeded == 0
    return contract.OrderFailure(
        code=code,
        message=order.failure_message or "",
        may_be_mined=may_be_mined(code, order.deadline_s),
        block_number=order.block_number if reverted else None,
        gas_used=amount(order.gas_used) if reverted else None,
        effective_gas_price=stored.effective_gas_price if reverted else None,
    )


def order_history_response(
    page: OrderPage, limit: int, offset: int
) -> contract.OrderHistoryResponse:
    """Return `data` of GET /api/v1/mev/orders/user/:userAddress."""
    following = offset + len(page.orders)
    return contract.OrderHistoryResponse(
        orders=tuple(map(_item, page.orders)),
        total=page.total,
        has_more=following < page.total,
        pagination=contract.Pagination(limit=limit, offset=offset, next_offset=following),
    )


def _item(line: OrderListItem) -> contract.HistoryItem:
    """Return one line. A page has fifty: unpacking and plain strings halve its cost."""
    stored: tuple[Any, ...] = line
    (
        order_id, status, tx_hash, created_at_ms, sell_token, buy_token, sell_amount, buy_amount,
        block_number, block_time_ms, failure_code, kind, relay_answer,
    ) = stored  # fmt: skip
    is_confirmed = status == _CONFIRMED and block_time_ms is not None
    return contract.HistoryItem(
        order_id=order_id,
        status=status,
        tx_hash=None if failure_code == _NOT_SENT else tx_hash,
        block_number=block_number if is_confirmed else None,
        created_at=iso_timestamp(created_at_ms),
        confirmed_at=iso_timestamp(max(block_time_ms, created_at_ms))
        if is_confirmed and block_time_ms
        else None,
        kind=kind,
        relay_answer=relay_answer if block_number is None else None,
        summary=contract.OrderSummary(
            sell_token=sell_token,
            buy_token=buy_token,
            sell_amount=sell_amount,
            buy_amount=buy_amount,
        ),
    )


# Wrap quotes, submitted wraps and WETH balances: domain values to contract Structs.

_ETH = "ETH"
_WETH_DECIMALS = 18


def wrap_quote_response(quote: WrapQuote) -> wrap_bodies.WrapQuoteResponse:
    """Return `data.quote` of POST /api/v1/mev/wrap/quote."""
    wrapping = quote.operation is WrapOperation.WRAP
    return wrap_bodies.WrapQuoteResponse(
        quote_id=quote.quote_id,
        operation=quote.operation.value,
        amount=format_ether(quote.amount),
        amount_wei=amount(quote.amount),
        input_token=_ETH if wrapping else WETH,
        output_token=WETH if wrapping else _ETH,
        mev_protection=WrapMevProtection(
            provider=quote.protection.display_name,
            transaction_params=transaction_params(quote.params, WrapTransactionParams),
            provider_metadata=quote.protection.metadata(),
        ),
        deadline=quote.valid_until_ms // 1000,
        estimated_gas=amount(quote.gas),
        created_at=iso_timestamp(quote.issued_at_ms),
        valid_until=iso_timestamp(quote.valid_until_ms),
        loss=loss_judgement(judge_wrap(quote.amount, quote.gas_wei)),
        notes=quote.notes,
    )


def wrap_order_response(submitted: SubmittedWrap) -> wrap_bodies.WrapOrderResponse:
    """Return `data.order` of POST /api/v1/mev/wrap/order."""
    order = submitted.order
    initial: Any = initial_status(order)
    return wrap_bodies.WrapOrderResponse(
        operation=submitted.operation.value,
        tx_hash=order.tx_hash,
        sender=submitted.sender,
        amount=format_ether(submitted.amount),
        status=initial,
        provider=submitted.relay_name,
        tracking_url=submitted.tracking_url,
        explorer_url=submitted.explorer_url,
        submitted_at=sent_at(order),
    )


def wrap_info_response(info: WrapBalances) -> wrap_bodies.WrapInfoResponse:
    """Return `data` of GET /api/v1/mev/wrap/info."""
    eth, weth = format_ether(info.eth), format_ether(info.weth)
    return wrap_bodies.WrapInfoResponse(
        weth=wrap_bodies.WethToken(
            address=WETH,
            name=info.name,
            symbol=info.symbol,
            decimals=_WETH_DECIMALS,
            chain_id=MAINNET,
        ),
        balances=wrap_bodies.Balances(
            eth=wrap_bodies.Balance(wei=amount(info.eth), ether=eth),
            weth=wrap_bodies.Balance(wei=amount(info.weth), ether=weth),
        ),
        operations=wrap_bodies.Operations(
            wrap=wrap_bodies.OperationInfo(
                description="Wrap ETH into WETH, one to one. Keep some ETH for gas.", max_amount=eth
            ),
            unwrap=wrap_bodies.OperationInfo(
                description="Unwrap WETH into ETH, one to one.", max_amount=weth
            ),
        ),
    )


# The handlers that wrap and unwrap ETH.


@operation(
    "GET /api/v1/mev/wrap/info",
    "INVALID_ADDRESS INVALID_PARAMETER MISSING_PARAMETER SERVICE_UNAVAILABLE",
    query=shapes.WrapInfoQuery,
)
async def wrap_info(request: ApiRequest) -> WrapInfoEnvelope:
    """ETH and WETH balances of a wallet."""
    query = request.query_values(shapes.WrapInfoQuery)
    wallet = requests.parse_required_wallet(query)
    balances = await request.use.wrap_info(request.key, wallet)
    return WrapInfoEnvelope(ok=True, data=wrap_info_response(balances))


@operation(
    "POST /api/v1/mev/wrap/quote",
    "INVALID_OPERATION INVALID_AMOUNT INVALID_ADDRESS INVALID_PARAMETER MISSING_PARAMETER "
    "WALLET_NOT_ALLOWED TOKEN_NOT_ALLOWED QUOTE_LIMIT_EXCEEDED SERVICE_UNAVAILABLE",
    body=shapes.WrapQuoteBody,
)
async def wrap_quote(request: ApiRequest) -> WrapQuoteEnvelope:
    """A transaction that wraps or unwraps ETH."""
    wrap_request = requests.parse_wrap_quote(request.body)
    quote = await request.use.quote_wrap(request.key, wrap_request)
    data = WrapQuoteData(quote=wrap_quote_response(quote))
    return WrapQuoteEnvelope(ok=True, data=data)


@operation(
    "POST /api/v1/mev/wrap/order",
    "MISSING_PARAMETER INVALID_SIGNATURE INSUFFICIENT_BALANCE NONCE_TOO_LOW INVALID_TRANSACTION "
    "WALLET_NOT_ALLOWED TOKEN_NOT_ALLOWED OPEN_ORDER_LIMIT_EXCEEDED PROVIDER_UNAVAILABLE",
    body=shapes.WrapOrderBody,
)
async def wrap_order(request: ApiRequest) -> WrapOrderEnvelope:
    """Submit a signed wrap or unwrap privately."""
    wrap_request = requests.parse_wrap_order(request.body)
    submitted = await request.use.submit_wrap(request.key, wrap_request)
    return WrapOrderEnvelope(ok=True, data=WrapOrderData(order=wrap_order_response(submitted)))


# Cancels: domain values to contract Structs.


def cancel_quote_response(quote: CancelQuote) -> contract.CancelQuoteResponse:
    """Return `data` of POST /api/v1/mev/orders/:orderId/cancel without a signed transaction."""
    return contract.CancelQuoteResponse(
        order_id=quote.order_id,
        provider=quote.protection.display_name,
        transaction_params=transaction_params(quote.params, contract.CancelTransactionParams),
        provider_metadata=quote.protection.metadata(),
        created_at=iso_timestamp(quote.issued_at_ms),
        valid_until=iso_timestamp(quote.valid_until_ms),
    )


def cancel_order_response(submitted: SubmittedCancel) -> contract.CancelOrderResponse:
    """Return `data` of the same endpoint with a signed transaction."""
    cancel, target = submitted.order, submitted.target
    return contract.CancelOrderResponse(
        order=contract.CancelTarget(order_id=target.order_id, status=target.status.value),
        cancel=contract.Cancel(
            order_id=cancel.order_id,
            provider=submitted.relay_name,
            tier=cancel.tier,
            status=cancel.status.value,
            submitted_at=sent_at(cancel),
            expires_at=iso_timestamp(cancel.expires_at_ms),
            tracking_url=submitted.tracking_url,
            tx_hash=cancel.tx_hash,
        ),
        tracking=tracking(target.order_id),
    )


# The operations.


@operation(
    "POST /api/v1/mev/orders",
    "MISSING_PARAMETER INVALID_SIGNATURE INSUFFICIENT_ALLOWANCE INSUFFICIENT_BALANCE "
    "DEADLINE_EXPIRED NONCE_TOO_LOW SIGNATURE_REPLAY WALLET_NOT_ALLOWED TOKEN_NOT_ALLOWED "
    "SWAP_VALUE_UNKNOWN SWAP_VALUE_LIMIT_EXCEEDED DAILY_VALUE_LIMIT_EXCEEDED "
    "OPEN_ORDER_LIMIT_EXCEEDED PROVIDER_UNAVAILABLE",
    body=shapes.SwapOrderBody,
)
async def swap_order(request: ApiRequest) -> SwapOrderEnvelope:
    """Submit a signed swap privately."""
    submission = requests.parse_swap_order(request.body)
    submitted = await request.use.submit_swap(request.key, submission)
    return SwapOrderEnvelope(ok=True, data=swap_order_response(submitted))


@operation(
    "GET /api/v1/mev/orders/{orderId}",
    "ORDER_NOT_FOUND SERVICE_UNAVAILABLE",
    path_params=shapes.OrderPath,
)
async def order_status(request: ApiRequest) -> OrderStatusEnvelope:
    """Status of an order."""
    order_id = requests.parse_order_id(request.path_params["orderId"])
    order = await request.use.order_status(request.key, order_id)
    return OrderStatusEnvelope(ok=True, data=order_status_response(order))


@operation(
    "POST /api/v1/mev/orders/{orderId}/cancel",
    "ORDER_NOT_FOUND MISSING_PARAMETER INVALID_SIGNATURE INSUFFICIENT_BALANCE NONCE_TOO_LOW "
    "SIGNATURE_REPLAY SERVICE_UNAVAILABLE PROVIDER_UNAVAILABLE",
    path_params=shapes.OrderPath,
    body=shapes.OrderCancelBody,
    may_be_empty=True,
)
async def order_cancel(request: ApiRequest) -> CancelQuoteEnvelope | CancelOrderEnvelope:
    """Cancel an open order: what to sign, then the signed cancel."""
    order_id = requests.parse_order_id(request.path_params["orderId"])
    submission = requests.parse_cancel_order(order_id, request.body)
    if submission is None:
        quote = await request.use.cancel.issue(request.key, order_id)
        return CancelQuoteEnvelope(ok=True, data=cancel_quote_response(quote))
    submitted = await request.use.cancel.submit(request.key, submission)
    return CancelOrderEnvelope(ok=True, data=cancel_order_response(submitted))


@operation(
    "GET /api/v1/mev/orders/user/{userAddress}",
    "INVALID_ADDRESS INVALID_PARAMETER SERVICE_UNAVAILABLE",
    path_params=shapes.WalletPath,
    query=shapes.OrderHistoryQuery,
)
async def order_history(request: ApiRequest) -> OrderHistoryEnvelope:
    """Orders of a wallet, newest first."""
    wallet = requests.parse_wallet(request.path_params["userAddress"])
    query = request.query_values(shapes.OrderHistoryQuery)
    limit = requests.parse_int(query, shapes.OrderHistoryQuery, "limit")
    offset = requests.parse_int(query, shapes.OrderHistoryQuery, "offset")
    status = requests.parse_status_filter(query)
    kind = requests.parse_kind_filter(query)
    as_of = requests.parse_int(query, shapes.OrderHistoryQuery, "asOf") or None
    page = await request.use.order_history(request.key, wallet, status, limit, offset, kind, as_of)
    return OrderHistoryEnvelope(ok=True, data=order_history_response(page, limit, offset))
