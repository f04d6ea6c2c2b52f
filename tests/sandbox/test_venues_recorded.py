"""The venues' answers have every field of the recorded ones, with the same JSON type.

Runs where the folder with recorded answers exists: QUIETSWAP_FIXTURES names it.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quietswap.sandbox.network import SandboxNetwork
from tests import loopback
from tests.sandbox.protocols import (
    KYBER,
    ONEINCH,
    OPENOCEAN,
    SUSHI,
    VELORA,
    ZEROEX,
    Protocol,
    protocol,
    sandbox,
)
from tests.vendors import kyberswap
from tests.vendors.case import ONE, Asked
from tests.waiting import WITHIN_S

FOLDER = (
    Path(os.environ.get("QUIETSWAP_FIXTURES", Path(__file__).parents[3] / "shared" / "fixtures"))
    / "aggregators"
)
__all__ = ["sandbox"]

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
        ("sushi-quote-v7-eth-sushi-mainnet", protocol("sushi", price=True)),
        ("openocean-quote-eth-usdc-doc-abridged", protocol("openocean", price=True)),
        ("zeroex-price-100weth-dai-mainnet", protocol("zeroex", price=True)),
    ],
)
async def test_every_recorded_field_is_answered(
    sandbox: SandboxNetwork, recorded: str, protocol: Protocol
) -> None:
    name, path, query, headers = protocol
    async with loopback.AsyncClient(timeout=WITHIN_S, trust_env=False) as http:
        reply = await http.get(sandbox.venues[name] + path, params=query, headers=headers)
    _compare(json.loads((FOLDER / f"{recorded}.json").read_text()), reply.json())


async def test_every_recorded_field_of_a_build_is_answered(sandbox: SandboxNetwork) -> None:
    tokens = sandbox.tokens
    asked = Asked(tokens["WETH"], tokens["USDC"], ONE, sandbox.wallets[0].address)
    async with loopback.AsyncClient(timeout=WITHIN_S, trust_env=False) as http:
        reply = await kyberswap.ask(http, sandbox, asked)
    _compare(json.loads((FOLDER / "kyberswap-build-polygon-spec.json").read_text()), reply.json())


def _compare(theirs: Any, ours: Any) -> None:
    missing = dict(_fields(theirs)).items() - dict(_fields(ours)).items()
    assert {
        (path, kind)
        for path, kind in missing
        if not any(path.startswith(prefix) for prefix in _OURS_TO_LEAVE_OUT)
    } == set()


async def test_the_names_of_a_recorded_price_route_are_answered(sandbox: SandboxNetwork) -> None:
    """The recorded prices of Velora are of the old router: names are compared, no values."""
    recorded = json.loads((FOLDER / "velora-prices-noversion-weth-usdc-mainnet.json").read_text())
    name, path, query, headers = protocol("velora", price=True)
    async with loopback.AsyncClient(timeout=WITHIN_S, trust_env=False) as http:
        reply = await http.get(sandbox.venues[name] + path, params=query, headers=headers)
    ours = reply.json()
    assert ours.keys() == {"priceRoute"}
    used = {"srcToken", "destToken", "srcAmount", "destAmount", "gasCost", "partnerFee"}
    assert used <= ours["priceRoute"].keys() & recorded["priceRoute"].keys()


@pytest.mark.parametrize(
    "protocol",
    [
        protocol("sushi", price=True),
        protocol("openocean", price=True),
        protocol("zeroex", price=True),
        protocol("oneinch", price=True),
    ],
)
async def test_a_price_has_no_transaction(sandbox: SandboxNetwork, protocol: Protocol) -> None:
    name, path, query, headers = protocol
    async with loopback.AsyncClient(timeout=WITHIN_S, trust_env=False) as http:
        reply = await http.get(sandbox.venues[name] + path, params=query, headers=headers)
    assert reply.status_code == 200
    body = reply.json()
    inner = body.get("data", body)
    assert not inner.keys() & {"tx", "transaction", "data", "to"}
