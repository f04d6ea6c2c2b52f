"""Each test of the services checks that a tracked order changes its state by the table alone."""

import pytest

from quietswap.rules.orders.tracking import TrackedOrder
from quietswap.rules.orders.watch_states import WATCH_STEPS, WatchState
from quietswap.service.orders.tracking.index import OrderIndex


@pytest.fixture(autouse=True)
def only_steps_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, states = OrderIndex.reindex, dict[int, tuple[TrackedOrder, WatchState]]()

    def reindex(self: OrderIndex, watch: TrackedOrder) -> None:
        _, before = states.get(id(watch), (watch, None))
        assert before in (None, watch.state) or watch.state in WATCH_STEPS[before]
        states[id(watch)] = (watch, watch.state)
        plain(self, watch)

    monkeypatch.setattr(OrderIndex, "reindex", reindex)
