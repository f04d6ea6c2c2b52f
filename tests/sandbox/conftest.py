"""Fixtures of all sandbox tests."""

from collections.abc import AsyncIterator

import pytest

from quietswap.sandbox.chain.local_chain import LocalChain, running_chain


@pytest.fixture
async def chain() -> AsyncIterator[LocalChain]:
    """A real node with every contract and pool; it starts in 0.2 s."""
    async with running_chain() as running:
        yield running
