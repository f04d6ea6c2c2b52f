"""Each alert fires by Prometheus's own engine, in the minute that is written here."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.deploy.files import DEPLOY
from tests.deploy.test_alerts import rules

START = "quietswap_relay_accepted_timestamp_seconds"
OK_REQUESTS = {'quietswap_requests_total{endpoint="swap_quote",status="200"}': "0+600x300"}
CASES: dict[str, tuple[int, dict[str, str]]] = {
    "QuietswapDown": (1, {'up{job="quietswap",instance="a"}': "0x300"}),
    "QuietswapNotReady": (1, {'quietswap_dependency_up{check="database",instance="a"}': "0x300"}),
    "QuietswapDependencyAway": (2, {'quietswap_dependency_up{check="node",instance="a"}': "0x300"}),
    "QuietswapClockSkew": (
        2, {'quietswap_clock_database_ahead_seconds{instance="a"}': "-6x300"},
    ),
    "QuietswapCertificateExpires": (
        60, {'quietswap_tls_certificate_expiry_timestamp_seconds{instance="a"}': "864000x300"},
    ),
    "QuietswapServerErrors": (
        6,
        OK_REQUESTS
        | {'quietswap_requests_total{endpoint="swap_quote",status="503"}': "0+60x300"},
    ),
    "QuietswapRouteUnsafe": (
        1, {'quietswap_verifications_total{source="sushi",verdict="unsafe"}': "0 1x300"},
    ),
    "QuietswapRelaySilent": (
        4,
        {
            START + '{relay="first"}': "0x300",
            'quietswap_orders_watched{status="pending"}': "5x300",
        },
    ),
    "QuietswapRelayRefuses": (
        11,
        {
            'quietswap_relay_answers_total{relay="first",outcome="accepted"}': "0+6x300",
            'quietswap_relay_answers_total{relay="first",outcome="invalid"}': "0+4x300",
        },
    ),
    "QuietswapNobodyTracks": (1, {"quietswap_tracker_leads": "0x300"}),
    "QuietswapTrackerBehind": (2, {"quietswap_tracker_lag_blocks": "6x300"}),
    "QuietswapOrdersUndecided": (
        6, {'quietswap_order_moves_total{status="submitted"}': "0+3x300"},
    ),
    "QuietswapOrdersDie": (
        6,
        {
            'quietswap_order_moves_total{status="failed"}': "0+1x300",
            'quietswap_order_moves_total{status="confirmed"}': "0+1x300",
        },
    ),
    "QuietswapConfirmationsSlow": (
        11,
        {
            'quietswap_order_confirm_seconds_bucket{le="600.0"}': "0x300",
            'quietswap_order_confirm_seconds_bucket{le="1200.0"}': "0+1x300",
            'quietswap_order_confirm_seconds_bucket{le="+Inf"}': "0+1x300",
            "quietswap_order_confirm_seconds_count": "0+1x300",
        },
    ),
    "QuietswapNodeErrors": (
        6, OK_REQUESTS | {'quietswap_node_errors_total{node="a",kind="timeout"}': "0+200x300"},
    ),
    "QuietswapUnverified": (
        1, OK_REQUESTS | {"quietswap_verification_outages_total": "0+300x300"},
    ),
    "QuietswapReorgs": (6, {"quietswap_reorgs_total": "0+1x300"}),
    "QuietswapSourceFails": (
        16,
        {
            'quietswap_source_answers_total{source="sushi",outcome="answered"}': "0+4x300",
            'quietswap_source_answers_total{source="sushi",outcome="timed_out"}': "0+6x300",
        },
    ),
    "QuietswapSourceOverquotes": (
        61,
        {
            'quietswap_source_overquotes_total{source="sushi"}': "0+6x300",
            'quietswap_verifications_total{source="sushi",verdict="answered"}': "0+9x300",
        },
    ),
    "QuietswapSourceAbovePools": (
        61,
        {
            'quietswap_source_reference_bps_bucket{source="sushi",le="100.0"}': "0+8x300",
            'quietswap_source_reference_bps_count{source="sushi"}': "0+10x300",
        },
    ),
    "QuietswapRoutesFailSimulation": (
        16,
        {
            'quietswap_verifications_total{source="sushi",verdict="answered"}': "0+6x300",
            'quietswap_verifications_total{source="sushi",verdict="reverted"}': "0+4x300",
        },
    ),
    "QuietswapQuotesSlow": (
        11,
        {
            'quietswap_quote_phase_seconds_bucket{phase="total",le="2.0"}': "0+5x300",
            'quietswap_quote_phase_seconds_bucket{phase="total",le="5.0"}': "0+10x300",
            'quietswap_quote_phase_seconds_bucket{phase="total",le="+Inf"}': "0+10x300",
        },
    ),
    "QuietswapWebhookDisabled": (
        1, {'quietswap_webhooks_disabled_total{reason="failed"}': "0 1x300"},
    ),
    "QuietswapKeysGuessed": (
        11, {'quietswap_requests_total{endpoint="swap_quote",status="401"}': "0+1200x300"},
    ),
}  # fmt: skip
"""Minutes from the first sample, and samples of each minute in promtool's notation."""


def test_every_alert_has_its_case() -> None:
    assert {rule["alert"] for rule in rules()} == set(CASES)


def test_each_alert_fires_in_its_minute(tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed: apt install prometheus")
    file = tmp_path / "times.json"  # JSON is YAML
    tests = [_test(alert, *case) for alert, case in CASES.items()]
    document = {
        "rule_files": [str(DEPLOY / "alerts.yaml")],
        "evaluation_interval": "1m",
        "tests": tests,
    }
    file.write_text(json.dumps(document), "utf-8")
    done = subprocess.run(
        [promtool, "test", "rules", file], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _test(alert: str, minutes: int, series: dict[str, str]) -> dict[str, object]:
    """Return a test of promtool: it does not fire a minute earlier."""
    expression = f'count(ALERTS{{alertname="{alert}",alertstate="firing"}})'
    silent = {"expr": expression, "eval_time": f"{minutes - 1}m", "exp_samples": []}
    fires = {
        "expr": expression,
        "eval_time": f"{minutes}m",
        "exp_samples": [{"labels": "{}", "value": 1}],
    }
    return {
        "interval": "1m",
        "name": alert,
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [silent, fires],
    }
