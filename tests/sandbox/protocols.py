"""A valid request to each vendor, a helper to change it, and the sandbox that is asked.

A module that imports the fixtures runs its tests in the module's event loop.
"""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio

from quietswap.sandbox.contracts.abi import WALLETS
from quietswap.sandbox.contracts.pools import USDC, WETH
from quietswap.sandbox.network import SandboxNetwork, running_network
from tests import loopback
from tests.vendors.case import WALLET, cases
from tests.waiting import WITHIN_S

CASES = cases()

ALICE = WALLETS[0].address
SELL, BUY, ONE = WETH.address, USDC.address, str(10**18)
Json = dict[str, Any]
Protocol = tuple[str, str, Json, Json]
"""Vendor, path, query and headers."""


class Vendor:
    """One vendor's endpoint with a valid request; `ask` changes it, None removes a parameter."""

    def __init__(self, http: httpx.AsyncClient, url: str, good: Json, headers: Json) -> None:
        self._http, self._url, self._good, self._headers = http, url, good, headers

    async def ask(self, headers: Json | None = None, **changes: Any) -> httpx.Response:
        """Return the answer."""
        changed = {name.rstrip("_"): value for name, value in changes.items()}
        query = {n: v for n, v in (self._good | changed).items() if v is not None}
        sent = self._headers if headers is None else headers
        return await self._http.get(self._url, params=query, headers=sent)


def protocol(name: str, *, price: bool = False) -> Protocol:
    """Return what the adapter asks, for a wallet of the sandbox."""
    case = CASES[name]
    call, query = case.price_asked if price else case.asked[0]
    good = {name: ALICE if value == WALLET else value for name, value in query.items()}
    return name, call.removeprefix("GET "), good, dict(case.headers)


KYBER, VELORA = protocol("kyberswap"), protocol("velora")
ZEROEX, ONEINCH = protocol("zeroex"), protocol("oneinch")
SUSHI = protocol("sushi")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[SandboxNetwork]:
    async with running_network(paused=True) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with loopback.AsyncClient(timeout=WITHIN_S, trust_env=False) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="module")
async def vendor(
    request: pytest.FixtureRequest, http: httpx.AsyncClient, sandbox: SandboxNetwork
) -> Vendor:
    name, path, good, headers = request.param
    return Vendor(http, sandbox.venues[name] + path, good, headers)


def speaks(protocol: Protocol) -> pytest.MarkDecorator:
    """Set the fixture `vendor` to the one with `protocol`."""
    return pytest.mark.parametrize("vendor", [protocol], indirect=True, ids=[protocol[0]])
