"""`client.usage()` reads what the service answers, with both kinds of client."""

from datetime import UTC, datetime

from quietswap.rules.clients import ClientLimits, KeyScope
from tests.client.conftest import Do
from tests.client.fake_servers import FakeService, ok
from tests.client.fake_usage import usage_answer
from tests.stored_orders import USDC


def test_usage_with_limits(do: Do, service: FakeService) -> None:
    limits = ClientLimits(
        quotes_per_day=10, usd_cents_per_day=10_000, tokens=frozenset({USDC}), open_orders=4
    )
    service.next("usage", ok(usage_answer(limits)))
    found = do("usage")
    assert (found.quotes_per_day.limit, found.quotes_per_day.left) == (10, 7)
    assert (found.open_orders.used, found.open_orders.left) == (1, 3)
    assert (found.usd_per_day.used, found.usd_per_day.left) == ("1.50", "98.50")
    assert found.requests_per_minute.limit is None
    assert found.tokens == (USDC,)
    assert found.day_ends_at == datetime(2027, 1, 16, tzinfo=UTC)
    assert service.asked[-1].path == "/api/v1/mev/usage"


def test_usage_without_limits(do: Do, service: FakeService) -> None:
    service.next("usage", ok(usage_answer()))
    found = do("usage")
    assert found.client_id == "client-1"
    assert found.usd_per_day.limit is None
    assert found.quotes_per_day.used == 3
    assert found.wallets == ()
    assert found.scope == "trade"


def test_usage_of_a_key_that_only_reads(do: Do, service: FakeService) -> None:
    service.next("usage", ok(usage_answer(scope=KeyScope.READ)))
    assert do("usage").scope == "read"
