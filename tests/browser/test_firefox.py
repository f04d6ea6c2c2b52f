"""The main way through the page in a second engine: an installed Firefox."""

import shutil
from collections.abc import Iterator

import pytest

from tests.browser.browser import Browser, CannotRun
from tests.browser.locators import css, role
from tests.browser.steps import (
    approved,
    choose,
    confirmed,
    quoted,
    sees_order,
    set_up,
    signs,
    state,
)
from tests.browser.wallets import HonestWallet
from tests.e2e.conftest import Town
from tests.spec.api_client import ApiClient


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    firefox = shutil.which("firefox-esr") or shutil.which("firefox")
    if firefox is None:
        pytest.skip("Firefox is not installed (Debian: firefox-esr)")
    try:
        running = Browser(tmp_path_factory.mktemp("browser"), firefox=firefox)
    except CannotRun as reason:
        pytest.skip(f"Firefox cannot run here: {reason}")
    yield running
    running.close()


@pytest.mark.parametrize("width", [360, 1280])
def test_a_swap(browser: Browser, town: Town, desk: ApiClient, width: int) -> None:
    wallet = HonestWallet(town, desk.wallet())
    before = desk.held(wallet.account, "USDC")
    page = set_up(browser, town, wallet, width=width, height=740)
    quoted(page)
    page.see("At least", css(".least"))
    approved(page)
    signs(page)
    confirmed(page, "swap")
    sees_order(page, "swap", "You received")
    assert desk.held(wallet.account, "USDC") > before
    assert page.overflow() <= 0
    assert page.reports() == []
    page.close()


def test_a_sale_of_eth_over_a_reload(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(town, desk.wallet(tokens=0))
    page = set_up(browser, town, wallet, width=360, height=740)
    choose(page, "Pay with", "ETH")
    quoted(page)
    state(page, "eth")
    page.click("button", "Step 1 of 3: wrap 1 ETH")
    page.see("Step 2 of 3: approve exactly 1 WETH")
    page.reload()
    page.see("You wrapped 1 ETH for a swap")
    page.click("button", "Fill in the swap")
    page.wait(role("button", "^Pay with: WETH"))
    page.click("button", "^(Step 2 of 3: approve|Approve) exactly 1 WETH")
    signs(page)
    confirmed(page, "swap")
    assert desk.held(wallet.account, "WETH") == 0
    assert desk.held(wallet.account, "USDC") > 0
    assert page.reports() == []
    page.close()
