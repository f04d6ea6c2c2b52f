"""The background task of the operator view's figures on both databases: no failure ends it."""

from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from quietswap.service.server import operator_view
from quietswap.service.server.container import Container
from quietswap.service.settings import Settings
from quietswap.service.storage.factory import Storage
from quietswap.service.storage.figures import FigureStore
from tests.storage.test_keep_house import Naps
from tests.waiting import eventually

TURNS = 3


@pytest.mark.parametrize("step", ["purge", "record"])
async def test_it_goes_on_after_an_unexpected_failure(
    storage: Storage, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    async def broken(*_: object) -> None:
        raise ValueError("unforeseen")

    clock = Naps(TURNS)
    outside = SimpleNamespace(sources=[], relays={}, rpc=SimpleNamespace(nodes=list))
    parts: Any = SimpleNamespace(storage=storage, settings=Settings(), outside=outside)
    monkeypatch.setattr(FigureStore, step, broken)
    monkeypatch.setattr(operator_view, "tracker_role", lambda _: "off")
    with capture_logs() as lines:
        async with AsyncExitStack() as stack:
            operator_view.start_figures(cast(Container, parts), clock, stack)

            async def turned() -> bool:
                return len(clock.slept) == TURNS

            await eventually(turned)
    failed = [line["task"] for line in lines if line["event"] == "background_task_failed"]
    assert failed
    assert set(failed) == {"figures"}
