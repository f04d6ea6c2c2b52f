"""In every scenario the TypeScript client ends as the Python client does, by the same requests.

Compared are the result or the error with hash, nonce, order and cause, all pauses, each request to
the service, the signed bytes and the simulations.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quietswap.client.flows.finality import CANCEL
from quietswap.rules.orders.order import OrderStatus
from tests.api.scripted_use_cases import WALLET
from tests.client.fake_chain import FakeChain
from tests.client.fake_servers import TX_HASH
from tests.client.test_after_signing import FATES, REFUSALS
from tests.client.test_finality import (
    NONCE,
    Chain,
    counted_by_a_fork,
    counted_by_one_backend,
    failing,
    in_the_newest_block,
    mined,
    nothing,
    of_another_chain,
    replaced,
    replaced_in_the_newest_block,
    reported,
    reverted,
)
from tests.client.test_polling import at
from tests.example_counts import LONG
from tests.typescript.both import Outside, Prepare, Scenario, but, ends
from tests.typescript.package import TypeScript, build, needs_packages, running
from tests.typescript.prepare import says
from tests.typescript.scenarios import (
    BEHIND,
    CANCELS,
    MINED_HASH,
    RECEIVED,
    SIGNERS,
    SWAP,
    SWAPS,
    TRIALS,
    WRAPS,
)


def mined_elsewhere(node: FakeChain) -> None:
    """Another machine signed the order."""
    mined(node)


CHAINS: list[Chain] = [
    mined, reverted, replaced, replaced_in_the_newest_block, of_another_chain,
    counted_by_one_backend, counted_by_a_fork, failing, nothing, mined_elsewhere,
]  # fmt: skip
FINDINGS = CHAINS if LONG else [mined, reverted, replaced, failing, nothing, mined_elsewhere]
ENDS = [("end", chain) for chain in CHAINS] + [("follow", chain) for chain in FINDINGS]
"""`follow` is `end`, and an error if the record is not what `end` found: once for each finding."""
pytestmark = pytest.mark.xdist_group("typescript")
Same = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    found = Outside()
    yield found
    found.servers.close()


@pytest.fixture
def same(typescript: TypeScript, outside: Outside) -> Same:
    """Return a function that compares both ends of a scenario, and returns Python's."""
    return lambda scenario, **options: _same(scenario, typescript, outside, **options)


def _same(
    scenario: Scenario, typescript: TypeScript, outside: Outside, *, gathers: bool = False
) -> dict[str, Any]:
    python, ours = ends(scenario, typescript, outside)
    if gathers:  # Python asks in batches what TypeScript asks one by one
        for end in (python, ours):
            end["pauses"] = sorted(set(end["pauses"]))
    expected, found = _flat(python), _flat(ours)
    other = {name: (expected.get(name), found.get(name)) for name in expected.keys() | found}
    assert not {name: pair for name, pair in other.items() if pair[0] != pair[1]}
    return python


def _flat(end: dict[str, Any]) -> dict[str, Any]:
    """Return the end with the members of its result or error beside its own."""
    inner = {f"{part}.{name}": value for part in ("result", "error")
             for name, value in end.get(part, {}).items()}  # fmt: skip
    return {name: value for name, value in end.items() if name not in ("result", "error")} | inner


@pytest.mark.parametrize("name", SWAPS)
def test_a_swap(same: Same, name: str) -> None:
    same(SWAPS[name], gathers="busy" in name)


@pytest.mark.parametrize("name", RECEIVED)
def test_a_swap_for_a_minimum(same: Same, name: str) -> None:
    """What has to hold comes from the request: a service may answer with less, or sell more."""
    scenario, refusal = RECEIVED[name]
    end = same(scenario)
    quotes = [query for _, path, query in end["asked"] if path.endswith("/quote")]
    goal = str(scenario.request["at_least"])
    assert all(each["minBuyAmount"] == goal and "sellAmount" not in each for each in quotes)
    if refusal is None:
        assert end["result"]["succeeded"]
    else:
        assert (end["error"]["name"], end["posted"], end["approvals"]) == (refusal, [], [])


@pytest.mark.parametrize("name", BEHIND)
def test_a_swap_behind_an_open_order(same: Same, name: str) -> None:
    """What the order will sell is not there for the swap: it could only revert."""
    scenario, lacks = BEHIND[name]
    end = same(scenario)
    if lacks is None:
        assert end["result"]["succeeded"]
    else:
        assert (end["error"]["name"], end["posted"]) == ("QuoteDeclined", [])
        assert end["error"]["declined"].lower().startswith(lacks.lower())
        assert "open orders with lower nonces sell" in end["error"]["declined"]


@needs_packages
def test_a_swap_is_followed_without_the_module_of_the_stream(
    outside: Outside, tmp_path: Path
) -> None:
    build(tmp_path)
    (tmp_path / "built" / "stream.js").unlink()
    with running(tmp_path) as partial:
        end = _same(but(SWAP, says("status", at(OrderStatus.MINING))), partial, outside)
    assert end["result"]["status"] == "confirmed"
    assert end["pauses"]


