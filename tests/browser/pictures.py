"""Pictures of the wallet page and of the operator view.

`python -m tests.browser.pictures FOLDER [REFERENCE]` writes one of each state of the page and of
each view, in four looks: 1280 and 360 CSS pixels, light and dark; and `index.html`, which shows
them all, beside the pictures of a reference design. It runs a sandbox of its own.
"""

import asyncio
import random
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

from quietswap.rules.operator.figures import (
    AS_PROMISED,
    BUCKET_MS,
    Figure,
    Measure,
    check_detail,
    rounded,
)
from quietswap.rules.operator.operators import ProcessReport
from quietswap.sandbox.contracts.pools import VYPER
from quietswap.service.base.clock import SystemClock
from tests.browser.batching import BatchingWallet, delegated_account
from tests.browser.browser import Browser, Page
from tests.browser.locators import css, role
from tests.browser.picture_page import write
from tests.browser.steps import (
    CONFIRM,
    PRIVATE,
    QUOTE,
    REVIEW,
    approved,
    back,
    choose,
    confirmed,
    namesake,
    owes_a_reset,
    private,
    quoted,
    sees_order,
    signs,
    slippage,
    state,
    to_orders,
    to_wrap,
    under_way,
)
from tests.browser.test_ends import (
    UNPROTECTED,
    WITH_DEADLINE,
    WITHOUT_DEADLINE,
    failing,
    swaps,
    visiting,
    withheld,
)
from tests.browser.test_operator import TITLE, VIEWS, log_in
from tests.browser.test_states import HELD
from tests.browser.wallets import HoldingWallet, HonestWallet, SilentWallet
from tests.e2e.conftest import Town, running_town
from tests.patient import open_storage
from tests.spec.api_client import ApiClient

NAMES = {"w": "Test Wallet", "l": "Locked Wallet"}
LOOKS = tuple(product((1280, 360), ("light", "dark")))
HEIGHTS = {1280: 900, 360: 740}
SHOWN = {
    "05-approve-1280-light": "web-quote",
    "09-done-1280-dark": "web-confirmed",
    "06-review-360-light": "web-review",
    "12-guard-typed-360-dark": "web-loss",
}
"""What README and docs/web.md show, by picture; `make docs-pictures` copies them."""


@contextmanager
def a_browser() -> Iterator[Browser]:
    """Run a browser for the length of a `with` block."""
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(Path(folder))
        try:
            yield browser
        finally:
            browser.close()


Picture = Callable[[str], None]


def take(page: Page, wallet: HoldingWallet, desk: ApiClient, town: Town, picture: Picture) -> None:
    """Go through the states of the page, with a picture of each."""
    page.see("Indicative")
    picture("01-first")
    page.click("button", "Connect wallet")
    page.click("button", "^Locked Wallet")
    page.see("unlock it")
    picture("02-wallets")
    page.click("button", "^Test Wallet")
    page.click("button", "Set up private sending")
    picture("03-set-up")
    page.click("button", "Add it in my wallet")
    page.wait(PRIVATE)
    page.wait(QUOTE)
    picture("16-eth")
    opened_parts(page, town, picture)
    page.call("evaluate", expression=HELD)
    choose(page, "Pay with", "WETH")
    state(page, "quoting")
    picture("04-quoting")
    page.call("evaluate", expression="letGo()")
    quoted(page, "1.5")
    picture("05-approve")
    with desk.no_blocks():
        page.click("button", "Approve exactly 1.5 WETH")
        page.see("Sent privately")
        picture("05-waiting")
    approved(page, "1.5")
    page.click("button", REVIEW)
    page.wait(role("button", CONFIRM))
    picture("06-review")
    with desk.no_blocks():
        wallet.holds = True
        page.click("button", CONFIRM)
        state(page, "signing")
        picture("07-signing")
        wallet.decide.set()
        under_way(page)
        picture("08-order")
    confirmed(page, "swap")
    sees_order(page, "swap", "Against the pools")
    picture("09-done")
    back(page)
    guards(page, picture)
    to_wrap(page, "2")
    page.see("Exactly 2 WETH")
    picture("14-wrap")
    page.click("button", "Wrap 2 ETH")
    confirmed(page, "wrap")
    back(page)
    choose(page, "Pay with", "WETH")
    choose(page, "Receive", "USDC")
    quoted(page, "0.5")
    approved(page, "0.5")
    signs(page)
    confirmed(page, "swap")
    to_orders(page)
    page.see("Swaps confirmed")
    picture("15-orders")


def opened_parts(page: Page, town: Town, picture: Picture) -> None:
    """Take what opens above the page."""
    for name, opener in (
        ("slippage", "^Slippage"),
        ("account", "^Account"),
        ("private", "Private"),
    ):
        page.click("button", opener)
        page.wait(css("dialog"))
        picture(f"18-{name}")
        page.press("Escape")
        page.wait(css("dialog"), "detached")
    page.click("button", "^Receive: ")
    page.see("USDT", css("dialog .it"))
    picture("11-tokens")
    page.fill("Search by symbol, name or address", VYPER.address)
    page.see("Use it anyway")
    picture("11-unlisted")
    page.fill("Search by symbol, name or address", namesake(town))
    page.see("This is not USDC")
    picture("11-look-alike")
    page.press("Escape")


