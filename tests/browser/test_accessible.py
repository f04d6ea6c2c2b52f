"""The page in any window: no sideways scroll."""

from tests.browser.browser import Browser, Page
from tests.browser.locators import role
from tests.browser.steps import (
    CONFIRM,
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
