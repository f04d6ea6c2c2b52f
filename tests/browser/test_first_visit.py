"""What a stranger with a phone and a wallet with ETH alone does until the tokens are there."""

import json

from tests.browser.browser import Browser, Page
from tests.browser.locators import css
from tests.browser.steps import PRIVATE, confirmed, opened
from tests.browser.wallets import HonestWallet
from tests.e2e.conftest import Town
from tests.spec.api_client import ApiClient

IS_SEEN = """((found) => {
  const { top, bottom } = found.getBoundingClientRect()
  return top >= 0 && bottom <= innerHeight
})"""
"""Whether all of an element is on the screen."""


class Visitor:
    """Counts what a person does: clicks, and how often something is not on the screen yet."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks: list[str] = []
        self.scrolled_to: list[str] = []

    def clicks_on(self, name: str) -> None:
        """Click a button by the beginning of its words."""
        self.page.wait(css(f"button >> text=/^{name}/"))
        words = json.dumps(name)
        self._looks(
            name,
            "[...document.querySelectorAll('button')].find((each) =>"
            f" each.checkVisibility() && each.innerText.trim().match(new RegExp('^' + {words})))",
        )
        self.page.click("button", f"^{name}")
        self.clicks.append(name)

    def types(self, amount: str) -> None:
        """Touch the amount, and type."""
        self._looks("the amount", "document.querySelector('input.amount')")
        self.page.fill("You pay", amount)
        self.clicks.append("the amount")

    def _looks(self, name: str, element: str) -> None:
        if not self.page.call("evaluate", expression=f"{IS_SEEN}({element})"):
            self.scrolled_to.append(name)


def test_from_the_first_visit_to_the_tokens_with_eth_alone(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HonestWallet(town, desk.wallet(tokens=0))
    page = opened(browser, town, wallet, "/", width=360, height=740)
    visitor = Visitor(page)
    visitor.clicks_on("Connect wallet")
    visitor.clicks_on("Set up private sending")
    visitor.clicks_on("Add it in my wallet")
    page.wait(PRIVATE)
    visitor.types("1")
    visitor.clicks_on("Step 1 of 3: wrap 1 ETH")
    visitor.clicks_on("Step 2 of 3: approve exactly 1 WETH")
    visitor.clicks_on("Review swap")
    visitor.clicks_on("Confirm in ")
    confirmed(page, "swap")
    page.see("You received")
    assert desk.held(wallet.account, "USDC") > 0
    assert wallet.asked.count("eth_sendTransaction") == 3
    assert len(visitor.clicks) == 8, visitor.clicks
    assert len(visitor.scrolled_to) <= 1, visitor.scrolled_to
    assert page.overflow() <= 0
    page.close()
