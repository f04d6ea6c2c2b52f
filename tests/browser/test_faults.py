"""Faults while the page is open: it recovers by itself and never shows a wrong end."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from quietswap.sandbox.ports import free_port
from tests.browser.browser import Browser
from tests.browser.locators import css, role
from tests.browser.steps import (
    ELSEWHERE,
    FAULT,
    SWAP,
    allowed,
    confirmed,
    private,
    quoted,
    sees_order,
    sources,
    under_way,
)
from tests.browser.wallets import HonestWallet
from tests.e2e.conftest import Town
from tests.e2e.serving import serving
from tests.spec.api_client import ApiClient
from tests.waiting import WITHIN_S

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture
def healed(town: Town) -> Iterator[Town]:
    """The sandbox, without faults afterwards."""
    yield town
    town.heal("kyberswap", "velora", "relay")


def test_a_source_that_lies_and_one_that_hangs(
    browser: Browser, healed: Town, desk: ApiClient, tmp_path: Path
) -> None:
    """The quote may end without the source that hangs, as soon as another route is usable."""
    settings = {"QUOTES__SOFT_DEADLINE_S": "0.5", "QUOTES__HARD_DEADLINE_S": str(WITHIN_S)}
    with serving(healed, tmp_path, **settings) as served:
        own = replace(healed, facts=healed.facts | {"baseUrl": served.url})
        wallet = HonestWallet(own, allowed(desk))
        page = private(browser, own, wallet)
        healed.fault("velora", "lie:2.0")
        healed.fault("kyberswap", "hang")
        quoted(page)
        rows = {row.split()[0]: row for row in sources(page)}
        assert "answered too late" in rows["KyberSwap"]
        assert "best" not in rows["Velora"]
        assert any("best" in row for row in rows.values())
        assert page.is_enabled("button", SWAP)
        page.close()


def test_a_relay_that_withholds(browser: Browser, healed: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(healed, allowed(desk))
    page = private(browser, healed, wallet)
    quoted(page)
    healed.fault("relay", "withhold")
    page.click("button", SWAP)
    under_way(page)
    desk.mine(3)
    assert page.is_enabled("button", "Cancel order")
    shown = page.text(css(".order[data-kind=swap]"))
    for told in (
        "Seen by the relay, its block builders and the searchers that it has chosen",
        "Waiting for",
        "Without a tip, to a block",
        "Sent again for",
    ):
        assert told in shown
    assert "No one else" not in shown
    assert not any(word in shown for word in ("Confirmed", "Failed", "Cancelled"))
    healed.heal("relay")
    confirmed(page, "swap")
    page.close()


def test_the_last_words_of_the_relay(browser: Browser, healed: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(healed, allowed(desk))
    page = private(browser, healed, wallet)
    quoted(page)
    healed.fault("relay", "refuse:<b>fee</b> too low")
    page.click("button", SWAP)
    sees_order(page, "swap", "The relay's last answer: HTTP 200, it says “‹b›fee‹/b› too low”")
    healed.heal("relay")
    confirmed(page, "swap")
    assert "last answer" not in page.text(css(".order[data-kind=swap]"))
    page.close()


def test_a_reorganisation_after_the_end(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(town, allowed(desk))
    page = private(browser, town, wallet)
    quoted(page)
    with desk.no_blocks():
        page.click("button", SWAP)
        under_way(page)
        desk.mine(3)
        confirmed(page, "swap")
        town.control.post("/reorg", json={"depth": 3}).raise_for_status()
        desk.mine(1)
        sees_order(page, "swap", "Taken back")
        assert "Confirmed in block" not in page.text(css(".order[data-kind=swap]"))
        desk.mine(3)
        confirmed(page, "swap")
    assert "Taken back" not in page.text(css(".order[data-kind=swap]"))
    page.close()


def test_a_service_that_restarts(
    browser: Browser, town: Town, desk: ApiClient, tmp_path: Path
) -> None:
    """Killed with an order under way: the session, the RPC URL and the order are there again."""
    port = free_port()
    with desk.no_blocks():
        with serving(town, tmp_path, port=port) as served:
            own = replace(town, facts=town.facts | {"baseUrl": served.url})
            wallet = HonestWallet(own, allowed(desk))
            page = private(browser, own, wallet)
            quoted(page)
            page.click("button", SWAP)
            under_way(page)
            served.kill()
            page.see("Connecting to the service for live news")
            page.see("The service, or your network, does not answer")
            assert ELSEWHERE not in page.text()
            page.wait(css(".private.good"), "detached")
            assert "Confirmed" not in page.text()
        with serving(town, tmp_path, port=port):
            page.wait(css("section > .warn"), "detached")
            desk.mine(4)
            confirmed(page, "swap")
            quoted(page, "0.5")
            page.wait(role("button", SWAP))
            assert page.count(FAULT) == 0
            page.close()
