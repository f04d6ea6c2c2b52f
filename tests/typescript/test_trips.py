"""How often both clients wait for the caller's own node: each request is a trip there and back."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.client.fake_chain import FakeChain
from tests.client.fake_servers import MINIMUM, FakeService
from tests.typescript.both import Outside, Scenario, but, ends
from tests.typescript.package import TypeScript
from tests.typescript.prepare import node
from tests.typescript.scenarios import PRICES, SWAP, SWAPS, WRAPS

pytestmark = pytest.mark.xdist_group("typescript")
TRIES = node(delivers=MINIMUM, prices=PRICES)


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    servers = Outside()
    yield servers
    servers.servers.close()


def trips(scenario: Scenario, typescript: TypeScript, outside: Outside) -> list[int]:
    """Return the requests to the node of Python's client, and of TypeScript's."""
    seen, begun = outside.servers.trips, list[int]()

    def begins(_node: FakeChain, _service: FakeService) -> None:
        begun.append(len(seen))

    ends(replace(scenario, prepare=(*scenario.prepare, begins)), typescript, outside)
    first, second = begun
    return [second - first, len(seen) - second]


@pytest.mark.parametrize(
    ("scenario", "count"),
    [
        (but(SWAP, TRIES), 3),
        (but(SWAP, TRIES, max_impact_percent=3), 3),
        (but(SWAPS["approval"], TRIES), 7),
        (next(iter(WRAPS.values())), 3),
    ],
    ids=["swap", "compared", "approval", "wrap"],
)
def test_both_clients_wait_as_often(
    typescript: TypeScript, outside: Outside, scenario: Scenario, count: int
) -> None:
    assert trips(scenario, typescript, outside) == [count, count]
