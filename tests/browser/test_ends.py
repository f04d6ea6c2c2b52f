"""How a swap ends that brought nothing: told apart, each with what it means for the money."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.browser.browser import Browser, Page
from tests.browser.locators import css
from tests.browser.steps import GO, ORDER, allowed, private, quoted, signs, state, under_way
from tests.browser.test_states import in_each_look
from tests.browser.wallets import HonestWallet
from tests.e2e.conftest import Town, running_town
from tests.e2e.serving import serving
from tests.spec.api_client import ApiClient
from tests.spec.test_would_revert import drained

RELAYS = ("relay", "backup_relay")
_SOON = {"TRACKING__ORDER_EXPIRY_S": "1", "TRACKING__POLL_S": "0.1"}
UNPROTECTED = {"QUOTES__SOURCES": "sushi", "RELAY__SWAP_ENDPOINT": "fast"}
"""A relay that gives builders what reverts, too."""
WITHOUT_DEADLINE = _SOON | {"QUOTES__SOURCES": "sushi"}
WITH_DEADLINE = _SOON | {"QUOTES__SOURCES": "uniswap", "QUOTES__VALIDITY_S": "10"}

FINAL = 64
"""Blocks from one to the next that makes it final."""


@pytest.fixture(scope="module")
def town(browser: Browser) -> Iterator[Town]:
    """A chain whose blocks are as long apart as their times: what expires is past both clocks."""
    with running_town("--block-time", "1") as found:
        yield found


@contextmanager
def visiting(
    browser: Browser, town: Town, desk: ApiClient, folder: Path, settings: dict[str, str]
) -> Iterator[Page]:
    """Open the page of a service with settings of its own, ready to swap."""
    with serving(town, folder, **settings) as served:
        own = replace(town, facts=town.facts | {"baseUrl": served.url})
        page = private(browser, own, HonestWallet(own, allowed(desk)))
        yield page
        page.close()


def swaps(page: Page) -> None:
    """Sign a swap of 1 WETH."""
    quoted(page)
    signs(page)


@contextmanager
def withheld(town: Town) -> Iterator[None]:
    """Let no relay offer anything to a builder for the length of a `with` block."""
    for relay in RELAYS:
        town.fault(relay, "withhold")
    try:
        yield
    finally:
        town.heal(*RELAYS)


def failing(page: Page, desk: ApiClient) -> None:
    """Let a block have the swap after the pools can pay it no more."""
    with desk.no_blocks():
        swaps(page)
        under_way(page)
        with drained(desk):
            desk.mine(4)
    page.see("Swap failed", css(".end-title"))


def ends(page: Page, title: str, heading: str, button: str) -> str:
    """Check an end in each look; return what the order says."""
    page.see(title, css(".end-title"))
    page.see(heading, css(".order .msg"))
    assert page.texts(css(".order .go")) == [button]
    state(page, "order")
    in_each_look(page, title)
    return page.text(ORDER)


KEPT = "1 WETH, in your wallet"


def test_a_swap_that_failed(browser: Browser, town: Town, desk: ApiClient, tmp_path: Path) -> None:
    with visiting(browser, town, desk, tmp_path, UNPROTECTED) as page:
        failing(page, desk)
        text = ends(page, "Swap failed", "Refused in block", "Get a new quote")
        assert KEPT in text.replace("\xa0", " ")
        assert "It changed nothing" in text
        assert "You paid\n0.00" in text, "the network fee is paid"
        page.click("button", "Get a new quote")
        page.wait(GO)
        assert page.call("value", at=css("input.amount")) == "1"


def test_a_swap_that_expired_and_may_still_come_and_its_cancel(
    browser: Browser, tmp_path: Path
) -> None:
    """In a sandbox of its own: blocks that are mined at once are ahead of the clock."""
    with (
        running_town("--block-time", "1") as town,
        ApiClient(town) as desk,
        visiting(browser, town, desk, tmp_path, WITHOUT_DEADLINE) as page,
    ):
        with withheld(town):
            swaps(page)
            text = ends(page, "Expired, but not over", "It may still be mined", "Cancel swap")
            assert KEPT not in text.replace("\xa0", " "), "nobody knows yet"
            assert "You paid\nnothing yet" in text
            page.click("button", "Cancel swap")
            page.see("A cancel is under way.", ORDER)
        desk.mine(1 + FINAL)
        ends(page, "Cancelled", "The empty transaction came first", "New swap")


def test_a_swap_that_expired_for_sure(
    browser: Browser, town: Town, desk: ApiClient, tmp_path: Path
) -> None:
    with visiting(browser, town, desk, tmp_path, WITH_DEADLINE) as page, withheld(town):
        swaps(page)
        title = "Expired, nothing was swapped"
        text = ends(page, title, "It can no longer be mined", "Get a new quote")
        assert KEPT in text.replace("\xa0", " ")
        assert "You paid\nnothing" in text
