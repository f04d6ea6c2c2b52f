"""A service that takes orders, on a real database, with a scripted chain and relay."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

from quietswap.domain.quote import Operation
from quietswap.domain.requests import SwapSubmission, WrapSubmission
from quietswap.domain.submission import OrderLimits
from quietswap.ports.stores import ApiKey
from quietswap.services.deliver_order import Delivery
from quietswap.services.submit_swap import SubmitSwap
from quietswap.services.submit_wrap import SubmitWrap
from quietswap.storage.open import Storage, open_storage
from tests.adapters.manual_clock import ManualClock
from tests.domain.signing import sign
from tests.orders import KEY_ID, NOW_MS, PROTECTION, order_params
from tests.scripted_chain import ScriptedChain
from tests.scripted_relay import ScriptedRelay

KEY = ApiKey(KEY_ID, "mine", 0, None)
OTHER_KEY = ApiKey("key-2", "other", 0, None)


@dataclass
class Desk:
    """Everything a test of submissions looks at or turns."""

    storage: Storage
    chain: ScriptedChain
    relay: ScriptedRelay
    backup: ScriptedRelay
    clock: ManualClock
    delivery: Delivery
    swap: SubmitSwap
    wrap: SubmitWrap


@asynccontextmanager
async def open_desk() -> AsyncIterator[Desk]:
    """Open a desk with an empty database."""
    clock = ManualClock(NOW_MS // 1000)
    storage = await open_storage("sqlite:///:memory:", clock=clock)
    chain = ScriptedChain(clock)
    relay, backup = ScriptedRelay(), ScriptedRelay()
    relays = {2: relay, 4: backup}
    delivery = Delivery(storage.orders, chain, relays, clock)
    serial = count(1)
    parts: dict[str, Any] = {
        "quotes": storage.quotes,
        "orders": storage.orders,
        "chain": chain,
        "relays": relays,
        "delivery": delivery,
        "clock": clock,
        "new_id": lambda: f"ord_{next(serial)}",
        "limits": OrderLimits(),
    }
    swap = SubmitSwap(**parts)
    wrap = SubmitWrap(**parts, explorer_url="https://explorer.test")
    try:
        yield Desk(storage, chain, relay, backup, clock, delivery, swap, wrap)
    finally:
        await delivery.drain()
        await storage.close()


def swap_submission(raw_hex: str | None = None, **terms: Any) -> SwapSubmission:
    """Return what a client posts for `tests.orders.swap_quote()`."""
    return SwapSubmission(
        terms=order_params(**terms), raw_hex=raw_hex or sign(), metadata=PROTECTION.metadata()
    )


def wrap_submission(raw_hex: str | None = None, **changes: Any) -> WrapSubmission:
    """Return what a client posts for `wrap_quote()`."""
    values: dict[str, Any] = {
        "quote_id": None,
        "raw_hex": raw_hex or sign(),
        "metadata": PROTECTION.metadata(),
        "operation": Operation.WRAP,
        "amount": None,
    }
    return WrapSubmission(**(values | changes))
