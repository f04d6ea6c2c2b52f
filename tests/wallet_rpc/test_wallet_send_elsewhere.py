"""eth_sendRawTransaction where another process, or another request, has the wallet's bytes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import pytest

from quietswap.rules.errors.base import RequestError
from quietswap.rules.orders.order import OrderStatus
from quietswap.service.orders.submit import OrderDelivery
from quietswap.service.relays.answers import RelayOutcome
from quietswap.service.wallet_rpc.send import NOT_SENT_ANYWHERE, SendRawTransaction
from tests.manual_clock import ManualClock
from tests.orders.submitting import Desk, open_desk
from tests.scripted_relay import ScriptedRelay
from tests.signing import sign
from tests.stored_orders import swap_quote
from tests.wallet_rpc.wallet_sends import only_order, token


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with open_desk() as opened:
        await opened.storage.quotes.save(swap_quote())
        yield opened
        if opened.relay.gate is not None:
            opened.relay.gate.set()


class Looking(ManualClock):
    """A clock of another process: `then` is done at the first look at the order."""

    def __init__(self, desk: Desk, then: Callable[[], Awaitable[object]] | None = None) -> None:
        super().__init__()
        self.seconds = desk.clock.seconds
        self._then = then

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds)
        if self._then is not None:
            await self._then()
            self._then = None


def elsewhere(desk: Desk, clock: ManualClock, relay: ScriptedRelay) -> SendRawTransaction:
    """Return the same use case of another process on the same database."""
    core = desk.send.core
    delivery = OrderDelivery(core.orders, core.chain, {2: relay, 4: relay}, clock)
    return SendRawTransaction(replace(core, delivery=delivery, clock=clock), desk.send.match)


@pytest.mark.parametrize(
    ("outcome", "resent"), [(RelayOutcome.NOT_SENT, 1), (RelayOutcome.ACCEPTED, 0)]
)
async def test_the_delivery_of_another_process_is_awaited(
    desk: Desk, outcome: RelayOutcome, resent: int
) -> None:
    """A hash says that a relay has the bytes: until the other process knows, nothing is said."""
    desk.relay.answers(outcome)
    desk.relay.gate = asyncio.Event()
    first = asyncio.create_task(desk.send(token(), sign()))
    await desk.relay.reached.wait()

    async def answered() -> None:
        assert desk.relay.gate is not None
        desk.relay.gate.set()
        await asyncio.gather(first, return_exceptions=True)

    relay = ScriptedRelay()
    tx_hash = await elsewhere(desk, Looking(desk, answered), relay)(token(), sign())
    assert len(relay.sent) == resent, "what was not sent there is sent here"
    order = await only_order(desk)
    assert (order.tx_hash, order.status) == (tx_hash, OrderStatus.SUBMITTED)


async def test_a_delivery_without_an_end_is_the_trackers(desk: Desk) -> None:
    """A process that was killed in the middle has left a pending order, which is sent again."""
    desk.relay.gate = asyncio.Event()
    first = asyncio.create_task(desk.send(token(), sign()))
    await desk.relay.reached.wait()
    clock, relay = Looking(desk), ScriptedRelay()
    started = clock.seconds
    other = elsewhere(desk, clock, relay)
    tx_hash = await other(token(), sign())
    assert 10 <= clock.seconds - started < 11
    assert await other(token(), sign()) == tx_hash
    assert clock.seconds - started < 11, "it is not awaited twice"
    assert relay.sent == []
    desk.relay.gate.set()
    assert await first == tx_hash


@pytest.mark.parametrize("at", ["preflight", "store"])
@pytest.mark.parametrize(
    "outcome", [RelayOutcome.NOT_SENT, RelayOutcome.INVALID, RelayOutcome.ACCEPTED]
)
async def test_bytes_that_another_process_stored_meanwhile(
    desk: Desk, outcome: RelayOutcome, at: str
) -> None:
    """Whether this request's own check passes then or not, the answer is that of the delivery."""
    desk.relay.answers(outcome)
    plain = desk.chain.wallet_and_dry_run

    async def meanwhile(*asked: object) -> object:
        desk.chain.wallet_and_dry_run = plain  # type: ignore[method-assign]
        await asyncio.gather(desk.send(token(), sign()), return_exceptions=True)
        if at == "preflight":
            desk.chain.facts = replace(desk.chain.facts, token_balance=0)
        return await plain(*asked)  # type: ignore[arg-type]

    desk.chain.wallet_and_dry_run = meanwhile  # type: ignore[method-assign,assignment]
    relay = ScriptedRelay()
    other = elsewhere(desk, Looking(desk), relay)
    if outcome is RelayOutcome.ACCEPTED:
        assert await other(token(), sign()) == (await only_order(desk)).tx_hash
    else:
        with pytest.raises(RequestError) as refused:
            await other(token(), sign())
        is_unsent = outcome is RelayOutcome.NOT_SENT
        assert refused.value.message.startswith(NOT_SENT_ANYWHERE) == is_unsent
        assert refused.value.details is not None
        assert refused.value.details["orderId"] == (await only_order(desk)).order_id
        assert refused.value.details.get("mayBeMined") is (None if is_unsent else True)
    assert relay.sent == []
    assert len(desk.relay.sent) == 1


async def test_two_quotes_of_one_swap_are_not_paid_at_two_nonces_at_once(desk: Desk) -> None:
    """While the first waits for the node, a page fetches an equal quote, which the wallet signs.

    Another process gets it: within one, a nonce waits for the lower ones under way.
    """
    desk.chain.pending = 8
    plain = desk.chain.wallet_and_dry_run
    other = elsewhere(desk, desk.clock, desk.relay)

    async def meanwhile(*asked: object) -> object:
        desk.chain.wallet_and_dry_run = plain  # type: ignore[method-assign]
        await desk.storage.quotes.save(replace(swap_quote(), quote_id="quote-2"))
        await other(token(), sign(nonce=8))
        return await plain(*asked)  # type: ignore[arg-type]

    desk.chain.wallet_and_dry_run = meanwhile  # type: ignore[method-assign,assignment]
    with pytest.raises(RequestError) as refused:
        await desk.send(token(), sign())
    assert refused.value.message.startswith(NOT_SENT_ANYWHERE)
    assert refused.value.details is not None
    order = await only_order(desk)
    assert refused.value.details["reason"] == "QUOTE_USED"
    assert refused.value.details["orderId"] == order.order_id
    assert order.nonce == 8
    assert len(desk.relay.sent) == 1
