"""A node's limit of calls in a batch: quotes, readiness and checks meet the same batches."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests import forked, loopback
from tests.e2e.conftest import Town
from tests.e2e.serving import Served, serving
from tests.reports.proxy import Trouble, limited, listed, proxy
from tests.waiting import WITHIN_S

PLAN = -32099
"""A code that no specification has."""


def readiness(served: Served) -> tuple[int, dict[str, Any]]:
    with loopback.Client(base_url=served.url, timeout=WITHIN_S) as stranger:
        answer = stranger.get("/readyz")
    return answer.status_code, answer.json()


def doors(town: Town, folder: Path, url: str, **settings: str) -> dict[str, tuple[object, str]]:
    """Return what each door says of the node at `url`: its status or exit code, and its words."""
    with serving(town, folder, NODE__URLS=url, **settings) as served:
        quote = served.town.quote()
        status, ready = readiness(served)
    words = ready["checks"]["node"] + str(ready.get("warnings", ""))
    found: dict[str, tuple[object, str]] = {
        "quote": (quote.status_code, quote.text),
        "readyz": (status, words),
    }
    names = {f"QUIETSWAP_{name}": value for name, value in settings.items()}
    variables = forked.without_settings() | {
        "QUIETSWAP_SETTINGS": town.facts["settingsFile"],
        "QUIETSWAP_NODE__URLS": url,
    } | names  # fmt: skip
    for words in (["sources", "check", "--json"], ["serve", "--check", "--node", "--json"]):
        done = forked.run(words, variables)
        found[words[0]] = done.returncode, done.stdout
    return found


async def tried(town: Town, folder: Path, trouble: Trouble, **settings: str) -> dict[str, Any]:
    async with proxy(town.facts["rpcUrl"], trouble) as one:
        return await asyncio.to_thread(doors, town, folder, one.url, **settings)


@pytest.mark.parametrize(
    "trouble",
    [
        limited(3, "batch limit 3 exceeded"),
        limited(3, "batch limit 3 exceeded", in_each=True),
        limited(3, "upgrade your plan"),
        listed(5),
    ],
    ids=["named", "named in each", "by its code", "geth"],
)
async def test_a_limit_is_learned(town: Town, tmp_path: Path, trouble: Trouble) -> None:
    found = await tried(town, tmp_path, trouble)
    assert {name: one[0] for name, one in found.items()} == {
        "quote": 200, "readyz": 200, "sources": 0, "serve": 0,
    }  # fmt: skip


async def test_a_limit_that_is_not_named_fails_at_every_door(town: Town, tmp_path: Path) -> None:
    found = await tried(town, tmp_path, limited(3, "upgrade your plan", code=PLAN))
    assert {name: one[0] for name, one in found.items()} == {
        "quote": 503, "readyz": 200, "sources": 1, "serve": 2,
    }  # fmt: skip
    assert "upgrade your plan" in found["readyz"][1]
    assert "upgrade your plan" in found["sources"][1]
    assert "upgrade your plan" in json.loads(found["serve"][1])["faults"][0]


async def test_the_setting_carries_what_cannot_be_learned(town: Town, tmp_path: Path) -> None:
    found = await tried(
        town, tmp_path, limited(3, "upgrade your plan", code=PLAN), NODE__BATCH_SIZE="3"
    )
    assert {name: one[0] for name, one in found.items()} == {
        "quote": 200, "readyz": 200, "sources": 0, "serve": 0,
    }  # fmt: skip


def test_a_node_that_cannot_simulate_is_a_warning(town: Town, tmp_path: Path) -> None:
    town.fault("node", "no_simulate")
    try:
        with serving(town, tmp_path) as served:
            status, ready = readiness(served)
    finally:
        town.heal("node")
    assert (status, ready["warnings"]["simulation"]) == (200, "node has no eth_simulateV1")
