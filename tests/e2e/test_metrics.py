"""`/metrics` as Prometheus reads it: of one process, and of several that answer for each other."""

import os
import signal
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families

import quietswap
from tests import loopback
from tests.deploy.test_alerts import PHASES
from tests.e2e.conftest import Town
from tests.e2e.serving import Served, serving
from tests.e2e.test_delivery import Trader
from tests.e2e.test_stop import ORDERS, followed
from tests.processes import children
from tests.waiting import WITHIN_S, wait_until

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scrape(api: httpx.Client) -> Samples:
    """Return every sample of /metrics by name and labels."""
    answer = api.get("/metrics")
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.text)
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def total(samples: Samples, name: str, **labels: str) -> float:
    """Return the sum of a metric's samples that carry these labels."""
    wanted = set(labels.items())
    return sum(v for (found, has), v in samples.items() if found == name and wanted <= has)


def values(samples: Samples, name: str, label: str) -> set[str]:
    """Return the values a label takes in a metric's samples."""
    return {dict(has)[label] for (found, has), _ in samples.items() if found == name}


def test_a_swap_is_seen_from_its_quote_to_its_confirmation(town: Town, tmp_path: Path) -> None:
    tokens = town.facts["tokens"]
    with serving(town, tmp_path) as served:
        trader = Trader(served.town, served.key)
        town.fault("velora", "lie:1.002")
        quote = trader.ready_quote(tokens["WETH"], tokens["USDC"], 10**16)
        town.heal("velora")
        answer = trader.submit(quote)
        path = f"{ORDERS}/{answer.json()['data']['order']['orderId']}"
        api = served.town.api
        assert followed(api, path, {"X-API-Key": served.key}) == "confirmed"
        api.get(f"{ORDERS}/none")
        found = settled(api)
        trader.node.http.close()
    assert values(found, "quietswap_quote_phase_seconds_count", "phase") == PHASES
    quotes = total(found, "quietswap_quote_phase_seconds_count", phase="total")
    assert quotes >= 1
    assert total(found, "quietswap_source_wins_total") == quotes
    answered = total(found, "quietswap_source_answers_total", outcome="answered")
    verified = total(found, "quietswap_verifications_total", verdict="answered")
    assert verified == answered
    assert total(found, "quietswap_verifications_total", verdict="unsafe") == 0  # no alert
    for kind in ("overquotes", "large_overquotes"):
        assert total(found, f"quietswap_source_{kind}_total", source="velora") >= 1
    assert total(found, "quietswap_source_seconds_count") == answered
    assert total(found, "quietswap_order_confirm_seconds_count") == 1
    assert 0 < total(found, "quietswap_order_confirm_seconds_sum") < 600
    assert total(found, "quietswap_order_moves_total", status="confirmed") == 1
    assert total(found, "quietswap_orders_watched", status="confirmed") == 1
    assert total(found, "quietswap_orders_watched") == 1
    assert total(found, "quietswap_relay_answers_total", outcome="accepted") == 1
    missing = {"endpoint": "order_status", "status": "404", "code": "ORDER_NOT_FOUND"}
    assert total(found, "quietswap_requests_total", **missing) == 1


def settled(api: httpx.Client) -> Samples:
    """Return the metrics once the turn that confirmed the order has ended."""
    wait_until(lambda: total(scrape(api), "quietswap_orders_watched", status="confirmed"))
    return scrape(api)


def test_node_errors_are_counted_by_kind_and_by_a_name_without_keys(
    town: Town, tmp_path: Path
) -> None:
    url = town.facts["rpcUrl"].rstrip("/") + "/v2/not-for-metrics"
    with serving(town, tmp_path, NODE__URLS=url) as served:
        town.fault("node", "500")
        try:
            assert served.town.quote().status_code == 503
        finally:
            town.heal("node")
        found = scrape(served.town.api)
        text = served.town.api.get("/metrics").text
    assert total(found, "quietswap_node_errors_total", node="127.0.0.1#1", kind="status") >= 1
    assert "not-for-metrics" not in text


def workers(served: Served) -> list[int]:
    """Return the process ids of the service's workers."""
    return list(children(served.server.pid))


def asked(served: Served, times: int) -> None:
    """Ask for a status so often, each time on a connection of its own, so that all workers work."""

    def ask(_: int) -> int:
        headers = {"X-API-Key": served.key}
        return loopback.get(
            f"{served.url}{ORDERS}/none", headers=headers, timeout=WITHIN_S
        ).status_code

    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(ask, range(times))) == {404}


def of_status(served: Served) -> float:
    """Return how many status requests a scrape on a fresh connection tells of."""
    with loopback.Client(base_url=served.url, timeout=WITHIN_S) as fresh:
        return total(scrape(fresh), "quietswap_requests_total", endpoint="order_status")


def test_any_of_several_processes_answers_for_all_even_for_a_dead_one(
    town: Town, tmp_path: Path, shared_stores: dict[str, str]
) -> None:
    with serving(town, tmp_path, "--workers", "2", TMPDIR=str(tmp_path), **shared_stores) as served:
        [folder] = tmp_path.glob("quietswap-metrics-*")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        before = workers(served)
        assert len(before) == 2
        asked(served, 40)
        assert {of_status(served) for _ in range(8)} == {40}
        counted = {file.stem.rpartition("_")[2] for file in folder.glob("counter_*.db")}
        assert {str(worker) for worker in before} <= counted
        os.kill(before[0], signal.SIGKILL)
        wait_until(lambda: len(set(workers(served)) - {before[0]}) == 2)
        (folder / f"counter_{before[0] + 1}.db").touch()  # so is the file of a worker at its start
        served.until_it_answers()  # the other worker may have been at its start
        asked(served, 20)
        assert {of_status(served) for _ in range(8)} == {60}
        assert not list(folder.glob(f"gauge_live*_{before[0]}.db"))
        served.stop()
        assert not folder.exists()


def test_version_and_memory_are_told(town: Town, tmp_path: Path) -> None:
    with serving(town, tmp_path) as served:
        found = scrape(served.town.api)
    assert not any(name.startswith("quietswap_tls_certificate") for name, _ in found)
    assert total(found, "quietswap_build_info", version=quietswap.__version__) == 1
    assert 20_000_000 < total(found, "quietswap_resident_memory_bytes") < 2_000_000_000
