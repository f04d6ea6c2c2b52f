"""Orders and quotes for tests: valid by default, changed by keyword."""

from dataclasses import replace
from typing import Any

from quietswap.rules.orders.order import Inclusion, Order, OrderKind, OrderStatus
from quietswap.rules.orders.order_views import OrderListItem, OrderPage, OrderView
from quietswap.rules.quotes.issued_quote import IssuedQuote, SwapOrderTerms, Trade
from quietswap.rules.relays import EndpointType, RelaySettings, ShareMode
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import UnsignedTransaction
from quietswap.service.server.background import tracking_rules
from quietswap.service.settings import TrackingConfig
from tests.signing import FIELDS, ROUTER, WALLET

RULES = tracking_rules(TrackingConfig())
"""The tracker's rules by default."""
USDC = Address("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48")
NOW_MS = 1_800_000_000_000
MINUTE_MS = 60_000
CLIENT_ID = "client-1"

PROTECTION = RelaySettings(
    display_name="Test Relay",
    tier=2,
    endpoint="https://relay.test/noreverts?shareSafe=1&referrer=quietswap",
    endpoint_type=EndpointType.NOREVERTS,
    share_mode=ShareMode.SHARE_SAFE,
    expected_rebate_usd=None,
    drops_reverts=True,
)


def order(**changes: Any) -> Order:
    """Return a pending swap order."""
    plain = Order(
        order_id="ord_1",
        client_id=CLIENT_ID,
        kind=OrderKind.SWAP,
        status=OrderStatus.PENDING,
        wallet=Address(WALLET.address),
        nonce=7,
        tx_hash="0x" + "aa" * 32,
        raw=b"\x02raw",
        sell_token=WETH,
        buy_token=USDC,
        sell_amount=10**18,
        min_buy_amount=2_900 * 10**6,
        buy_amount=3_000 * 10**6,
        tier=2,
        endpoint_type="noreverts",
        share_mode="shareSafe",
        created_at_ms=NOW_MS,
        expires_at_ms=NOW_MS + 30 * MINUTE_MS,
        watch_until_ms=NOW_MS + 24 * 60 * MINUTE_MS,
    )
    return replace(plain, **changes)


def inclusion(*, succeeded: bool = True, **changes: Any) -> Inclusion:
    """Return where a block put it."""
    plain = Inclusion(
        block_number=100,
        block_hash="0x" + "bb" * 32,
        gas_used=150_000,
        effective_gas_price=10**9,
        block_time_ms=NOW_MS,
        succeeded=succeeded,
    )
    return replace(plain, **changes)


def recorded(order: Order) -> OrderView:
    """Return what a reader is told of an order."""
    block, failure = order.inclusion, order.failure
    return OrderView(
        order_id=order.order_id,
        kind=order.kind.value,
        status=order.status.value,
        tx_hash=order.tx_hash,
        created_at_ms=order.created_at_ms,
        submitted_at_ms=order.submitted_at_ms,
        sell_token=order.sell_token,
        buy_token=order.buy_token,
        sell_amount=str(order.sell_amount),
        min_buy_amount=str(order.min_buy_amount),
        buy_amount=str(order.buy_amount),
        block_number=block.block_number if block else None,
        gas_used=block.gas_used if block else None,
        effective_gas_price=str(block.effective_gas_price) if block else None,
        block_time_ms=block.block_time_ms if block else None,
        succeeded=int(block.succeeded) if block else None,
        failure_code=failure.code.value if failure else None,
        failure_message=failure.message if failure else None,
        received=None if block is None or block.received is None else str(block.received),
        received_issue=block.received_issue if block else None,
        refund_status=block.refund.status.value if block and block.refund else None,
        refund_wei=str(block.refund.amount_wei) if block and block.refund else None,
        refund_tx=block.refund.tx_hash if block and block.refund else None,
        expires_at_ms=order.expires_at_ms,
        endpoint_type=order.endpoint_type,
        share_mode=order.share_mode,
        relay_answer=order.relay_answer,
        deadline_s=order.deadline_s,
        nonce=str(order.nonce),
        reference=str(block.reference.amount) if block and block.reference else None,
        reference_wei=str(block.reference.value_wei) if block and block.reference else None,
        conversion=order.conversion,
    )


def listed(order: Order) -> OrderListItem:
    """Return the line of an order in a page."""
    shown = recorded(order)._asdict()
    return OrderListItem(**{name: shown[name] for name in OrderListItem._fields})


def told(page: OrderPage) -> tuple[list[OrderListItem], int]:
    """Return what a page says, to compare it by."""
    return list(page.orders), page.total


def swap_quote(**changes: Any) -> IssuedQuote:
    """Return the stored quote that `tests.signing.sign()` signs."""
    params = UnsignedTransaction(
        to=Address(ROUTER),
        data=bytes.fromhex(FIELDS["data"][2:]),
        value=FIELDS["value"],
        gas_limit=FIELDS["gas"],
        max_fee_per_gas=FIELDS["maxFeePerGas"],
        nonce=FIELDS["nonce"],
    )
    plain = IssuedQuote(
        quote_id="quote-1",
        client_id=CLIENT_ID,
        params=params,
        wallet=Address(WALLET.address),
        endpoint_type=PROTECTION.endpoint_type.value,
        share_mode=PROTECTION.share_mode.value,
        tier=2,
        issued_at_ms=NOW_MS,
        valid_until_ms=NOW_MS + 30_000,
        metadata=PROTECTION.metadata(),
        terms=SwapOrderTerms(Trade(WETH, USDC, 10**18, 2_900 * 10**6, 3_000 * 10**6), 50),
    )
    return replace(plain, **changes)


def order_params(**changes: Any) -> dict[str, Any]:
    """Return the `orderParams` a client sends for `swap_quote()`."""
    plain = {
        "fromToken": WETH,
        "toToken": USDC,
        "amount": str(10**18),
        "minReturnAmount": str(2_900 * 10**6),
        "userAddress": WALLET.address,
        "chainId": 1,
        "deadline": NOW_MS // 1000 + 1200,
        "slippageBps": 50,
        "selectedTier": 2,
        "threatAnalysis": {"threatLevel": "LOW"},
        "transactionValueUsd": 2999.5,
        "dexRoute": {"target": ROUTER, "data": FIELDS["data"], "source": "any"},
    }
    return plain | changes
