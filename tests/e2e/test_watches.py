"""Watches of a real service: met by the leader, told once over a kill and the next process."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.e2e.conftest import USDC, WETH, Town
from tests.e2e.serving import Served, serving
from tests.e2e.test_event_stream import Follower, seen
from tests.spec.wire import data

PATH = "/api/v1/watches"


def watch(served: Served, bought: int) -> Any:
    ask = {
        "sellToken": WETH, "buyToken": USDC, "sellAmount": str(10**18), "buyAmount": str(bought),
        "condition": "atLeast",
    }  # fmt: skip
    return data(served.town.api.post(PATH, json=ask))


def states(served: Served) -> dict[str, str]:
    watches = data(served.town.api.get(PATH))["watches"]
    return {one["id"]: one["state"] for one in watches}


def test_a_kill_repeats_no_watch_and_loses_none(town: Town, tmp_path: Path) -> None:
    with ExitStack() as stack:
        served = stack.enter_context(serving(town, tmp_path))
        stream = Follower(served.url, served.key)
        first, never = watch(served, 1), watch(served, 10**30)
        stream.until(seen("watch.met"))
        second = watch(served, 2)
        served.kill()
        stream.wait()
        again = stack.enter_context(serving(town, tmp_path))
        again.town.api.headers["X-API-Key"] = served.key
        stream = Follower(again.url, served.key, after=0)
        stream.until(seen("watch.met", "watch.met"))
        assert [event["watch"]["id"] for event in stream.events] == [first["id"], second["id"]]
        assert stream.sequences == [1, 2]
        assert states(again) == {first["id"]: "met", second["id"]: "met", never["id"]: "open"}
        again.stop()
        stream.wait()