def guards(page: Page, picture: Picture) -> None:
    """Take a notice, a confirmation and a typed loss."""
    losses = (
        ("notice", "1", "1"), ("confirm", "5", "1"), ("typed", "0.5", "900"),
    )  # fmt: skip
    for name, percent, amount in losses:
        slippage(page, percent)
        page.fill("You pay", amount)
        state(page, "guard")
        picture(f"12-guard-{name}")
    slippage(page, "0.5")


def ends(page: Page, town: Town, desk: ApiClient, picture: Picture) -> None:
    """Take a swap that was cancelled, one that may still be mined, and a relay that is down."""
    quoted(page)
    with desk.no_blocks():
        signs(page)
        under_way(page)
        page.click("button", "Cancel swap")
        page.see("Cancelling", css(".line"))
        picture("08-cancelling")
    page.wait(css(".order[data-status=cancelled], .order[data-status=confirmed]"))
    picture("10-cancelled")
    page.click("button", "New swap")
    quoted(page)
    for name, *parts in (("relay", "relay", "backup_relay"), ("node", "node")):
        for part in parts:
            town.fault(part, "500" if part == "node" else "down")
        try:
            state(page, "down")
            picture(f"13-{name}-down")
        finally:
            town.heal(*parts)
        page.wait(css(".banner"), "detached")
    page.goto(f"{town.facts['baseUrl']}/?sell=USDT&buy=DAI&amount=500")
    state(page, "reset")
    picture("05b-reset")


def other_ends(browser: Browser, town: Town, desk: ApiClient, folder: Path) -> None:
    """Take swaps that failed and expired, of services with settings of their own."""
    with (
        tempfile.TemporaryDirectory() as own,
        visiting(browser, town, desk, Path(own), UNPROTECTED) as page,
    ):
        failing(page, desk)
        picturing(page, folder)("10-failed")
    for name, settings in (("not-over", WITHOUT_DEADLINE), ("expired", WITH_DEADLINE)):
        with (
            tempfile.TemporaryDirectory() as own,
            visiting(browser, town, desk, Path(own), settings) as page,
            withheld(town),
        ):
            swaps(page)
            page.see("Expired", css(".end-title"))
            picturing(page, folder)(f"10-{name}")


def picturing(page: Page, folder: Path) -> Picture:
    """Return what takes a page in all looks."""

    def picture(shown: str) -> None:
        for width, scheme in LOOKS:
            page.look(width, scheme, height=HEIGHTS[width])
            name = f"{shown}-{width}-{scheme}"
            page.screenshot(folder / f"{name}.png")
            if name in SHOWN:
                page.small_screenshot(folder / "shown" / f"{SHOWN[name]}.webp")
        page.look(1280, height=HEIGHTS[1280])

    return picture


def visit(browser: Browser, town: Town, desk: ApiClient, folder: Path) -> None:
    """Take all states of the page, each in all looks."""
    wallet = HoldingWallet(town, desk.wallet(), "eth_sendTransaction", signs=True)
    locked = SilentWallet(town, desk.wallet())
    locked.silent.add("eth_requestAccounts")
    page = browser.page({"w": wallet, "l": locked}, names=NAMES)
    page.goto(f"{town.facts['baseUrl']}/?amount=1.5")
    take(page, wallet, desk, town, picturing(page, folder))
    page.close()
    page = private(browser, town, HonestWallet(town, owes_a_reset(desk)), names=NAMES)
    ends(page, town, desk, picturing(page, folder))
    page.close()
    batching = BatchingWallet(town, delegated_account(desk))
    page = private(browser, town, batching, names=NAMES)
    quoted(page, "1.5")
    page.wait(role("button", "Review swap in one signature"))
    picturing(page, folder)("16-one-signature")
    page.close()
    other_ends(browser, town, desk, folder)
    page = browser.page()
    for number, path in (("19-wrong-address", "/nothing"), ("20-help", "/web/help")):
        page.goto(town.facts["baseUrl"] + path)
        picturing(page, folder)(number)
    page.close()


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
        found[Figure(Measure.SOURCE_CHECK, name, AS_PROMISED, 0)] = asked
        short = chance.randrange(1 + place)
        found[Figure(Measure.SOURCE_CHECK, name, check_detail("answered", -3), 0)] = short
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


def main(folder: Path, reference: Path | None = None) -> None:
    """Write the pictures of every look into a folder, and a page of them."""
    shutil.rmtree(folder, ignore_errors=True)
    with (
        running_town("--block-time", "1") as town,  # the chain's clock is that of the pictures
        a_browser() as browser,
        ApiClient(town) as desk,
    ):
        visit(browser, town, desk, folder)
        settings = tomllib.loads(Path(town.facts["settingsFile"]).read_text("utf-8"))
        asyncio.run(a_day(settings["storage"]["url"]))
        for width, scheme in LOOKS:
            page = browser.page(width=width, height=HEIGHTS[width], scheme=scheme)
            log_in(page, town)
            for view in VIEWS:
                page.click("link", view)
                page.see(view, TITLE)
                page.screenshot(folder / f"17-operator-{view.lower()}-{width}-{scheme}.png")
            page.close()
    sys.stdout.write(f"{write(folder, reference)}\n")


if __name__ == "__main__":
    main(*(Path(folder) for folder in sys.argv[1:3]))
