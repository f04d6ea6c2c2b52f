"""Nodes without eth_simulateV1: what the service says and does, with and without verification."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from quietswap.sandbox.chain.genesis import Alloc, read_alloc
from quietswap.sandbox.chain.local_chain import running_chain
from tests.e2e.conftest import Town, running_town
from tests.e2e.serving import serving
from tests.e2e.test_node_limits import doors
from tests.e2e.test_unsimulated import NONE_SIMULATED
from tests.nodes.others import OtherNode, ethereumjs, hardhat, needs_node_packages
from tests.nodes.test_chain_changes import long

pytestmark = needs_node_packages
PROGRAMS = {"hardhat": hardhat, "ethereumjs": ethereumjs}


async def sandbox_state() -> tuple[Alloc, int]:
    async with running_chain() as chain:
        return await read_alloc(chain.rpc), int((await chain.head())["timestamp"], 16)


@pytest.fixture(scope="module")
def plain_town() -> Iterator[Town]:
    """A sandbox on anvil: its venues price the same pools."""
    with running_town("--block-time", "2") as running:
        yield running


@pytest.fixture(scope="module", params=["hardhat", pytest.param("ethereumjs", marks=long)])
def node(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OtherNode]:
    alloc, time = asyncio.run(sandbox_state())
    with PROGRAMS[request.param](alloc, time, tmp_path_factory.mktemp("node")) as running:
        yield running


Record = Callable[[str, object], None]


@pytest.mark.capability("quotes of swaps")
def test_no_swap_is_quoted_and_every_door_says_why(
    plain_town: Town, node: OtherNode, tmp_path: Path, record_property: Record
) -> None:
    record_property("node", node.name)
    record_property("cell", "none: `quotes.require_verification`")
    answers = doors(plain_town, tmp_path, node.url)
    states = {name: answer[0] for name, answer in answers.items()}
    assert states == {"quote": 503, "readyz": 200, "sources": 1, "serve": 2}
    quote = json.loads(answers["quote"][1])
    assert quote["message"] == NONE_SIMULATED
    assert "quotes.require_verification = false" in quote["suggestion"]
    assert "node has no eth_simulateV1" in answers["readyz"][1]
    assert "use a node with eth_simulateV1" in answers["sources"][1]
    assert "no swap can be simulated, so none is quoted" in answers["serve"][1]


@pytest.mark.capability("quotes of swaps with `quotes.require_verification = false`")
def test_without_required_verification_quotes_are_marked(
    plain_town: Town, node: OtherNode, tmp_path: Path, record_property: Record
) -> None:
    record_property("node", node.name)
    record_property("cell", "yes, marked as not simulated")
    answers = doors(plain_town, tmp_path, node.url, QUOTES__REQUIRE_VERIFICATION="false")
    states = {name: answer[0] for name, answer in answers.items()}
    assert states == {"quote": 200, "readyz": 200, "sources": 0, "serve": 0}
    quote = json.loads(answers["quote"][1])["data"]
    assert quote["verification"]["status"] == "unverified"
    assert [row["simulated"] for row in quote["sources"] if row["outcome"] == "won"] == [None]


@pytest.mark.capability("the own source, where it is not simulated")
def test_the_own_source_needs_no_more_gas_than_the_node_allows(
    plain_town: Town, node: OtherNode, tmp_path: Path, record_property: Record
) -> None:
    """hardhat refuses 50 M gas in eth_call, and does not clamp it."""
    record_property("node", node.name)
    own = {"QUOTES__REQUIRE_VERIFICATION": "false", "QUOTES__SOURCES": "uniswap"}
    answers = doors(plain_town, tmp_path, node.url, **own)
    assert answers["quote"][0] == 200, answers
    assert json.loads(answers["quote"][1])["data"]["source"] == "uniswap"


@pytest.mark.capability("prices, and quotes of wraps")
def test_prices_and_wraps_need_no_simulation(
    plain_town: Town, node: OtherNode, tmp_path: Path, record_property: Record
) -> None:
    record_property("node", node.name)
    wallet = plain_town.facts["wallets"][0]["address"]
    with serving(plain_town, tmp_path, NODE__URLS=node.url) as served:
        assert served.town.price().json()["ok"] is True
        asked = {"amount": "0.5", "userAddress": wallet}
        for operation in ("wrap", "unwrap"):
            answer = served.town.api.post(
                "/api/v1/mev/wrap/quote", json=asked | {"operation": operation}
            )
            assert answer.status_code == 200, answer.text
