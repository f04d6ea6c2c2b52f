"""The table of checks against the doors: each refuses what its row says, and only that."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from quietswap.rules.chain.records import DryRun
from quietswap.rules.errors.base import RequestError, ServiceUnavailable
from quietswap.rules.orders import checks
from quietswap.rules.orders.checks import Check, Door
from quietswap.rules.quotes.request import WrapQuoteRequest
from quietswap.rules.relays import EndpointType, ShareMode
from quietswap.rules.tokens.token import WrapOperation
from quietswap.service.quoting.wrap import QuoteWrap, WrapQuotePolicy
from tests.orders.cancelling import submission, swapped
from tests.orders.submitting import KEY, Desk, open_desk, swap_submission, wrap_submission
from tests.orders.test_submit_wrap import wrap_quote
from tests.signing import WALLET, sign
from tests.stored_orders import swap_quote
from tests.wallet_rpc.wallet_sends import SELF, approve, token

Knock = Callable[[], Awaitable[object]]
_STATES = {
    Check.CONTRACT: {"code": b"\x60\x80"},
    Check.NONCE: {"nonce": 8},
    Check.FUNDS: {"eth_balance": 0, "token_balance": 0},
    Check.ALLOWANCE: {"allowance": 0},
    Check.TRIAL: {"code": bytes.fromhex("ef0100") + b"\x11" * 20},
}


async def _swap(desk: Desk) -> Knock:
    await desk.storage.quotes.save(swap_quote())
    return lambda: desk.swap(KEY, swap_submission())


async def _wrap(desk: Desk) -> Knock:
    await desk.storage.quotes.save(wrap_quote())
    return lambda: desk.wrap(KEY, wrap_submission())


async def _wrap_quote(desk: Desk, operation: WrapOperation = WrapOperation.UNWRAP) -> Knock:
    policy = WrapQuotePolicy(EndpointType.FULLPRIVACY, ShareMode.NONE, 300_000)
    asks = QuoteWrap(
        chain=desk.chain, quotes=desk.storage.quotes, usage=desk.storage.usage,
        relays={2: desk.relay}, terms=policy, clock=desk.clock, new_suffix=lambda: "1",
    )  # fmt: skip
    return lambda: asks(KEY, WrapQuoteRequest(operation, 10**17, SELF))


async def _cancel_quote(desk: Desk) -> Knock:
    await desk.storage.quotes.save(swap_quote())
    order = await swapped(desk)
    return lambda: desk.cancel.issue(KEY, order.order_id)


async def _cancel(desk: Desk) -> Knock:
    await desk.storage.quotes.save(swap_quote())
    quote = await desk.cancel.issue(KEY, (await swapped(desk)).order_id)
    return lambda: desk.cancel.submit(KEY, submission(quote))


async def _rpc_swap(desk: Desk) -> Knock:
    await desk.storage.quotes.save(swap_quote())
    return lambda: desk.send(token(), sign())


async def _rpc_call(desk: Desk) -> Knock:
    await desk.storage.quotes.save(swap_quote())
    return lambda: desk.send(token(), approve())


async def _rpc_cancel(desk: Desk) -> Knock:
    await desk.storage.quotes.save(swap_quote())
    await swapped(desk)
    raw = sign(to=WALLET.address, data="0x", gas=21_000, maxFeePerGas=10**11)
    return lambda: desk.send(token(), raw)


_DOORS = {
    "swap order": (checks.SWAP_ORDER, _swap),
    "wrap order": (checks.WRAP_ORDER, _wrap),
    "wrap quote": (checks.WRAP_QUOTE, _wrap_quote),
    "cancel quote": (checks.CANCEL_QUOTE, _cancel_quote),
    "cancel order": (checks.CANCEL_ORDER, _cancel),
    "wallet's swap": (checks.RPC_SWAP, _rpc_swap),
    "wallet's approval": (checks.RPC_CALL, _rpc_call),
    "wallet's cancel": (checks.RPC_CALL, _rpc_cancel),
}
"""The swap quote is in `test_quote_simulated.py`, the clients in `tests/client/test_doors.py`."""


@pytest.mark.parametrize("check", Check)
@pytest.mark.parametrize("name", _DOORS)
async def test_a_door_refuses_what_its_row_says(name: str, check: Check) -> None:
    door, made = _DOORS[name]
    async with open_desk() as desk:
        knock = await made(desk)
        sent = len(desk.relay.sent)
        desk.chain.facts = replace(desk.chain.facts, **_STATES[check])  # type: ignore[arg-type]
        if check is Check.TRIAL:
            desk.chain.dry_run = DryRun(False, reason="no ETH here")
        if check not in door.refuses:
            await knock()
            return
        with pytest.raises(RequestError) as error:
            await knock()
        assert len(desk.relay.sent) == sent
        if check is Check.TRIAL:
            assert (error.value.details or {})["revertReason"] == "no ETH here"


@pytest.mark.parametrize(("left_s", "quoted"), [(601, True), (600, False), (1, False), (0, True)])
async def test_no_wrap_is_quoted_shortly_before_a_fork(left_s: int, quoted: bool) -> None:
    async with open_desk() as desk:
        knock = await _wrap_quote(desk)
        desk.chain.fork_s = desk.clock.now_ms() // 1000 + left_s
        if quoted:
            await knock()
            return
        with pytest.raises(ServiceUnavailable, match="rules of Ethereum change") as error:
            await knock()
        assert error.value.details == {"forkAt": desk.chain.fork_s}


async def test_a_cancel_is_quoted_before_a_fork_too() -> None:
    async with open_desk() as desk:
        knock = await _cancel_quote(desk)
        desk.chain.fork_s = desk.clock.now_ms() // 1000 + 1
        await knock()


@pytest.mark.parametrize(
    ("operation", "is_amsterdam", "limit"),
    [(WrapOperation.WRAP, False, 57_500), (WrapOperation.WRAP, True, 167_500),
     (WrapOperation.UNWRAP, False, 50_000), (WrapOperation.UNWRAP, True, 50_000)],
)  # fmt: skip
async def test_a_wrap_that_cannot_be_estimated_has_the_gas_of_its_fork(
    operation: WrapOperation, is_amsterdam: bool, limit: int
) -> None:
    """A first wrap then makes a storage slot (EIP-8037): it uses about 133,000 gas."""
    async with open_desk() as desk:
        desk.chain.is_amsterdam = is_amsterdam
        quote = await _wrap_quote(desk, operation)
        assert (await quote()).params.gas_limit == limit  # type: ignore[attr-defined]


@pytest.mark.parametrize("door", checks.DOORS, ids=lambda door: door.name)
def test_every_gap_is_explained(door: Door) -> None:
    """What a row neither refuses nor tells is checked elsewhere, or needs no check."""
    missing = set(Check) - door.refuses - door.tells
    needed = missing - ({Check.ALLOWANCE} if door.signs != "swap" else set())
    assert not needed or door.rest
