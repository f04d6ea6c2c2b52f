"""What every test of the sandbox may ask for."""

from collections.abc import AsyncIterator

import pytest

from quietswap.sandbox.chain import Chain, running_chain


@pytest.fixture
async def chain() -> AsyncIterator[Chain]:
    """A real node with every contract and pool in place; it takes a fifth of a second."""
    async with running_chain() as running:
        yield running
