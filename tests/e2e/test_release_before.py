"""The release before on the schema of this one: beside it, again after a restart, and back."""

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import loopback
from tests.databases import PostgresCluster, both_databases
from tests.e2e.conftest import PATIENT, Town, running_town
from tests.spec.api_client import ApiClient
from tests.waiting import WITHIN_S

BEFORE = "fd10f1f4"
"""The commit of the release before; move it with each release (`docs/decisions/0007`)."""
_ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of the release before, from the history of this repository."""
    archive = ["git", "-C", str(_ROOT), "archive", BEFORE, "src"]
    done = subprocess.run(archive, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"this copy of the repository has no commit {BEFORE}")
    folder = tmp_path_factory.mktemp("before")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder / "src"


@contextmanager
def _release_before(sources: Path, url: str) -> Iterator[Town]:
    """Run its sandbox on a database, migrated by this release."""
    words = ["sandbox", "--json", "--free-ports", *PATIENT, "--block-time", "0.5"]
    variables = {**os.environ, "PYTHONPATH": str(sources), "QUIETSWAP_PROJECT_ROOT": str(_ROOT)}
    command = [sys.executable, "-m", "quietswap", *words, "--storage-url", url]
    with subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            facts = json.loads(process.stdout.readline())
            with (
                loopback.Client(base_url=facts["baseUrl"], timeout=WITHIN_S) as api,
                loopback.Client(base_url=facts["controlUrl"], timeout=WITHIN_S) as control,
            ):
                yield Town(facts, api, control)
        finally:
            process.terminate()
            assert process.wait(WITHIN_S) == 0


@pytest.fixture(params=both_databases("release-before"))
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/shared.db"
    servers: tuple[PostgresCluster, Any] = request.getfixturevalue("store_servers")
    return await servers[0].migrated()


def _trade(town: Town, url: str) -> tuple[str, str]:
    """Let a new client swap, wrap and read its history; return its key and its order's id."""
    with ApiClient(town, url) as desk:
        wallet = desk.wallet()
        order_id: str = desk.order(wallet)["orderId"]
        assert desk.follow(order_id)["status"] == "confirmed"
        assert desk.submit_wrap(desk.wrap(desk.wallet())).status_code == 200
        # not held against this document: a release before has not all members of a line
        page = f"/api/v1/mev/orders/user/{wallet.address}"
        lines = town.api.get(page, headers={"X-API-Key": desk.secret})
        assert lines.json()["data"]["total"] == 1
        assert town.api.get("/readyz").status_code == 200
        return desk.secret, order_id


def test_the_release_before_serves_from_this_schema_and_back_again(sources: Path, url: str) -> None:
    """Each release has a chain of its own, so an order of the other one is read, not judged."""
    with running_town("--block-time", "0.5", "--storage-url", url) as town:
        now = _trade(town, url)
    with _release_before(sources, url) as town:
        before = _trade(town, url)
        assert _reads(town, *now)
    with running_town("--block-time", "0.5", "--storage-url", url) as town:
        _trade(town, url)
        assert _reads(town, *before)


def _reads(town: Town, secret: str, order_id: str) -> bool:
    """Return whether a release reads the order of another one, with its client's key."""
    answer = town.api.get(f"/api/v1/mev/orders/{order_id}", headers={"X-API-Key": secret})
    return answer.status_code == 200 and answer.json()["data"]["orderId"] == order_id
