"""The page for people with disabilities: names, and no sideways scroll in any window."""

from tests.browser.browser import Browser, Page
from tests.browser.locators import role
from tests.browser.steps import (
    CONFIRM,
    GO,
    REVIEW,
    allowed,
    private,
    quoted,
)
from tests.browser.wallets import HonestWallet
from tests.e2e.conftest import Town
from tests.spec.api_client import ApiClient


def test_no_sideways_scroll_at_any_width(browser: Browser, town: Town, desk: ApiClient) -> None:
    page = private(browser, town, HonestWallet(town, allowed(desk)))
    fits(page)
    quoted(page)
    fits(page)
    page.click("button", REVIEW)
    page.wait(role("button", CONFIRM))
    fits(page)
    page.close()


def fits(page: Page) -> None:
    """Check that no window is narrower than the page."""
    for width in (320, 360, 420, 600, 1000, 1920):
        page.look(width)
        assert page.overflow() <= 0, width


def test_controls_have_their_names(browser: Browser, town: Town, desk: ApiClient) -> None:
    page = private(browser, town, HonestWallet(town, allowed(desk)))
    quoted(page)
    assert page.count(["label", "You pay"]) == 1
    for name in ("^Pay with: WETH", "^Receive: USDC", "^Slippage 0.5 %", REVIEW):
        assert page.count(role("button", name)) == 1, name
    assert page.count(GO) == 1, "one primary button"
    page.close()
