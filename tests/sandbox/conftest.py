"""Fixtures of all sandbox tests."""

from collections.abc import AsyncIterator

import httpx
import pytest

from quietswap.sandbox.chain.local_chain import LocalChain, running_chain
from quietswap.sandbox.network import SandboxNetwork, running_network
from tests import loopback
from tests.sandbox.network_client import Control
from tests.waiting import WITHIN_S


@pytest.fixture
async def chain() -> AsyncIterator[LocalChain]:
    """A real node with every contract and pool; it starts in 0.2 s."""
    async with running_chain() as running:
        yield running


@pytest.fixture
async def sandbox() -> AsyncIterator[SandboxNetwork]:
    """Node, relays and vendors, without blocks that come by themselves."""
    async with running_network(paused=True) as running:
        yield running


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with loopback.AsyncClient(timeout=WITHIN_S, trust_env=False) as client:
        yield client


@pytest.fixture
def control(http: httpx.AsyncClient, sandbox: SandboxNetwork) -> Control:
    return Control(http, sandbox)
