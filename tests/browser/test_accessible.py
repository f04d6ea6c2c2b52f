"""The page for people with disabilities: axe, the keyboard alone, small windows, dark colours."""

import re
from typing import Any

import pytest

from tests.browser.browser import Browser, Page
from tests.browser.locators import css, role
from tests.browser.steps import PRIVATE, SWAP, allowed, confirmed, opened, private, quoted
from tests.browser.wallets import HonestWallet
from tests.e2e.conftest import Town
from tests.spec.api_client import ApiClient

pytestmark = pytest.mark.xdist_group("browser")

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


@pytest.mark.parametrize(
    "look",
    [
        {"width": 1280, "height": 900, "scheme": "light"},
        {"width": 360, "height": 740, "scheme": "dark"},
    ],
    ids=["wide-light", "narrow-dark"],
)
def test_axe_finds_nothing_in_any_step(
    browser: Browser, town: Town, desk: ApiClient, look: dict[str, Any]
) -> None:
    wallet = HonestWallet(town, desk.wallet())
    page = opened(browser, town, wallet, **look)
    page.wait(role("button", "Connect wallet"))
    found = {"start": page.axe()}
    page.click("button", "Connect wallet")
    page.wait(role("button", "Set up private connection"))
    found["connected"] = page.axe()
    page.click("button", "Set up private connection")
    page.see(PRIVATE)
    page.call("fill", at=["label", "Buy token"], text="U")
    page.wait(css("[role=option]"))
    found["tokens"] = page.axe()
    page.press("Escape")
    page.fill("You sell", "x")
    found["bad amount"] = page.axe()
    quoted(page)
    found["quote"] = page.axe()
    assert page.overflow() <= 0
    page.click("button", "Approve exactly 1 WETH")
    page.wait(role("button", SWAP))
    page.click("button", SWAP)
    confirmed(page, "swap")
    found["end"] = page.axe()
    page.click("button", "Wrap and unwrap")
    found["wrap"] = page.axe()
    assert page.overflow() <= 0
    assert found == {step: [] for step in found}
    page.close()


def test_the_keyboard_alone_completes_a_swap(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(town, allowed(desk))
    page = opened(browser, town, wallet)
    page.wait(role("button", "Connect wallet"))
    tab_to(page, "Connect wallet")
    page.press("Enter")
    page.wait(role("button", "Set up private connection"))
    assert page.focused()["tag"] != "BODY"
    tab_to(page, "Set up private connection")
    page.press("Enter")
    page.see(PRIVATE)
    assert page.focused()["tag"] != "BODY"
    tab_to(page, "You sell")
    page.type("0.25")
    tab_to(page, "Buy token")
    page.type("DAI")
    page.wait(css("[role=option]"))
    page.press("ArrowDown")
    page.press("ArrowUp")
    page.press("Enter")
    page.see("Dai", css(".field"))
    tab_to(page, "Get quote")
    page.press("Enter")
    page.wait(css(".quote"))
    assert page.focused() == {"tag": "BUTTON", "name": "Get quote"}
    tab_to(page, SWAP)
    page.press("Enter")
    confirmed(page, "swap")
    assert page.focused()["tag"] != "BODY"
    assert len(wallet.sent) == 1
    page.close()


def test_controls_have_their_names(browser: Browser, town: Town, desk: ApiClient) -> None:
    page = private(browser, town, HonestWallet(town, allowed(desk)))
    quoted(page)
    for name in ("You sell", "You receive", "Sell token", "Buy token", "Slippage"):
        assert page.count(["label", name]) == 1, name
    for name in ("Get quote", SWAP):
        assert page.count(role("button", name)) == 1, name
    assert page.count(role("status")) == 1
    page.close()
