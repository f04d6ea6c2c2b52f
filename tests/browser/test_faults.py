"""Faults while the page is open: it recovers by itself and never shows a wrong end."""

import threading
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
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
from tests.e2e.late import late
from tests.e2e.serving import serving
from tests.e2e.test_late_venues import LATE, PATIENT
from tests.spec.api_client import ApiClient
from tests.waiting import WITHIN_S, wait_until

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


PLACES = """['form [type=submit]', '.arriving'].flatMap((at) => {
  const { top, bottom } = document.querySelector(at).getBoundingClientRect()
  return [top + scrollY, bottom + scrollY]
})"""
"""Where things are that must not move while routes appear."""


def test_verified_routes_appear_while_a_source_is_awaited(
    browser: Browser, town: Town, desk: ApiClient, tmp_path: Path
) -> None:
    """Two sources answer when the test lets them, and the third after the first route is seen."""
    some, rest = threading.Event(), threading.Event()
    hold = {"kyberswap": some, "velora": some, LATE: rest}
    settings = tomllib.loads(Path(town.facts["settingsFile"]).read_text("utf-8"))["source"]
    with ExitStack() as stack:
        urls = {
            f"SOURCE__{name.upper()}__URL": stack.enter_context(
                late(settings[name]["url"], partial(wait_until, event.is_set))
            ).url
            for name, event in hold.items()
        }
        served = stack.enter_context(serving(town, tmp_path, **urls, **PATIENT))
        own = replace(town, facts=town.facts | {"baseUrl": served.url})
        page = private(browser, own, HonestWallet(own, allowed(desk)), width=360, height=740)
        page.fill("You sell", "1")
        page.click("button", "Get quote")
        page.see("Nothing was verified by simulation yet.")
        before = page.call("evaluate", expression=PLACES)
        some.set()
        page.wait(css(".arriving li"))
        page.see("Verified by simulation, not final yet.")
        assert page.call("evaluate", expression=PLACES) == before
        assert page.overflow() <= 0
        assert page.axe() == []
        assert "Sushi" not in page.text(css(".arriving"))
        assert page.count(role("button", SWAP)) == page.count(css(".quote")) == 0
        rest.set()
        page.wait(role("button", SWAP))
        assert page.is_enabled("button", SWAP)
        assert page.count(css(".arriving")) == 0
        assert any("Sushi" in row for row in sources(page))
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


AWAY = """(() => {
  const real = fetch
  let failed = 0
  fetch = (url, how) =>
    String(url).includes('/mev/orders/user/') && failed++ < 11 ? Promise.reject(0) : real(url, how)
})()"""


def test_a_service_that_is_away_has_not_lost_a_swap(
    browser: Browser, healed: Town, desk: ApiClient
) -> None:
    """Ten answers without the order say so, not as many failures."""
    page = private(browser, healed, HonestWallet(healed, allowed(desk)))
    quoted(page)
    page.call("evaluate", expression=AWAY)
    page.click("button", SWAP)
    page.see("The wallet has signed. Waiting for the service")
    page.wait(css(".busy"), "detached")
    assert page.count(FAULT) == 0
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
