"""Each alert fires by Prometheus's own engine, in the minute that is written here."""

import json
import re
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


BUSY: dict[str, str] = {
    'up{job="quietswap",instance="a"}': "1x300",
    **{
        f'quietswap_dependency_up{{check="{check}",instance="a"}}': "1x300"
        for check in ("database", "node", "sources", "relay", "rates")
    },
    'quietswap_clock_database_ahead_seconds{instance="a"}': "0.2x300",
    'quietswap_clock_ahead_seconds{instance="a"}': "13x300",
    'quietswap_tls_certificate_expiry_timestamp_seconds{instance="a"}': "7776000x300",
    'quietswap_requests_total{endpoint="swap_quote",status="200"}': "0+600x300",
    'quietswap_requests_total{endpoint="swap_quote",status="401"}': "0+20x300",
    'quietswap_requests_total{endpoint="swap_quote",status="503"}': "0+10x300",
    'quietswap_orders_watched{status="pending"}': "0 1 0 2x300",
    START + '{relay="first"}': "0+60x300",
    'quietswap_relay_answers_total{relay="first",outcome="accepted"}': "0+9x300",
    'quietswap_relay_answers_total{relay="first",outcome="invalid"}': "0+1x300",
    'quietswap_tracker_leads{instance="a"}': "1x300",
    'quietswap_tracker_leads{instance="b"}': "0x300",
    "quietswap_tracker_lag_blocks": "1x300",
    'quietswap_order_moves_total{status="submitted"}': "0+9x300",
    'quietswap_order_moves_total{status="confirmed"}': "0+8x300",
    'quietswap_order_moves_total{status="failed"}': "0+1x300",
    'quietswap_order_confirm_seconds_bucket{le="600.0"}': "0+8x300",
    'quietswap_order_confirm_seconds_bucket{le="+Inf"}': "0+9x300",
    "quietswap_order_confirm_seconds_count": "0+9x300",
    'quietswap_node_errors_total{node="a",kind="timeout"}': "0+20x300",
    "quietswap_verification_outages_total": "0+2x300",
    "quietswap_reorgs_total": "0x59 1x300",
    'quietswap_source_answers_total{source="sushi",outcome="answered"}': "0+8x300",
    'quietswap_source_answers_total{source="sushi",outcome="timed_out"}': "0+2x300",
    'quietswap_source_overquotes_total{source="sushi"}': "0+1x300",
    'quietswap_verifications_total{source="sushi",verdict="answered"}': "0+9x300",
    'quietswap_verifications_total{source="sushi",verdict="reverted"}': "0+1x300",
    'quietswap_verifications_total{source="sushi",verdict="unsafe"}': "0x300",
    'quietswap_source_reference_bps_bucket{source="sushi",le="100.0"}': "0+10x300",
    'quietswap_source_reference_bps_count{source="sushi"}': "0+10x300",
    'quietswap_quote_phase_seconds_bucket{phase="total",le="2.0"}': "0+98x300",
    'quietswap_quote_phase_seconds_bucket{phase="total",le="+Inf"}': "0+100x300",
    'quietswap_webhooks_disabled_total{reason="failed"}': "0x300",
}
"""A day like any other, with some errors of everything."""


def test_each_alert_fires_in_its_minute(tmp_path: Path) -> None:
    _passes(tmp_path, [_test(alert, *case) for alert, case in CASES.items()])


@pytest.mark.parametrize(
    ("clock", "off_s", "fires"),
    [
        ("database_ahead", 120, 1), ("database_ahead", -120, 1), ("database_ahead", 4, 0),
        ("ahead", 120, 1), ("ahead", -120, 1), ("ahead", 50, 0),
    ],
)  # fmt: skip
def test_a_clock_that_is_off_either_way(tmp_path: Path, clock: str, off_s: int, fires: int) -> None:
    series = {f'quietswap_clock_{clock}_seconds{{instance="a"}}': f"{off_s}x300"}
    minutes = {1: 0, 2: fires}
    _passes(tmp_path, [_firing(series, minutes, 'alertname="QuietswapClockSkew",')])


def test_nothing_fires_on_a_day_like_any_other_nor_without_any_traffic(tmp_path: Path) -> None:
    quiet = {name: re.sub(r"\+\d+x", "x", values) for name, values in BUSY.items()}
    quiet['quietswap_orders_watched{status="pending"}'] = "0x300"
    minutes = (1, 5, 15, 61, 130, 250)
    _passes(tmp_path, [_firing(series, dict.fromkeys(minutes, 0)) for series in (BUSY, quiet)])


def test_the_relay_alert_ends_with_the_outage(tmp_path: Path) -> None:
    """Its first word is an accepted transaction: it does not look back over a window."""
    series = {
        START + '{relay="first"}': "0x19 1200+60x60",
        'quietswap_orders_watched{status="pending"}': "5x300",
    }
    minutes = {3: 0, 4: 1, 19: 1, 20: 0, 40: 0}
    _passes(tmp_path, [_firing(series, minutes, 'alertname="QuietswapRelaySilent",')])


def _passes(folder: Path, tests: list[dict[str, object]]) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed: apt install prometheus")
    file = folder / "times.json"  # JSON is YAML
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
    return _firing(series, {minutes - 1: 0, minutes: 1}, f'alertname="{alert}",') | {"name": alert}


def _firing(
    series: dict[str, str], expected: dict[int, int], selector: str = ""
) -> dict[str, object]:
    """Return a test of promtool: how many alerts fire in each minute."""
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {
                "expr": f'count(ALERTS{{{selector}alertstate="firing"}})',
                "eval_time": f"{minute}m",
                "exp_samples": [{"labels": "{}", "value": count}] if count else [],
            }
            for minute, count in expected.items()
        ],
    }
