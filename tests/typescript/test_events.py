"""The events of the TypeScript client: of orders, whatever else the service tells."""

from collections.abc import Iterator

import msgspec
import pytest

from quietswap.service.server.openapi import document, expanded, sample
from tests.client.fake_chain import FakeChain
from tests.client.fake_servers import FakeServers, FakeService, Reply
from tests.client.silence import TYPE
from tests.typescript.package import TypeScript

pytestmark = pytest.mark.xdist_group("typescript")


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
def url(service: FakeService) -> Iterator[str]:
    servers = FakeServers(service, FakeChain())
    yield servers.url
    servers.close()


def test_an_event_of_another_type_is_passed_over(
    typescript: TypeScript, service: FakeService, url: str
) -> None:
    schemas = document()["components"]["schemas"]
    told = [
        sample(expanded(schemas[name], schemas)) | {"sequence": sequence}
        for sequence, name in enumerate(("WatchEventMessage", "OrderEventMessage"), 1)
    ]
    text = b"".join(
        b"id: %d\nevent: x\ndata: %s\n\n" % (each["sequence"], msgspec.json.encode(each))
        for each in told
    )
    service.next("events", Reply(text, headers=TYPE))
    options = {"url": url, "apiKey": "qs_right"}
    found = typescript.ask("events", {"after": 0}, options=options, until=[told[1]["type"]])
    assert found == [[2, told[1]["type"], told[1]["order"]["orderId"]]]
