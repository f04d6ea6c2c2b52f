"""The same bytes posted twice: the first post is mined while the second reads the chain."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from quietswap.rules.errors.requests import NonceTooLow, SignatureReplay
from tests.orders.cancelling import submission, swapped
from tests.orders.submitting import (
    KEY,
    OTHER_KEY,
    Desk,
    open_desk,
    swap_submission,
    wrap_submission,
)
from tests.orders.test_submit_wrap import wrap_quote
from tests.stored_orders import swap_quote


def overtake(desk: Desk, method: str, post: Callable[[], Awaitable[Any]]) -> list[Any]:
    """Run `post` during the next call of a chain method; its transaction is mined by then.

    Returns the list that gets the answer of `post`.
    """
    read = getattr(desk.chain, method)
    answers: list[Any] = []

    async def late(*arguments: Any) -> Any:
        delattr(desk.chain, method)
        answers.append(await post())
        mined = replace(desk.chain.facts, nonce=8, eth_balance=0, token_balance=0)
        desk.chain.facts = mined
        return await read(*arguments)

    setattr(desk.chain, method, late)
    return answers


async def test_a_swap_that_was_mined_meanwhile_is_a_replay() -> None:
    """NONCE_TOO_LOW would tell the wallet to sign again, and so to swap twice."""
    async with open_desk() as desk:
        await desk.storage.quotes.save(swap_quote())
        first = overtake(desk, "wallet_and_dry_run", lambda: desk.swap(KEY, swap_submission()))
        with pytest.raises(SignatureReplay) as refused:
            await desk.swap(KEY, swap_submission())
        assert refused.value.details == {"orderId": first[0].order.order_id}
        assert len(desk.relay.sent) == 1


async def test_bytes_that_nobody_posted_keep_their_error() -> None:
    async with open_desk() as desk:
        await desk.storage.quotes.save(swap_quote())
        desk.chain.facts = replace(desk.chain.facts, nonce=8)
        with pytest.raises(NonceTooLow):
            await desk.swap(KEY, swap_submission())


async def test_a_wrap_that_was_mined_meanwhile_is_the_same_wrap() -> None:
    async with open_desk() as desk:
        await desk.storage.quotes.save(wrap_quote())
        first = overtake(desk, "wallet_and_dry_run", lambda: desk.wrap(KEY, wrap_submission()))
        again = await desk.wrap(KEY, wrap_submission())
        assert again.order.order_id == first[0].order.order_id
        assert len(desk.relay.sent) == 1


async def test_another_keys_wrap_keeps_its_error() -> None:
    async with open_desk() as desk:
        await desk.storage.quotes.save(wrap_quote())
        await desk.storage.quotes.save(
            replace(wrap_quote(), quote_id="weth_wrap_2", client_id=OTHER_KEY.client_id)
        )
        overtake(desk, "wallet_and_dry_run", lambda: desk.wrap(OTHER_KEY, wrap_submission()))
        with pytest.raises(NonceTooLow):
            await desk.wrap(KEY, wrap_submission())


async def test_a_cancel_that_was_mined_meanwhile_is_the_same_cancel() -> None:
    async with open_desk() as desk:
        await desk.storage.quotes.save(swap_quote())
        order = await swapped(desk)
        quote = await desk.cancel.issue(KEY, order.order_id)
        first = overtake(
            desk, "wallet_and_dry_run", lambda: desk.cancel.submit(KEY, submission(quote))
        )
        again = await desk.cancel.submit(KEY, submission(quote))
        assert again.order.order_id == first[0].order.order_id
        assert len(desk.relay.sent) == 2
