"""How often a request waits for the node: each of these reads is one batch.

`chain/test_dry_run.py` and `chain/test_wallet_trips.py` hold that. `quoting/test_new_token.py` has
the first quote of a token, `client/test_trips.py` and `cli/test_trips.py` the trips of a client.
"""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from quietswap.rules.quotes.request import WrapQuoteRequest
from quietswap.rules.relays import EndpointType, ShareMode
from quietswap.rules.tokens.token import WrapOperation
from quietswap.service.quoting.wrap import QuoteWrap, WrapQuotePolicy
from tests.orders.cancelling import submission, swapped
from tests.orders.submitting import KEY, Desk, open_desk, swap_submission
from tests.signing import sign
from tests.stored_orders import swap_quote
from tests.wallet_rpc.wallet_sends import SELF, token

CHECK = {"wallet": 1}
"""Facts and dry run, which read the latest header in their own batch."""
FACTS = {"wallet": 1}
"""Head, facts and gas."""
TRACKED = {"head": 1}
"""The head that the tracker keeps warm: no trip."""


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with open_desk() as each:
        await each.storage.quotes.save(swap_quote())
        yield each


async def reads(desk: Desk, post: Callable[[], Awaitable[object]]) -> dict[str, int]:
    before = Counter(desk.chain.calls)
    await post()
    return dict(desk.chain.calls - before)


async def test_an_order(desk: Desk) -> None:
    assert await reads(desk, lambda: desk.swap(KEY, swap_submission())) == CHECK


async def test_a_transaction_of_a_wallet(desk: Desk) -> None:
    assert await reads(desk, lambda: desk.send(token(), sign())) == CHECK | TRACKED


@pytest.mark.parametrize("operation", list(WrapOperation))
async def test_a_quote_of_a_wrap(desk: Desk, operation: WrapOperation) -> None:
    asks = QuoteWrap(
        chain=desk.chain, quotes=desk.storage.quotes, usage=desk.storage.usage,
        relays={2: desk.relay}, clock=desk.clock, new_suffix=lambda: "1",
        terms=WrapQuotePolicy(EndpointType.FULLPRIVACY, ShareMode.NONE, 300_000),
    )  # fmt: skip
    desk.chain.gas = 45_000
    ask = WrapQuoteRequest(operation, 10**17, SELF)
    assert await reads(desk, lambda: asks(KEY, ask)) == FACTS


async def test_a_quote_of_a_cancel(desk: Desk) -> None:
    order = await swapped(desk)
    assert await reads(desk, lambda: desk.cancel.issue(KEY, order.order_id)) == FACTS


async def test_a_cancel(desk: Desk) -> None:
    order = await swapped(desk)
    quote = await desk.cancel.issue(KEY, order.order_id)
    assert await reads(desk, lambda: desk.cancel.submit(KEY, submission(quote))) == CHECK
