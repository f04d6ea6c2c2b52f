"""`quietswap sandbox --node geth`, as its users start it."""

import pytest

from tests import forked
from tests.e2e.conftest import running_town
from tests.waiting import wait_until


def test_the_command_runs_the_chain_on_geth() -> None:
    with running_town("--node", "geth", "--block-time", "1") as town:
        assert town.quote().json()["data"]["verification"]["status"] == "verified"
        before = town.control.post("/mine", json={"blocks": 5}).json()["head"]
        reorg = town.control.post("/reorg", json={"depth": 5}).json()
        assert reorg["head"] <= before
        wait_until(lambda: town.control.post("/mine").json()["head"] > before)
        answer = town.control.put("/feed", json={"pair": "ETH / USD", "usd": "1"})
        assert (answer.status_code, answer.json()["error"]) == (
            400, "a feed keeps its price on geth: its storage cannot be written",
        )  # fmt: skip


@pytest.mark.parametrize("words", [["--amsterdam-in", "5"], ["--node", "reth"]])
def test_options_that_mean_nothing_are_refused(words: list[str]) -> None:
    assert forked.run(["sandbox", *words], forked.without_settings()).returncode == 2
