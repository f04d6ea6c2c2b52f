"""Hostile texts in tokens and in every answer are shown as text: nothing runs, nothing breaks."""

import pytest

from quietswap.sandbox.contracts.pools import TOKENS, VYPER, WETH
from tests.browser.browser import Browser
from tests.browser.locators import css
from tests.browser.steps import (
    FAULT,
    PRIVATE,
    allowed,
    private,
    quoted,
    sets_up,
    signs,
    to_orders,
)
from tests.browser.wallets import HonestWallet
from tests.e2e.conftest import Town
from tests.spec.api_client import ApiClient

USDC = TOKENS["USDC"]

HTML = (
    "</script><script>__ran()</script><img src=x onerror=__ran()><svg onload=__ran()>"
    "<iframe srcdoc='<script>parent.__ran()</script>'></iframe>\"'><a href=javascript:__ran()>x</a>"
)
BIDI = "\u202eCSDU\u202c \u2066\u200f\u0000\u0007\u2028\ufeff"
LONG = "javascript:__ran()//" + "W" * 10_000
NEEDED = (
    "^(address|orderId|userAddress|status|kind|outcome|source|type|id|wallets|warnings|level|cause)$"
    "|^=(0x[0-9a-fA-F]*|-?[0-9.]+)$|^=http://127"
)
"""Texts without which the page does not get to its next step."""


DONE = css(".hist summary[data-kind=swap][data-status=confirmed]")


@pytest.mark.parametrize("text", [BIDI + HTML, LONG], ids=["html", "long"])
def test_hostile_texts_in_every_answer(
    browser: Browser, town: Town, desk: ApiClient, text: str
) -> None:
    wallet = HonestWallet(town, allowed(desk))
    page = browser.page({"w": wallet}, names={"w": text}, width=360, height=800)
    page.mangle(text, keep=NEEDED, only="/api/v1/(?!mev/events)|/web/")
    page.goto(f"{town.facts['baseUrl']}/?sell={WETH.address}&buy={USDC.address}")
    page.click("button", "Connect wallet")
    sets_up(page)
    page.wait(PRIVATE)
    page.click("button", "^Receive: ")
    page.wait(css("dialog .it"))
    assert page.count(css("dialog .it")) > 0
    assert page.overflow() <= 0
    page.press("Escape")
    quoted(page, "0.5")
    assert page.overflow() <= 0
    signs(page)
    page.wait(FAULT)  # no time of the order can be read: it may be an earlier one
    to_orders(page)
    page.wait(DONE)
    page.reload()
    page.wait(DONE)
    assert page.overflow() <= 0
    assert page.count(css("main script, main img, main iframe")) == 0
    assert page.count(css("svg[onload]")) == 0
    assert page.count(css("a[href^='javascript']")) == 0
    symbols = page.texts(css("bdi"))
    assert max(len(symbol) for symbol in symbols) <= 48
    assert not any(char in symbol for symbol in symbols for char in "\u202e\u2066\u200f\u0000")
    assert page.reports() == []
    page.close()


def test_a_link_to_an_unlisted_token(browser: Browser, town: Town, desk: ApiClient) -> None:
    """Its symbol may be any: the button names its address."""
    page = private(browser, town, HonestWallet(town, allowed(desk)))
    page.goto(f"{town.facts['baseUrl']}/?sell=WETH&buy={VYPER.address}&amount=0.25")
    page.see("No token list of this service has it: check its address.")
    page.wait(PRIVATE)
    named = f"(unlisted, {VYPER.address[:6]}…{VYPER.address[-4:]})"
    page.see(named, css(".least"))
    page.close()


def test_hostile_texts_in_errors(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(town, allowed(desk))
    page = private(browser, town, wallet)
    page.mangle(HTML, keep="^error$", only="/api/v1/quote")
    page.fill("You pay", "1" + 70 * "0")  # more than 256 bits
    page.see("</script><script>__ran()", css("[role=alert]"))
    assert page.reports() == []
    page.close()
