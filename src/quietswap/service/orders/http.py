"""The handlers of swap orders: submission, status, cancellation and history."""

from typing import Any

from quietswap.rules.amounts import format_ether
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
from quietswap.rules.orders.cancel_transaction import CancelQuote, SubmittedCancel
from quietswap.rules.orders.request import SubmittedWrap
from quietswap.rules.quotes.quote import WrapQuote
from quietswap.rules.quotes.request import WrapBalances
from quietswap.rules.safety.loss import judge_wrap
from quietswap.rules.tokens.token import ETH, WETH, WrapOperation
from quietswap.rules.tx.signed import MAINNET
from quietswap.service.api.json import amount, iso_timestamp
from quietswap.service.api.operation import ApiRequest, operation
from quietswap.service.api.parsing import requests
from quietswap.service.orders.order_response import (
    initial_status,
    order_history_response,
    order_status_response,
    sent_at,
    swap_order_response,
    tracking,
)
from quietswap.service.quoting.quote_response import loss_judgement, transaction_params

_WETH_DECIMALS = 18


def wrap_quote_response(quote: WrapQuote) -> wrap_bodies.WrapQuoteResponse:
    """Return `data.quote` of POST /api/v1/mev/wrap/quote."""
    wrapping = quote.operation is WrapOperation.WRAP
    return wrap_bodies.WrapQuoteResponse(
        quote_id=quote.quote_id,
        operation=quote.operation.value,
        amount=format_ether(quote.amount),
        amount_wei=amount(quote.amount),
        input_token=ETH if wrapping else WETH,
        output_token=WETH if wrapping else ETH,
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
