"""Pictures of the wallet page and of the operator view: `python -m tests.browser.pictures FOLDER`.

One of each step of a swap and of each view, in four looks: 1280 and 360 CSS pixels, light and dark.
It runs a sandbox of its own. Some pictures with a small margin are those of the documentation
(`*-docs.png`).
"""

import asyncio
import random
import sys
import tempfile
import tomllib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

from quietswap.rules.operator.figures import BUCKET_MS, Figure, Measure, rounded
from quietswap.rules.operator.operators import ProcessReport
from quietswap.service.base.clock import SystemClock
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
from tests.browser.test_operator import TITLE, VIEWS, log_in
from tests.browser.wallets import HonestWallet
from tests.e2e.conftest import running_town
from tests.patient import open_storage
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


def figures_of(chance: random.Random) -> dict[Figure, int]:
    """Return what a service with some hundred swaps a day counts in ten minutes."""
    orders = chance.randrange(8)
    found = {
        Figure(Measure.ORDER_MOVED, "confirmed", "included", 0): orders,
        Figure(Measure.ORDER_MOVED, "failed", "reverted", 0): chance.random() < 0.05,
        Figure(Measure.ORDER_MOVED, "cancelled", "expired", 0): chance.random() < 0.15,
        Figure(Measure.RELAY_OUTCOME, "MEV Blocker", "accepted", 0): orders,
        Figure(Measure.RELAY_OUTCOME, "MEV Blocker", "refused", 0): chance.random() < 0.1,
        Figure(Measure.TRACKER_LAG, "tracker", "", chance.choice((1, 1, 1, 2, 4))): 50,
        Figure(Measure.NODE_ERROR, "127.0.0.1#1", "timed_out", 0): chance.random() < 0.1,
    }

    def add(measure: Measure, subject: str, value: float, times: int = 1, tip: str = "") -> None:
        figure = Figure(measure, subject, tip, rounded(measure, round(value)))
        found[figure] = found.get(figure, 0) + times

    for _ in range(orders):
        add(Measure.INCLUSION_S, "noreverts", chance.expovariate(1 / 15), tip="none")
        add(Measure.INCLUSION_BLOCKS, "noreverts", 1 + chance.expovariate(1), tip="none")
        add(Measure.RELAY_MS, "MEV Blocker", chance.gauss(120, 40))
    for place, name in enumerate(("kyberswap", "velora", "sushi", "uniswap")):
        asked = 12 * orders + 1
        won = chance.randrange(1 + 3 * orders // (place + 1))
        found[Figure(Measure.SOURCE_WON, name, "", 0)] = won
        found[Figure(Measure.SOURCE_OUTCOME, name, "answered", 0)] = asked
        found[Figure(Measure.SOURCE_OUTCOME, name, "timed_out", 0)] = chance.randrange(1 + place)
        found[Figure(Measure.SOURCE_CHECK, name, "as promised", 0)] = asked
        short = chance.randrange(1 + place)
        found[Figure(Measure.SOURCE_CHECK, name, "below its promise", 0)] = short
        add(Measure.SOURCE_MS, name, chance.gauss(300, 90), asked)
        add(Measure.SOURCE_DELIVERED, name, chance.gauss(-place, 4), 1 + won)
    return {figure: int(times) for figure, times in found.items() if times}


async def a_day(url: str) -> None:
    """Store figures of the last 24 hours in a database, the same in each run."""
    clock, chance = SystemClock(), random.Random(0)
    storage = await open_storage(url, clock=clock)
    for ago in range(144, 0, -1):
        report = ProcessReport("earlier", clock.now_ms() - ago * BUCKET_MS, 1, {})
        await storage.figures.record(figures_of(chance), report)
    await storage.close()


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
        settings = tomllib.loads(Path(town.facts["settingsFile"]).read_text("utf-8"))
        asyncio.run(a_day(settings["storage"]["url"]))
        for width, scheme in LOOKS:
            page = browser.page(width=width, height=800, scheme=scheme)
            log_in(page, town)
            for view in VIEWS:
                page.click("link", view)
                page.see(view, TITLE)
                page.screenshot(folder / f"operator-{view.lower()}-{width}-{scheme}.png")
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
