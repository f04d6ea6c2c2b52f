"""Alert rules and the dashboard speak of metrics, labels and values that exist."""

import json
import re
from typing import Any

import pytest

from quietswap.rules.contract.errors import ERRORS
from quietswap.rules.orders.order import OrderStatus
from quietswap.rules.quotes.quote import NoRouteReason, SourceOutcome
from quietswap.rules.webhooks.webhook import DisabledReason
from quietswap.service import observe
from quietswap.service.relays.answers import RelayOutcome
from quietswap.service.server.routes import OPERATIONS
from tests.deploy.files import DEPLOY, DOCS, documents

SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}
PHASES = {"tokens", "prices", "wallet", "sources", "verification", "storing", "total"}
VALUES: dict[tuple[str, str], set[str]] = {
    ("quietswap_source_answers", "outcome"): {"answered", *NoRouteReason},
    ("quietswap_verifications", "verdict"): set(SourceOutcome),
    ("quietswap_order_moves", "status"): set(OrderStatus),
    ("quietswap_relay_answers", "outcome"): set(RelayOutcome),
    ("quietswap_orders_resent", "outcome"): set(RelayOutcome),
    ("quietswap_quote_phase_seconds", "phase"): PHASES,
    ("quietswap_webhooks_disabled", "reason"): set(DisabledReason),
    ("quietswap_requests", "endpoint"): {"other", *(operation.name for operation in OPERATIONS)},
    ("quietswap_requests", "code"): {"OK", *ERRORS},
}
"""Label values that occur, by metric; a label that is not here has open values."""
SELECTOR = re.compile(r"\b(quietswap_\w+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')


def rules() -> list[dict[str, Any]]:
    [document] = documents("alerts.yaml")
    return [rule for group in document["groups"] for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    board = json.loads((DEPLOY / "grafana-dashboard.json").read_text("utf-8"))
    found: list[dict[str, Any]] = board["panels"]
    return found


def samples() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return for each sample name its metric and its labels."""
    known = {}
    for collector in observe.registry._collector_to_names:
        name, kind = collector._name, collector._type  # type: ignore[attr-defined]
        labels: tuple[str, ...] = collector._labelnames  # type: ignore[attr-defined]
        is_signed = kind == "histogram" and collector._upper_bounds[0] < 0  # type: ignore[attr-defined]
        for suffix in SUFFIXES[kind]:
            if is_signed and suffix == "_sum":
                continue  # it could fall, so the library does not export it
            extra = ("le",) if suffix == "_bucket" else ()
            known[name + suffix] = (name, (*labels, *extra, "instance", "job"))
    return known


EXPRESSIONS = [(rule["alert"], rule["expr"]) for rule in rules()] + [
    (panel["title"], target["expr"]) for panel in panels() for target in panel["targets"]
]


@pytest.mark.parametrize(("title", "expression"), EXPRESSIONS, ids=[e[0] for e in EXPRESSIONS])
def test_every_metric_label_and_value_exists(title: str, expression: str) -> None:
    known = samples()
    selectors = SELECTOR.findall(expression)
    assert selectors or "up{" in expression, title
    for name, matchers in selectors:
        metric, labels = known[name]
        for label, operator, text in MATCHER.findall(matchers):
            assert label in labels, f"{title}: {name} has no label {label}"
            allowed = VALUES.get((metric, label))
            given = set(text.split("|")) if "~" in operator else {text}
            assert allowed is None or given <= allowed, f"{title}: {label} is never {text}"


def test_grouping_is_by_labels_that_exist() -> None:
    for title, expression in EXPRESSIONS:
        known = samples()
        labels = {label for name, _ in SELECTOR.findall(expression) for label in known[name][1]}
        for names in re.findall(r"\bby \(([^)]*)\)", expression):
            assert {name.strip() for name in names.split(",")} <= labels, title


def test_every_metric_is_on_the_dashboard() -> None:
    text = "\n".join(target["expr"] for panel in panels() for target in panel["targets"])
    shown = {samples()[name][0] for name, _ in SELECTOR.findall(text)}
    assert shown == {metric for metric, _ in samples().values()}


def test_every_alert_has_a_section_in_the_runbook_and_every_section_an_alert() -> None:
    sections = re.findall(r"^## (\w+)$", (DOCS / "runbook.md").read_text("utf-8"), re.M)
    names = [rule["alert"] for rule in rules()]
    assert sections == names
    assert len(set(names)) == len(names)


def test_every_alert_says_how_grave_it_is_what_it_means_and_where_to_read_on() -> None:
    for rule in rules():
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["runbook"] == f"docs/runbook.md#{rule['alert'].lower()}"


def test_panels_do_not_overlap() -> None:
    places = set()
    for panel in panels():
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & places, panel["title"]
        places |= cells
    ids = [panel["id"] for panel in panels()]
    assert len(set(ids)) == len(ids)


def test_the_runbook_names_events_and_failures_that_exist() -> None:
    text = (DOCS / "runbook.md").read_text("utf-8")
    events = set(re.findall(r"[Ee]vents? `(\w+)`", text))
    modules = (DOCS.parent / "src/quietswap/service/observe").glob("*.py")
    source = "".join(path.read_text("utf-8") for path in modules)
    assert events
    assert events <= set(re.findall(r'log\.\w+\("(\w+)"', source))


def value(name: str, **labels: str) -> float:
    return observe.registry.get_sample_value(name, labels) or 0.0


def test_an_unsafe_route_is_counted_from_zero() -> None:
    name = "quietswap_verifications_total"
    observe.begin(("velora",))
    before = observe.registry.get_sample_value(name, {"source": "velora", "verdict": "unsafe"})
    assert before is not None
    observe.route_unsafe("velora", "its minimum is above its promise")
    assert value(name, source="velora", verdict="unsafe") == before + 1


def test_the_moves_of_the_first_order_are_counted_from_zero() -> None:
    """Else the first order after a start is submitted, stays, and QuietswapOrdersUndecided misses
    it.
    """
    observe.begin(())
    for status in OrderStatus:
        labels = {"status": status.value}
        moves = observe.registry.get_sample_value("quietswap_order_moves_total", labels)
        assert moves is not None, status


def test_a_disabled_webhook_is_counted_from_zero() -> None:
    name = "quietswap_webhooks_disabled_total"
    observe.begin(())
    before = observe.registry.get_sample_value(name, {"reason": "failed"})
    assert before is not None
    observe.webhook_disabled("whk_1", DisabledReason.FAILED.value)
    assert value(name, reason="failed") == before + 1


def test_a_node_that_cannot_simulate_is_counted() -> None:
    before = value("quietswap_verification_outages_total")
    observe.verification_unavailable("node has no eth_simulateV1")
    assert value("quietswap_verification_outages_total") == before + 1
