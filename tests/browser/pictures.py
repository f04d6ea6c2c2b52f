"""Pictures of each step of the wallet page: `python -m tests.browser.pictures FOLDER`.

Four looks: 1280 and 360 CSS pixels, light and dark. It runs a sandbox of its own. Some pictures
with a small margin are those of the documentation (`*-docs.png`).
"""

import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

from tests.browser.browser import Browser, Page
from tests.browser.locators import css, role
from tests.browser.steps import (
    PRIVATE,
    SWAP,
    approved,
    confirmed,
    opened,
    quoted,
    sees_order,
    slippage,
)
from tests.browser.wallets import HonestWallet
from tests.e2e.conftest import running_town
from tests.spec.api_client import ApiClient

NAMES = {"w": "Test Wallet"}
DOCS = (
    (760, "light", ("4-quote", "7-notice", "8-confirm", "9-typed")),
    (640, "light", ("2-connected",)),
    (640, "dark", ("6-confirmed",)),
)
"""Width, colours and steps of the pictures in the documentation."""
PARTS = {"4-quote": css("main > section:nth-of-type(2)")} | dict.fromkeys(
    ("7-notice", "8-confirm", "9-typed"), css(".loss")
)
"""What the documentation shows of a step."""
LOOKS = tuple(product((1280, 360), ("light", "dark")))


@contextmanager
def a_browser() -> Iterator[Browser]:
    """Run a browser for the length of a `with` block."""
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(Path(folder))
        try:
            yield browser
        finally:
            browser.close()


def take(page: Page, folder: Path, look: str, steps: Collection[str] = ()) -> None:
    """Go through the steps of a swap, with a picture of each, or of the named ones."""

    def picture(step: str) -> None:
        if not steps or step in steps:
            page.screenshot(folder / f"{step}-{look}.png", PARTS.get(step) if steps else None)

    page.wait(role("button", "Connect wallet"))
    picture("1-start")
    page.click("button", "Connect wallet")
    page.wait(role("button", "Set up private connection"))
    picture("2-connected")
    page.click("button", "Set up private connection")
    page.see(PRIVATE)
    page.call("fill", at=["label", "Buy token"], text="U")
    page.wait(css("[role=option]"))
    picture("3-tokens")
    page.press("Escape")
    quoted(page)
    picture("4-quote")
    page.click("button", "Approve exactly 1 WETH")
    page.wait(role("button", SWAP))
    picture("5-ready")
    page.click("button", SWAP)
    confirmed(page, "swap")
    sees_order(page, "swap", "Received")
    picture("6-confirmed")
    for step, percent, amount in (
        ("7-notice", "1", "1"), ("8-confirm", "5", "1"), ("9-typed", "0.5", "900"),
    ):  # fmt: skip
        slippage(page, percent)
        page.fill("You sell", amount)
        page.click("button", "Get quote")
        page.wait(css(".loss"))
        approved(page, amount)
        picture(step)
    slippage(page, "0.5")
    page.call("fill", at=["label", "Sell token"], text="eth")
    page.wait(css("[role=option]"))
    picture("10-eth-tokens")
    page.press("Enter")
    quoted(page)
    picture("11-eth-quote")
    page.click("button", "Wrap 1 ETH")
    confirmed(page, "wrap")
    page.see("Step 2 of 2")
    picture("12-eth-second")
    page.click("button", "Wrap and unwrap")
    picture("13-wrap")


def main(folder: Path) -> None:
    """Write the pictures of every look into a folder."""
    with (
        running_town("--block-time", "0.5") as town,
        a_browser() as browser,
        ApiClient(town) as desk,
    ):
        for width, scheme in LOOKS:
            wallet = HonestWallet(town, desk.wallet())
            look = {"width": width, "height": 800, "scheme": scheme}
            page = opened(browser, town, wallet, names=NAMES, **look)
            take(page, folder, f"{width}-{scheme}")
            page.close()
        for width, scheme, steps in DOCS:
            wallet = HonestWallet(town, desk.wallet())
            page = opened(
                browser, town, wallet, names=NAMES, width=width, height=600, scheme=scheme
            )
            take(page, folder, "docs", steps)
            page.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
