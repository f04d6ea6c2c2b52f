"""Faults while the page is open: it recovers by itself and never shows a wrong end."""

import threading
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from eth_account.signers.local import LocalAccount

from quietswap.sandbox.ports import free_port
from tests.browser.browser import Browser
from tests.browser.locators import css, role
from tests.browser.steps import (
    FAULT,
    GO,
    QUOTE,
    REVIEW,
    allowed,
    back,
    confirmed,
    is_on,
    private,
    quoted,
    sees_order,
    signs,
    sources,
    state,
    to_orders,
    to_wrap,
    under_way,
)
from tests.browser.wallets import HonestWallet
from tests.e2e.conftest import Town
from tests.e2e.late import late
from tests.e2e.serving import serving
from tests.e2e.test_late_venues import LATE, PATIENT
from tests.spec.api_client import ApiClient
from tests.waiting import WITHIN_S, wait_until

RELAYS = "relay", "backup_relay"


@pytest.fixture
def healed(town: Town) -> Iterator[Town]:
    """The sandbox, without faults afterwards."""
    yield town
    town.heal("kyberswap", "velora", *RELAYS)


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
        assert "Answered too late" in rows["KyberSwap"]
        assert "Best" not in rows["Velora"]
        assert any("Best" in row for row in rows.values())
        assert is_on(page, REVIEW)
        page.close()


PLACES = """['.card .go'].flatMap((at) => {
  const { top, bottom } = document.querySelector(at).getBoundingClientRect()
  return [top + scrollY, bottom + scrollY]
})"""
"""Where things are that must not move while routes appear."""


ROUTES = css(".arriving li")


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
        page.fill("You pay", "1")
        state(page, "quoting")
        before = page.call("evaluate", expression=PLACES)
        some.set()
        page.see("Best so far", css(".arriving"))
        page.see("Best so far, simulated", css(".under"))
        page.see("Checking sources: ", GO)
        assert page.attribute(GO, "aria-busy") == "true"
        assert page.call("evaluate", expression=PLACES) == before
        assert page.overflow() <= 0
        assert page.axe() == []
        assert not any("Sushi" in row and "Asked" not in row for row in page.texts(ROUTES))
        assert page.count(role("button", REVIEW)) == page.count(QUOTE) == 0
        rest.set()
        page.wait(role("button", REVIEW))
        assert is_on(page, REVIEW)
        assert page.count(css(".arriving")) == 0
        assert any("Sushi" in row for row in sources(page))
        page.close()


def test_a_relay_that_withholds(browser: Browser, healed: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(healed, allowed(desk))
    page = private(browser, healed, wallet)
    quoted(page)
    healed.fault("relay", "withhold")
    signs(page)
    under_way(page)
    desk.mine(3)
    assert page.is_enabled("button", "Cancel swap")
    shown = page.text(css("main"))
    for told in (
        "Public mempool",
        "Waiting for a block",
        "Sent again for",
    ):
        assert told in shown
    assert "No one else" not in shown
    assert not any(word in shown for word in ("You received", "Failed", "Cancelled"))
    page.see("1", css(".count"))
    page.reload()
    under_way(page)
    healed.heal("relay")
    confirmed(page, "swap")
    page.close()


AWAY = """(() => {
  const real = fetch
  let failed = 0
  fetch = (url, how) =>
    /orders.user.*kind=swap/.test(url) && failed++ < 11 ? Promise.reject(0) : real(url, how)
})()"""


def test_a_service_that_is_away_has_not_lost_a_swap(
    browser: Browser, healed: Town, desk: ApiClient
) -> None:
    """Ten answers without the order say so, not as many failures."""
    page = private(browser, healed, HonestWallet(healed, allowed(desk)))
    quoted(page)
    page.call("evaluate", expression=AWAY)
    signs(page)
    page.see("The wallet has signed. Waiting for the service")
    page.wait(css("dialog"), "detached")
    assert page.count(FAULT) == 0
    confirmed(page, "swap")
    page.close()


def test_the_last_words_of_the_relay(browser: Browser, healed: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(healed, allowed(desk))
    page = private(browser, healed, wallet)
    quoted(page)
    healed.fault("relay", "refuse:<b>fee</b> too low")
    signs(page)
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
        signs(page)
        under_way(page)
        desk.mine(3)
        confirmed(page, "swap")
        town.control.post("/reorg", json={"depth": 3}).raise_for_status()
        desk.mine(1)
        sees_order(page, "swap", "Block taken back")
        assert "Confirmed in block" not in page.text(css("main"))
        desk.mine(3)
        confirmed(page, "swap")
    assert "taken back" not in page.text(css("main"))
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
            signs(page)
            under_way(page)
            served.kill()
            page.see("This page cannot reach the service", FAULT)
            page.see("Service away", css(".chip.no"))
            assert "Confirmed" not in page.text()
            to_orders(page)
            page.see("Connecting to the service for live news")
            page.click("link", "Swap")
        with serving(town, tmp_path, port=port):
            page.wait(FAULT, "detached")
            desk.mine(4)
            confirmed(page, "swap")
            back(page)
            quoted(page, "0.5")
            page.wait(role("button", REVIEW))
            assert page.count(FAULT) == 0
            page.close()


class WalletOfADeadRelay(HonestWallet):
    """No relay answers any more when its person confirms."""

    def __init__(self, town: Town, account: LocalAccount) -> None:
        super().__init__(town, account)
        self.town = town

    def send(self, wanted: Mapping[str, str]) -> str:
        for relay in RELAYS:
            self.town.fault(relay, "down")
        return super().send(wanted)


@pytest.mark.parametrize("kind", ["swap", "wrap"])
def test_what_no_relay_got_was_not_sent(
    browser: Browser, healed: Town, desk: ApiClient, kind: str
) -> None:
    """An order that ended unsent is no evidence that the wallet sent it.

    Last: the backup gets the next orders until the first relay is seen to be up.
    """
    page = private(browser, healed, WalletOfADeadRelay(healed, allowed(desk)))
    with desk.no_blocks():
        if kind == "wrap":
            to_wrap(page, "1")
            page.click("button", "Wrap 1 ETH")
        else:
            quoted(page)
            signs(page)
        page.see("The private relay cannot be reached, so nothing was sent.", FAULT)
        assert "all the same" not in page.text()
        healed.heal(*RELAYS)
        if kind != "swap":  # its review is open above the orders
            to_orders(page)
            page.wait(css(f".hist summary[data-kind={kind}][data-status=failed]"))
            page.call("click", at=css(".hist summary"))
            page.see("Not sent", css(".hist .line"))
            assert "Sent privately" not in page.text()
    page.close()
