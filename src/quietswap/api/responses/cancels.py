"""Cancels: domain values to contract Structs."""

from quietswap.api.responses.json_values import iso_timestamp
from quietswap.api.responses.orders import sent_at, tracking
from quietswap.api.responses.quotes import transaction_params
from quietswap.contract import cancels as contract
from quietswap.domain.order.cancel import CancelQuote, SubmittedCancel


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
