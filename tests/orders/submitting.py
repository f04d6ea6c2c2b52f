"""A service that takes orders, on a real database, with a scripted chain and relay."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

from quietswap.rules.clients import ApiKey
from quietswap.rules.orders.new_order import OrderTimeouts
from quietswap.rules.orders.request import SwapOrderRequest, WrapOrderRequest
from quietswap.rules.relays import EndpointType, ShareMode
from quietswap.rules.tokens.token import WrapOperation
from quietswap.rules.tokens.token_list import BUILT_IN, TokenCatalogue
from quietswap.service.orders.cancel import CancelOrder
from quietswap.service.orders.inclusion import GetInclusion
from quietswap.service.orders.submit import OrderDelivery, SubmitOrder
from quietswap.service.orders.submit_swap import SubmitSwap
from quietswap.service.orders.submit_wrap import SubmitWrap
from quietswap.service.storage.factory import Storage
from quietswap.service.storage.inclusion import InclusionStore
from quietswap.service.wallet_rpc.match import MatchTransaction, WalletRpcPolicy
from quietswap.service.wallet_rpc.send import SendRawTransaction
from tests.manual_clock import ManualClock
from tests.patient import open_storage
from tests.scripted_chain import ScriptedChain
from tests.scripted_relay import ScriptedRelay
from tests.signing import ROUTER, sign
from tests.stored_orders import CLIENT_ID, MINUTE_MS, NOW_MS, PROTECTION, order_params

KEY = ApiKey("key-1", "mine", 0, None, CLIENT_ID)
RPC_POLICY = WalletRpcPolicy(
    max_fee_per_gas=1000 * 10**9,
    quote_validity_ms=30_000,
    endpoint_type=EndpointType.FULLPRIVACY,
    share_mode=ShareMode.NONE,
)
OTHER_KEY = ApiKey("key-2", "other", 0, None, "client-2")


@dataclass
class Desk:
    """Everything a test of submissions looks at or turns."""

    storage: Storage
    chain: ScriptedChain
    relay: ScriptedRelay
    backup: ScriptedRelay
    clock: ManualClock
    chain_clock: ManualClock
    delivery: OrderDelivery
    swap: SubmitSwap
    wrap: SubmitWrap
    cancel: CancelOrder
    send: SendRawTransaction


@asynccontextmanager
async def open_desk() -> AsyncIterator[Desk]:
    """Open a desk with an empty database. The chain's clock is ahead, so that the other counts."""
    clock, chain_clock = ManualClock(NOW_MS // 1000), ManualClock(NOW_MS // 1000 + 3600)
    storage = await open_storage("sqlite:///:memory:", clock=clock)
    chain = ScriptedChain(clock)
    relay, backup = ScriptedRelay(), ScriptedRelay()
    relays = {2: relay, 4: backup}
    delivery = OrderDelivery(storage.orders, chain, relays, clock)
    serial = count(1)
    core = SubmitOrder(
        quotes=storage.quotes,
        orders=storage.orders,
        chain=chain,
        relays=relays,
        delivery=delivery,
        clock=clock,
        chain_clock=chain_clock,
        new_id=lambda _: f"ord_{next(serial)}",
        limits=OrderTimeouts(expiry_ms=30 * MINUTE_MS, watch_ms=7 * 24 * 60 * MINUTE_MS),
    )
    match = MatchTransaction(
        tokens=TokenCatalogue(BUILT_IN),
        routers=(ROUTER,),
        quotes=storage.quotes,
        orders=storage.orders,
        relays=relays,
        clock=clock,
        policy=RPC_POLICY,
    )
    swap = SubmitSwap(core, GetInclusion(InclusionStore(storage.database), relays, clock))
    wrap = SubmitWrap(core, explorer_url="https://explorer.test")
    cancel = CancelOrder(core, new_quote_id=lambda: f"cnq_{next(serial)}")
    try:
        yield Desk(
            storage,
            chain,
            relay,
            backup,
            clock,
            chain_clock,
            delivery,
            swap,
            wrap,
            cancel,
            SendRawTransaction(core, match),
        )
    finally:
        await delivery.drain()
        await storage.close()


def swap_submission(raw_hex: str | None = None, **terms: Any) -> SwapOrderRequest:
    """Return what a client posts for `tests.stored_orders.swap_quote()`."""
    return SwapOrderRequest(
        terms=order_params(**terms), raw_hex=raw_hex or sign(), metadata=PROTECTION.metadata()
    )


def wrap_submission(raw_hex: str | None = None, **changes: Any) -> WrapOrderRequest:
    """Return what a client posts for `wrap_quote()`."""
    values: dict[str, Any] = {
        "quote_id": None,
        "raw_hex": raw_hex or sign(),
        "metadata": PROTECTION.metadata(),
        "operation": WrapOperation.WRAP,
        "amount": None,
    }
    return WrapOrderRequest(**(values | changes))
