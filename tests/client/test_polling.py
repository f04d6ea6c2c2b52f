"""Following an order: the recommended interval, backoff on errors, and an end to patience."""

import pytest

from quietswap.client import QuietswapClient
from quietswap.client.errors import (
    OrderNotFound,
    OrderStillOpen,
    ServiceUnavailable,
    ServiceUnreachable,
)
from quietswap.client.flows.polling import PollingPolicy
from quietswap.rules import errors
from quietswap.rules.orders.order import OrderStatus
from tests.client.conftest import Time
from tests.client.fake_servers import FakeService, Reply, ok, placed, refused
from tests.response_json import orders
from tests.stored_orders import recorded

AWAY = refused(errors.ServiceUnavailable("the database does not answer"))


def at(status: OrderStatus) -> Reply:
    return ok(orders.order_status_response(recorded(placed(status))))


def test_polls_every_ten_seconds_until_terminal(
    client: QuietswapClient, service: FakeService, time: Time
) -> None:
    service.next(
        "status", *map(at, [OrderStatus.PENDING, OrderStatus.SUBMITTED, OrderStatus.MINING])
    )
    seen: list[str] = []
    record = client.follow("ord_1", lambda record: seen.append(record.status))
    assert record.status == "confirmed"
    assert seen == ["pending", "submitted", "mining", "confirmed"]
    assert time.pauses == [10, 10, 10]


@pytest.mark.parametrize("status", [OrderStatus.FAILED, OrderStatus.CANCELLED])
def test_stops_at_any_terminal_state(
    client: QuietswapClient, service: FakeService, time: Time, status: OrderStatus
) -> None:
    service.next("status", at(status))
    assert client.follow("ord_1").status == status.value
    assert time.pauses == []


def test_errors_back_off_and_a_success_starts_over(
    client: QuietswapClient, service: FakeService, time: Time
) -> None:
    service.next("status", AWAY, Reply(b"", 502), Reply(None), AWAY, at(OrderStatus.MINING), AWAY)
    client.follow("ord_1")
    assert time.pauses == [1, 2, 4, 8, 10, 1]


def test_trouble_that_is_waited_out_is_told(client: QuietswapClient, service: FakeService) -> None:
    told: list[tuple[str, float]] = []
    client.polling = PollingPolicy(
        on_trouble=lambda error, seconds: told.append((str(error), seconds))
    )
    service.next("status", AWAY, AWAY)
    client.follow("ord_1")
    assert [seconds for _, seconds in told] == [1, 2]
    assert "the database does not answer" in told[0][0]


def test_backoff_has_a_ceiling_and_obeys_retry_after(
    client: QuietswapClient, service: FakeService, time: Time
) -> None:
    limited = refused(errors.RateLimitExceeded(retry_after=45, limit=300, window=60))
    service.next("status", *[AWAY] * 6, limited)
    client.follow("ord_1")
    assert time.pauses == [1, 2, 4, 8, 16, 30, 45]


def test_patience_ends_after_five_minutes(
    client: QuietswapClient, service: FakeService, time: Time
) -> None:
    service.next("status", *[at(OrderStatus.MINING)] * 40)
    with pytest.raises(OrderStillOpen, match="ord_1 is still mining after 300 s"):
        client.follow("ord_1")
    assert sum(time.pauses) == 300


def test_patience_that_ends_with_an_error_says_so(
    client: QuietswapClient, service: FakeService
) -> None:
    service.next("status", *[AWAY] * 40)
    with pytest.raises(ServiceUnavailable):
        client.follow("ord_1")


def test_what_waiting_cannot_mend_is_raised_at_once(
    client: QuietswapClient, service: FakeService, time: Time
) -> None:
    service.next("status", refused(errors.OrderNotFound()))
    with pytest.raises(OrderNotFound):
        client.follow("ord_1")
    assert time.pauses == []


def test_an_interval_of_ones_own(client: QuietswapClient, service: FakeService, time: Time) -> None:
    client.polling = PollingPolicy(interval_s=5, patience_s=11)
    service.next("status", *[at(OrderStatus.SUBMITTED)] * 9)
    with pytest.raises(OrderStillOpen):
        client.follow("ord_1")
    assert time.pauses == [5, 5]


def test_a_service_that_is_gone(time: Time) -> None:
    gone = QuietswapClient("http://127.0.0.1:1", "k", sleep=time.sleep, monotonic=time.monotonic)
    with gone, pytest.raises(ServiceUnreachable):
        gone.follow("ord_1")
    assert sum(time.pauses) < 300


PAUSES = ("interval_s", "first_backoff_s", "longest_backoff_s", "node_interval_s")


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf"), 86_400.1])
@pytest.mark.parametrize("name", PAUSES)
def test_a_pause_that_is_none_is_refused(name: str, seconds: float) -> None:
    """Without a pause the client would use up the requests of its key."""
    with pytest.raises(ValueError, match=f"^{name} must be seconds above 0, at most 86400, not "):
        PollingPolicy(**{name: seconds})


@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
@pytest.mark.parametrize("name", ["patience_s", "doubt_s"])
def test_a_negative_time_is_refused(name: str, seconds: float) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be 0 or more seconds, not "):
        PollingPolicy(**{name: seconds})


@pytest.mark.parametrize("seconds", [0.0, float("nan"), float("inf")])
def test_a_timeout_that_is_none_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match=r"^timeout_s must be seconds above 0, at most 86400, not"):
        QuietswapClient("http://127.0.0.1:9", "qs_right", timeout_s=seconds)
