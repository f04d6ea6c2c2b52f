"""The page for people with disabilities: names, and no sideways scroll in any window."""

import pytest

from tests.browser.browser import Browser
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


def test_controls_have_their_names(browser: Browser, town: Town, desk: ApiClient) -> None:
    page = private(browser, town, HonestWallet(town, allowed(desk)))
    quoted(page)
    assert page.count(["label", "You pay"]) == 1
    for name in ("^Pay with: WETH", "^Receive: USDC", "^Slippage 0.5 %", REVIEW):
        assert page.count(role("button", name)) == 1, name
    assert page.count(GO) == 1, "one primary button"
    page.close()
