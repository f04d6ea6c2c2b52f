"""Text that others choose stays text on every page of the operator view, and small."""

import re
from dataclasses import replace

import httpx

from quietswap.rules.clients import ApiKey, AuditEntry, Client
from quietswap.rules.operator.figures import Measure
from quietswap.rules.operator.operators import Health, PausedSource
from quietswap.rules.orders.order import Failure, FailureCode, OrderStatus
from tests.operators.conftest import Office
from tests.operators.test_pages import HOSTILE, SEEN, add, count, stored_at
from tests.storage.examples import an_event


async def test_hostile_text_is_text_on_every_page(office: Office, desk: httpx.AsyncClient) -> None:
    name = HOSTILE
    await office.storage.clients.add(Client("client-1", name, 1))
    await office.storage.keys.add(ApiKey("key_1", name, 1, None, "client-1"), b"1")
    order = stored_at(office, 1, source=name, endpoint_type=name)
    await add(office, order)
    failed = replace(order, status=OrderStatus.FAILED, failure=Failure(FailureCode.REFUSED, name))
    assert await office.storage.orders.update(failed, replace(an_event(failed), evidence=name))
    entry = AuditEntry("aud_x", office.clock.now_ms(), {"operator": name}, name, {name: name})
    held = PausedSource("velora", 1, name, name)
    assert await office.storage.paused_sources.pause(held, entry)
    measures = [(measure, name, name, 1, 2) for measure in Measure]
    await count(
        office,
        *measures,
        tracker=name,
        version=name,
        startedAt=name,
        relays={name: name},
        sources={"velora": name},
        misses={"velora": [office.clock.now_ms(), name], "kyberswap": name, "sushi": [name, 1]},
        nodes=[{"name": name, "height": name, "circuit": name, "lags": name}],
    )
    office.health = Health({"database": name, name: name}, name)
    paths = (
        "", "/orders", f"/orders/{order.order_id}", "/sources", "/relay", "/node", "/clients",
        "/health", "/audit", "/keys/key_1/revoke", "/sources/velora/pause",
    )  # fmt: skip
    for path in paths:
        answer = await desk.get(f"/operator{path}")
        assert answer.status_code == 200, path
        assert not SEEN.search(answer.text), path
        assert "\u202e" not in answer.text, path
        assert "onerror=alert" not in re.sub(r">[^<]*<", "><", answer.text), path
        if path not in ("", "/sources/velora/pause"):
            assert "&lt;script&gt;alert(1)&lt;/script&gt;" in answer.text, path


async def test_a_very_long_text_does_not_make_a_large_page(
    office: Office, desk: httpx.AsyncClient
) -> None:
    await office.storage.clients.add(Client("client-1", "x" * 1_000_000, 1))
    assert len((await desk.get("/operator/clients")).content) < 50_000
