"""The venues' answers have every field the vendors' recorded ones have, of the same JSON type.

Runs where the folder with recorded answers exists: QUIETSWAP_FIXTURES names it.
"""

import json
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from quietswap.sandbox.stage import Options, Sandbox, running_sandbox
from tests.sandbox.protocols import KYBER, ONEINCH, OPENOCEAN, SUSHI, VELORA, ZEROEX, Protocol
from tests.sandbox.shoppers import ONE, SHOPPERS, Asked

FOLDER = (
    Path(os.environ.get("QUIETSWAP_FIXTURES", Path(__file__).parents[3] / "shared" / "fixtures"))
    / "aggregators"
)
pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(not FOLDER.is_dir(), reason="no recorded answers here"),
]

_OURS_TO_LEAVE_OUT = {
    "data.routeSummary.route.poolExtra",  # differs from pool to pool
    "data.routeSummary.route.extra",
    "priceRoute.bestRoute.swaps.swapExchanges.data.path",
    "issues.balance",  # only for a wallet that lacks it
    "tx.value",  # only when ETH is sold
    "tx.gas",  # only when asked to simulate
}

_KINDS = {str: "text", int: "number", float: "number", bool: "truth"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    async with running_sandbox(Options(paused=True)) as running:
        yield running


def _fields(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield every field's path and JSON type; the items of a list share theirs."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _fields(one, f"{path}.{name}".lstrip("."))
    elif isinstance(value, list):
        for one in value:
            yield from _fields(one, path)
    elif value is not None:
        yield path, _KINDS[type(value)]


@pytest.mark.parametrize(
    ("recorded", "protocol"),
    [
        ("kyberswap-routes-polygon-spec", KYBER),
        ("velora-swap-v62-usdc-weth-base", VELORA),
        ("sushi-swap-v7-eth-sushi-mainnet", SUSHI),
        ("openocean-swap-eth-usdc-doc-abridged", OPENOCEAN),
        ("zeroex-quote-eth-usdc-base", ZEROEX),
        ("oneinch-swap-v61-disableEstimate-abridged", ONEINCH),
    ],
)
async def test_every_recorded_field_is_answered(
    sandbox: Sandbox, recorded: str, protocol: Protocol
) -> None:
    name, path, query, headers = protocol
    async with httpx.AsyncClient(timeout=5, trust_env=False) as http:
        reply = await http.get(sandbox.venues[name] + path, params=query, headers=headers)
    _compare(json.loads((FOLDER / f"{recorded}.json").read_text()), reply.json())


async def test_every_recorded_field_of_a_build_is_answered(sandbox: Sandbox) -> None:
    tokens = sandbox.tokens
    asked = Asked(tokens["WETH"], tokens["USDC"], ONE, sandbox.wallets[0].address)
    async with httpx.AsyncClient(timeout=5, trust_env=False) as http:
        reply = await SHOPPERS["kyberswap"][0](http, sandbox, asked)
    _compare(json.loads((FOLDER / "kyberswap-build-polygon-spec.json").read_text()), reply.json())


def _compare(theirs: Any, ours: Any) -> None:
    missing = dict(_fields(theirs)).items() - dict(_fields(ours)).items()
    assert {
        (path, kind)
        for path, kind in missing
        if not any(path.startswith(prefix) for prefix in _OURS_TO_LEAVE_OUT)
    } == set()
