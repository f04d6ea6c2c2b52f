"""Wrap quotes, submitted wraps and WETH balances: domain values to contract Structs."""

from quietswap.api.responses.json_values import amount, iso_timestamp, json_form
from quietswap.api.responses.losses import loss_judgement
from quietswap.api.responses.orders import initial_status, sent_at
from quietswap.api.responses.quotes import transaction_params
from quietswap.contract import wraps as contract
from quietswap.contract.transactions import WrapMevProtection, WrapTransactionParams
from quietswap.domain.amounts import format_ether
from quietswap.domain.quote.loss import judge_wrap
from quietswap.domain.quote.quote import WrapOperation, WrapQuote
from quietswap.domain.requests import SubmittedWrap, WrapBalances
from quietswap.domain.token import WETH
from quietswap.domain.transaction.unsigned import MAINNET

_ETH = "ETH"
_WETH_DECIMALS = 18


def wrap_quote_response(quote: WrapQuote) -> contract.WrapQuoteResponse:
    """Return `data.quote` of POST /api/v1/mev/wrap/quote."""
    wrapping = quote.operation is WrapOperation.WRAP
    return contract.WrapQuoteResponse(
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


def wrap_order_response(submitted: SubmittedWrap) -> contract.WrapOrderResponse:
    """Return `data.order` of POST /api/v1/mev/wrap/order."""
    order = submitted.order
    return contract.WrapOrderResponse(
        operation=submitted.operation.value,
        tx_hash=order.tx_hash,
        sender=submitted.sender,
        amount=format_ether(submitted.amount),
        status=json_form(initial_status(order)),
        provider=submitted.relay_name,
        tracking_url=submitted.tracking_url,
        explorer_url=submitted.explorer_url,
        submitted_at=sent_at(order),
    )


def wrap_info_response(info: WrapBalances) -> contract.WrapInfoResponse:
    """Return `data` of GET /api/v1/mev/wrap/info."""
    eth, weth = format_ether(info.eth), format_ether(info.weth)
    return contract.WrapInfoResponse(
        weth=contract.WethToken(
            address=WETH,
            name=info.name,
            symbol=info.symbol,
            decimals=_WETH_DECIMALS,
            chain_id=MAINNET,
        ),
        balances=contract.Balances(
            eth=contract.Balance(wei=amount(info.eth), ether=eth),
            weth=contract.Balance(wei=amount(info.weth), ether=weth),
        ),
        operations=contract.Operations(
            wrap=contract.OperationInfo(
                description="Wrap ETH into WETH, one to one. Keep some ETH for gas.",
                max_amount=eth,
            ),
            unwrap=contract.OperationInfo(
                description="Unwrap WETH into ETH, one to one.", max_amount=weth
            ),
        ),
    )
