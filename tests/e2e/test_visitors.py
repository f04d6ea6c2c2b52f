"""Anonymous visitors of the page beside a client with a key, on the running service."""

from pathlib import Path

from tests import loopback
from tests.e2e.conftest import USDC, WETH, Town
from tests.e2e.serving import Served, serving
from tests.waiting import WITHIN_S

SESSIONS = 20
SPARE = {f"SOURCE__{name}__PER_SECOND": "0.001" for name in ("KYBERSWAP", "VELORA", "SUSHI")}
"""Budgets that do not come back while the test runs, however slow the machine is."""


def visit(served: Served, amount: int) -> int:
    """Ask for a quote as a new visitor; return the status."""
    own = {"Sec-Fetch-Site": "same-origin", "Origin": served.url.rstrip("/")}
    with loopback.Client(base_url=served.url, headers=own, timeout=WITHIN_S) as browser:
        assert browser.post("/web/session", json={}).status_code == 200
        ask = {
            "sellToken": WETH,
            "buyToken": USDC,
            "sellAmount": str(amount),
            "userAddress": served.town.facts["wallets"][0]["address"],
        }
        return browser.get("/api/v1/quote", params=ask).status_code


def test_a_client_is_quoted_beside_many_sessions(town: Town, tmp_path: Path) -> None:
    sources = {"QUOTES__SOURCES": "kyberswap,velora,sushi"}
    with serving(town, tmp_path, **SPARE, **sources) as served:
        visitors = [visit(served, 10**18 + n) for n in range(SESSIONS)]
        assert visitors == [200] + [503] * (SESSIONS - 1), "one request is there for them"
        for n in range(2):
            answer = served.town.quote(sellAmount=str(2 * 10**18 + n))
            assert answer.status_code == 200, answer.text
            outcomes = {one["outcome"] for one in answer.json()["data"]["sources"]}
            assert "skipped" not in outcomes
        figures = served.town.api.get("/metrics").text
    assert (
        f'quietswap_client_requests_total{{client="web",endpoint="swap_quote"}} {SESSIONS}.0'
        in figures
    )
    assert 'client="web_' not in figures, "sessions take no series of clients"
