"""The page for people with disabilities: axe, the keyboard alone, small windows, dark colours."""

import re

import pytest

from tests.browser.browser import Browser, Page
from tests.browser.locators import css, role
from tests.browser.steps import (
    CONFIRM,
    GO,
    PRIVATE,
    QUOTE,
    REVIEW,
    allowed,
    confirmed,
    opened,
    private,
    quoted,
)
from tests.browser.wallets import HonestWallet
from tests.e2e.conftest import Town
from tests.spec.api_client import ApiClient

_MOST_TABS = 40


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the control with this name has the focus."""
    for _ in range(_MOST_TABS):
        page.press("Tab")
        if re.match(
            name if name.startswith("^") else re.escape(name) + "$", page.focused()["name"]
        ):
            return
    raise AssertionError(f"Tab does not reach {name}: {page.focused()}")


@pytest.mark.parametrize("width", [320, 360, 420, 600, 1000, 1920])
def test_no_sideways_scroll_at_any_width(
    browser: Browser, town: Town, desk: ApiClient, width: int
) -> None:
    page = private(browser, town, HonestWallet(town, allowed(desk)), width=width, height=740)
    assert page.overflow() <= 0
    quoted(page)
    assert page.overflow() <= 0
    page.click("button", REVIEW)
    page.wait(role("button", CONFIRM))
    assert page.overflow() <= 0
    page.close()


def test_the_keyboard_alone_completes_a_swap(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(town, allowed(desk))
    page = opened(browser, town, wallet)
    page.wait(role("button", "Connect wallet"))
    assert page.focused()["tag"] == "BODY", "the amount has not the focus at first"
    tab_to(page, "Connect wallet")
    page.press("Enter")
    page.wait(role("button", "Set up private sending"))
    tab_to(page, "Set up private sending")
    page.press("Enter")
    tab_to(page, "Add it in my wallet")
    page.press("Enter")
    page.wait(PRIVATE)
    assert page.focused()["tag"] != "BODY"
    tab_to(page, "You pay")
    page.type("0.25")
    tab_to(page, "^USDC")
    page.press("Enter")
    page.type("DAI")
    page.wait(css("#found[aria-busy=false] .it"))
    page.press("ArrowDown")
    page.press("Enter")
    page.wait(css("dialog"), "detached")
    assert page.focused()["name"].startswith("DAI")
    page.wait(QUOTE)
    tab_to(page, "You pay")
    page.press("Enter")  # the button of the card, which asks no wallet yet
    page.wait(role("button", CONFIRM))
    assert "eth_sendTransaction" not in wallet.asked
    tab_to(page, CONFIRM)
    page.press("Enter")
    confirmed(page, "swap")
    assert page.focused()["tag"] != "BODY"
    assert len(wallet.sent) == 1
    page.close()


def test_controls_have_their_names(browser: Browser, town: Town, desk: ApiClient) -> None:
    page = private(browser, town, HonestWallet(town, allowed(desk)))
    quoted(page)
    assert page.count(["label", "You pay"]) == 1
    for name in ("^Pay with: WETH", "^Receive: USDC", "^Slippage 0.5 %", REVIEW):
        assert page.count(role("button", name)) == 1, name
    assert page.count(GO) == 1, "one primary button"
    page.close()
