"""A client and a server for it."""

from collections.abc import AsyncIterator

import pytest

from quietswap.http_client import HttpClient
from tests.adapters.upstream import Upstream, listening


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    async with listening() as found:
        yield found


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient(user_agent="quietswap-test")
    yield client
    await client.close()