@pytest.mark.parametrize("status", [OrderStatus.CONFIRMED, OrderStatus.FAILED])
@pytest.mark.parametrize(
    ("method", "chain", "node"),
    [
        *((method, chain, True) for method, chain in ENDS),
        *((method, chain, False) for method, chain in ENDS if chain in (mined, mined_elsewhere)),
    ],
)
def test_an_order_that_the_service_calls_final(
    same: Same, chain: Chain, status: OrderStatus, method: str, node: bool
) -> None:
    """Without a node no chain is asked, so one is enough there."""
    sent = {"what": "the swap", "tx_hash": TX_HASH, "wallet": WALLET, "nonce": NONCE}
    known = {"ord_1": sent | {"order_id": "ord_1"}} if chain is not mined_elsewhere else {}
    told = Scenario(
        method, {"order_id": "ord_1"},
        (lambda fake, _: chain(fake), says("status", reported(status))),
        node=node, orders=known,
    )  # fmt: skip
    end = same(told)
    if node and chain in (mined, mined_elsewhere) and status is OrderStatus.FAILED:
        is_told = end.get("result", {}).get("is_contradicted")
        assert is_told or end["error"]["name"] == "StatusContradiction"


@pytest.mark.parametrize("status", [OrderStatus.CONFIRMED, OrderStatus.CANCELLED])
def test_a_cancel_that_only_the_newest_block_has(same: Same, status: OrderStatus) -> None:
    sent = {"what": CANCEL, "tx_hash": TX_HASH, "wallet": WALLET, "nonce": NONCE}

    def shallow(fake: FakeChain, _: Any) -> None:
        mined(fake)
        in_the_newest_block(fake, looks=200)

    told = Scenario(
        "end", {"order_id": "ord_1"}, (shallow, says("status", reported(status))),
        orders={"ord_1": sent | {"order_id": "ord_1"}},
    )  # fmt: skip
    end = same(told)["result"]
    assert (end["fate"], end["may_be_mined"]) == ("open", True)


@pytest.mark.parametrize(("method", "chain"), ENDS)
def test_an_order_that_the_service_calls_pending_for_ever(
    same: Same, chain: Chain, method: str
) -> None:
    """What the own node has shown for a minute is not waited for."""
    sent = {"what": "the swap", "tx_hash": TX_HASH, "wallet": WALLET, "nonce": NONCE}
    told = Scenario(
        method, {"order_id": "ord_1"},
        (lambda fake, _: chain(fake), says("status", *[reported(OrderStatus.PENDING)] * 40)),
        orders={"ord_1": sent | {"order_id": "ord_1"}},
    )  # fmt: skip
    end = same(told)
    if chain is mined:
        told_so = end.get("result", {}).get("confirmed") or end["error"]["name"] == "MinedAnyway"
        assert told_so


@pytest.mark.parametrize("method", ["end", "follow"])
@pytest.mark.parametrize("chain", [mined, reverted, nothing], ids=lambda chain: chain.__name__)
def test_an_order_with_another_hash(same: Same, chain: Chain, method: str) -> None:
    sent = {"what": "the swap", "tx_hash": MINED_HASH, "wallet": WALLET, "nonce": NONCE}
    told = Scenario(
        method, {"order_id": "ord_1"},
        (lambda fake, _: chain(fake), says("status", reported(OrderStatus.PENDING))),
        orders={"ord_1": sent | {"order_id": "ord_1"}},
    )  # fmt: skip
    assert same(told)["error"]["name"] == "TransactionHashMismatch"


@pytest.mark.parametrize("name", TRIALS)
def test_a_simulation(same: Same, name: str) -> None:
    assert same(TRIALS[name])["simulated"] or "impact" in name


@pytest.mark.parametrize("name", SIGNERS)
def test_a_signer(same: Same, name: str) -> None:
    end = same(replace(SWAP, signer=SIGNERS[name]))
    assert (end["error"]["name"], end["posted"]) == ("SignerMismatch", [])


@pytest.mark.parametrize("name", WRAPS)
def test_a_wrap(same: Same, name: str) -> None:
    same(WRAPS[name])


@pytest.mark.parametrize("name", CANCELS)
def test_a_cancel(same: Same, name: str) -> None:
    same(CANCELS[name])


PAIRS = [
    (index, fate)
    for index in range(len(REFUSALS))
    for number, (fate, *_) in enumerate(FATES)
    if LONG or (index + number) % 4 == 0
]
"""All refusals and all fates; all pairs in `make test-long`."""


@pytest.mark.parametrize(("index", "fate"), PAIRS)
def test_a_refusal_after_the_bytes_are_out(same: Same, index: int, fate: Prepare) -> None:
    end = same(but(SWAP, fate, says("order", REFUSALS[index])))
    assert end["error"]["name"] in ("MayBeMined", "MinedAnyway", "NeverMined")
    assert (end["error"]["nonce"], len(end["posted"])) == (7, 1)
