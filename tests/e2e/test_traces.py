"""One trace from the request through sources, simulation, database and relay, for an operator."""

import secrets
import socket
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from quietswap.sandbox.ports import free_port
from tests.deploy.test_alerts import PHASES
from tests.e2e.collector import Collector, attributes, collecting
from tests.e2e.conftest import Town
from tests.e2e.serving import Served, serving
from tests.e2e.test_delivery import Trader
from tests.waiting import WITHIN_S

pytestmark = pytest.mark.xdist_group("traces")

QUICKLY = {"OTEL_BSP_SCHEDULE_DELAY": "50"}


@dataclass
class Traced:
    """A service that sends its traces to a collector, and a trader in front of it."""

    served: Served
    collector: Collector
    trader: Trader

    def begin(self) -> str:
        """Let the next requests be part of a trace of the client's; return its id."""
        trace_id, self.parent = secrets.token_hex(16), secrets.token_hex(8)
        self.served.town.api.headers["traceparent"] = f"00-{trace_id}-{self.parent}-01"
        return trace_id


@pytest.fixture(scope="module")
def traced(town: Town, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    folder = tmp_path_factory.mktemp("traced")
    with (
        collecting() as collector,
        serving(town, folder, OBSERVE__OTLP_ENDPOINT=collector.url, **QUICKLY) as served,
    ):
        trader = Trader(served.town, served.key)
        yield Traced(served, collector, trader)
        trader.node.http.close()


def test_a_quote_is_one_trace(traced: Traced, town: Town) -> None:
    trace_id = traced.begin()
    answer = traced.served.town.quote()
    assert answer.status_code == 200, answer.text
    spans = traced.collector.trace(trace_id, "swap_quote")
    by_id = {span.span_id: span for span in spans}
    [root] = [span for span in spans if span.name == "swap_quote"]
    assert root.parent_span_id.hex() == traced.parent
    assert attributes(root)["http.response.status_code"] == 200
    assert attributes(root)["quietswap.request"] == answer.headers["X-Request-Id"]
    assert all(span.parent_span_id in by_id for span in spans if span is not root)
    asked = {attributes(span)["source"] for span in spans if span.name == "source"}
    assert asked == {row["source"] for row in answer.json()["data"]["sources"]}
    assert len(asked) == 4
    simulations = [span for span in spans if span.name == "simulation"]
    assert simulations, "one for each group of routes that arrived together"
    parents = {by_id[one.parent_span_id].name for one in simulations}
    assert parents <= {"swap_quote", "verification"}
    names = Counter(span.name for span in spans)
    assert PHASES - {"total"} | {"database", "node"} <= set(names)
    [storing] = [span for span in spans if span.name == "storing"]
    assert "database" in {s.name for s in spans if s.parent_span_id == storing.span_id}


def test_an_order_is_one_trace_down_to_the_relay(traced: Traced) -> None:
    tokens = traced.served.town.facts["tokens"]
    quote = traced.trader.ready_quote(tokens["WETH"], tokens["USDC"], 10**16)
    body = traced.trader.signed_order(quote)
    trace_id = traced.begin()
    answer = traced.served.town.api.post("/api/v1/mev/orders", json=body)
    assert answer.status_code == 200, answer.text
    spans = traced.collector.trace(trace_id, "swap_order")
    assert {"swap_order", "database", "node", "relay"} <= {span.name for span in spans}
    [relay] = [span for span in spans if span.name == "relay"]
    assert attributes(relay)["relay"] == "MEV Blocker"
    sent = b"".join(traced.collector.raw)
    raw = body["signedTransaction"]
    wallet = traced.trader.address
    for secret in (raw, raw[2:66], traced.served.key, wallet, wallet.lower()):
        assert secret.encode() not in sent
    assert bytes.fromhex(raw[2:])[:32] not in sent


def test_a_client_that_wants_no_trace_gets_none_and_one_without_header_gets_its_own(
    traced: Traced,
) -> None:
    api = traced.served.town.api
    unwanted = secrets.token_hex(16)
    api.get("/api/v1/mev/orders/x", headers={"traceparent": f"00-{unwanted}-{'1' * 16}-00"})
    api.headers.pop("traceparent", None)
    api.get("/healthz")
    answer = api.get("/api/v1/mev/orders/y")
    collector = traced.collector
    mine = answer.headers["X-Request-Id"]

    def named() -> bool:
        return any(attributes(s).get("quietswap.request") == mine for s in collector.spans)

    with collector.came:
        assert collector.came.wait_for(named, WITHIN_S)
    assert unwanted not in {span.trace_id.hex() for span in collector.spans}
    [own] = [s for s in collector.spans if attributes(s).get("quietswap.request") == mine]
    assert (own.name, own.parent_span_id) == ("order_status", b"")


def stopped_well(served: Served) -> None:
    """Stop it; a process that had to be killed would have told nothing of its tracker's end."""
    served.stop()
    assert "tracker_stopped" in [line["event"] for line in served.lines()]


def test_a_collector_that_is_away_is_no_trouble(town: Town, tmp_path: Path) -> None:
    nowhere = f"http://user:pass-in-url@127.0.0.1:{free_port()}/v1/traces"
    with serving(town, tmp_path, OBSERVE__OTLP_ENDPOINT=nowhere, **QUICKLY) as served:
        for _ in range(3):
            assert served.town.quote().status_code == 200
        stopped_well(served)
        assert "pass-in-url" not in served.log.read_text("utf-8")


def test_a_collector_that_hangs_is_no_trouble(town: Town, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1/traces"
        with serving(town, tmp_path, OBSERVE__OTLP_ENDPOINT=url, **QUICKLY) as served:
            for _ in range(3):
                assert served.town.quote().status_code == 200
            stopped_well(served)
