"""Each state of the page: what must be true in it, in two windows, light and dark.

The state is rendered once, and shown in each look.
"""

import re
from urllib.parse import urlsplit

from tests.browser.browser import Browser, Page
from tests.browser.keyboard import enter, focus_of, opens, reach, replaces, stays_inside, takes
from tests.browser.locators import css, role
from tests.browser.steps import (
    CONFIRM,
    FAULT,
    GO,
    PAIR,
    PRIVATE,
    QUOTE,
    RESET_OLD,
    REVIEW,
    allowed,
    approved,
    back,
    choose,
    confirmed,
    owes_a_reset,
    private,
    quoted,
    signs,
    slippage,
    state,
    to_orders,
    to_wrap,
    under_way,
)
from tests.browser.wallets import HoldingWallet, HonestWallet, SilentWallet
from tests.e2e.conftest import Town
from tests.spec.api_client import ApiClient

_LOWEST, _LOWEST_BELOW_A_BANNER = 640, 680
"""CSS pixels: the button of the card ends above, in a phone's window that was not scrolled."""
_BOTTOM = "Math.ceil(document.querySelector('.card .go').getBoundingClientRect().bottom + scrollY)"
_HEADER = "document.querySelector('.top > div').offsetHeight"
_MOVING = "document.getAnimations().filter(({ playState }) => playState === 'running').length"
_TEXT = "document.documentElement.style.fontSize"
_SIZE = "getComputedStyle(document.querySelector('main')).fontSize"
_ICON = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>"
HELD = """(() => {
  const real = window.fetch
  const asked = new Promise((go) => (window.letGo = () => ((window.fetch = real), go())))
  window.fetch = async (url, how) => {
    if (/quote.stream/.test(url)) await asked
    return real(url, how)
  }
})()"""
"""The sources are asked when `letGo` is called."""


def seen(page: Page, name: str) -> None:
    """Check what must hold of every state in every look."""
    state(page, name)
    in_each_look(page, name)


def in_each_look(page: Page, name: str) -> None:
    """Check what nobody should find wrong."""
    for width in page.looks(name):
        assert page.overflow() <= 0, (name, width)
        assert page.call("evaluate", expression=_MOVING) == 0, f"{name}: reduced motion"
        assert page.count(css("main .go")) <= 1, f"{name}: one primary button"
    page.call("evaluate", expression=f"{_TEXT} = '200%'")
    assert page.call("evaluate", expression=_SIZE) == "32px", "the page follows the browser's size"
    for width in (360, 1280):
        page.look(width, height=900)
        assert page.overflow() <= 0, (name, width, "text of 200 %")
    page.call("evaluate", expression=f"{_TEXT} = ''")


def fits(page: Page, *, below_a_banner: bool = False) -> None:
    """Check that the card's button is in sight on a phone."""
    page.look(360)
    lowest = _LOWEST_BELOW_A_BANNER if below_a_banner else _LOWEST
    assert page.call("evaluate", expression=_BOTTOM) <= lowest
    page.look(1280, height=900)


def sees(page: Page, *texts: str) -> None:
    """Wait until the page shows each text."""
    for text in texts:
        page.see(text)


def test_the_way_to_a_swap(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HoldingWallet(town, desk.wallet(), "eth_sendTransaction", signs=True)
    locked = SilentWallet(town, desk.wallet())
    locked.silent.add("eth_requestAccounts")
    page = browser.page(
        {"w": wallet, "locked": locked}, icons={"w": _ICON, "locked": _ICON}, width=1280, height=900
    )
    page.goto(f"{town.facts['baseUrl']}/?amount=1.5")
    sees(page, "Indicative: not simulated yet", "Fee of quietswap", "Network fee of the swap")
    assert page.count(css("h1")) == 1
    assert page.count(css(".points li")) == 4
    seen(page, "first")
    to_set_up(page, wallet)
    page.click("button", "Add it in my wallet")
    page.wait(PRIVATE)
    page.see("Step 1 of 3: wrap 1.5 ETH", GO)
    assert page.texts(css(".steps li")) == ["Wrap 1.5 ETH", "Approve 1.5 WETH", "Swap"]
    seen(page, "eth")
    fits(page)
    for chip in ("^Account", "Private"):
        page.click("button", chip)
        page.wait(css("dialog"))
        in_each_look(page, chip)
        page.press("Escape")
        page.wait(css("dialog"), "detached")
    page.click("button", "^Receive: ")
    page.wait(css("dialog .it"))
    seen(page, "tokens")
    page.press("Escape")
    page.call("evaluate", expression=HELD)
    choose(page, "Pay with", "WETH")
    page.see("Checking sources", GO)
    assert page.attribute(GO, "aria-busy") == "true"
    seen(page, "quoting")
    fits(page)
    page.call("evaluate", expression="letGo()")
    page.see("Approve exactly 1.5 WETH", GO)
    page.see("At least", css(".least"))
    seen(page, "approve")
    fits(page)
    with desk.no_blocks():
        page.click("button", "Approve exactly 1.5 WETH")
        sees(page, "Sent privately", "Nothing is swapped yet", "Quoted anew after this step")
        assert page.texts(css(".steps li")) == ["Approve 1.5 WETH", "Swap"]
        seen(page, "waiting")
        fits(page)
    approved(page, "1.5")
    seen(page, "ready")
    fits(page)
    facts = page.text(css("[aria-label='This swap']"))
    assert len(re.findall(r"−0\.\d\d %", facts)) == 2, "what is less for the person has a minus"
    page.click("button", REVIEW)
    page.wait(role("button", CONFIRM))
    sees(page, "You pay", "You receive at least", "Network fee", "Router", "Sent to", "Seen by")
    sees(page, "price impact −0.")
    sees(page, "Good until", "Copy the minimum")
    seen(page, "review")
    signing_to_done(page, wallet, desk)
    page.close()


def to_set_up(page: Page, wallet: HonestWallet) -> None:
    """Choose a wallet, after one that is locked, up to what private sending does."""
    page.click("button", "Connect wallet")
    assert page.count(css("dialog img[src^='data:image/']")) == 2
    page.click("button", "^Locked Wallet")
    page.see("Open Locked Wallet and unlock it: a request waits there.")
    ring = "document.querySelector('dialog .spin').offsetWidth"
    assert page.call("evaluate", expression=ring) == 18
    seen(page, "wallets")
    page.press("Escape")
    page.wait(css("dialog"), "detached")
    assert page.focused()["name"] == "Connect wallet"
    page.click("button", "Connect wallet")
    page.click("button", "^W Wallet")
    page.click("button", "Set up private sending")
    sees(page, "What it does", "What else it affects", "How to undo it")
    assert "wallet_addEthereumChain" not in wallet.asked
    assert page.count(css("code.url")) == 0
    seen(page, "set-up")


def signing_to_done(page: Page, wallet: HoldingWallet, desk: ApiClient) -> None:
    """Let the wallet ask, sign, and follow the order to its end."""
    questions = wallet.asked.count("eth_sendTransaction")
    wallet.holds = True
    page.click("button", CONFIRM)
    sees(page, "Nothing is sent until you sign", "s left.")
    seen(page, "signing")
    assert wallet.asked.count("eth_sendTransaction") == questions + 1
    with desk.no_blocks():
        wallet.decide.set()
        under_way(page)
        sees(page, "Public mempool", "Cancel swap", "Speed up")
        assert page.text(css(".count")) == "1"
        page.look(360)
        assert page.call("evaluate", expression=_HEADER) <= 56, "one line, also with a count"
        seen(page, "order")
        page.reload()
        under_way(page)
    confirmed(page, "swap")
    sees(page, "You received", "Minimum", "Against the quote", "Allowance left")
    seen(page, "order")
    to_orders(page)
    page.wait(css(".hist summary[data-kind]"))
    assert page.count(css(".hist summary[data-kind]")) == 1, "the swap with its approval"
    seen(page, "orders")


def test_what_stands_in_the_way(browser: Browser, town: Town, desk: ApiClient) -> None:
    page = private(browser, town, HonestWallet(town, owes_a_reset(desk)))
    slippage(page, "5")
    quoted(page)
    page.see("You may lose 5.00 %", css(".loss"))
    page.see("The price may fall by this much before the swap fails.", css(".loss"))
    page.see("Confirm the loss to go on", GO)
    assert page.count(css(".least.flat")) == 1
    seen(page, "guard")
    slippage(page, "0.5")
    page.wait(QUOTE)
    town.fault("relay", "500")
    town.fault("backup_relay", "down")
    try:
        page.wait(css(".banner[role=alert]"))
        page.see("The private relay does not answer", FAULT)
        page.see("Waiting for the private relay…", GO)
        seen(page, "down")
        fits(page, below_a_banner=True)
    finally:
        town.heal("relay", "backup_relay")
    page.wait(FAULT, "detached")
    to_wrap(page, "2")
    sees(page, "Exactly 2 WETH, always 1 to 1.", "“Max” leaves 0.01 ETH")
    assert page.count(css(".slip")) == 0
    seen(page, "wrap")
    fits(page)
    page.goto(town.facts["baseUrl"] + PAIR.replace("WETH", "USDT").replace("USDC", "DAI"))
    page.fill("You pay", "500")
    page.see(RESET_OLD, GO)
    assert "Approve exactly 0" not in page.text()
    seen(page, "reset")
    fits(page)
    page.close()


BORDERS = """[...document.querySelectorAll('.panel, .side, .well, .go, .chip, .least, .tag')]
  .filter((part) => getComputedStyle(part).borderTopWidth === '0px')
  .map((part) => part.className)"""


def test_forced_colours(browser: Browser, town: Town, desk: ApiClient) -> None:
    """No ground is left: what it told apart has a border."""
    page = private(browser, town, HonestWallet(town, allowed(desk)))
    quoted(page)
    for width in (1280, 360):
        page.look(width, forced=True)
        assert page.call("evaluate", expression=BORDERS) == []
        assert page.axe() == []
    page.close()


def test_a_cancelled_swap(browser: Browser, town: Town, desk: ApiClient) -> None:
    page = private(browser, town, HonestWallet(town, allowed(desk)))
    quoted(page)
    town.fault("relay", "withhold")
    try:
        signs(page)
        under_way(page)
        page.click("button", "Cancel swap")
        page.see("Cancelling", css(".line"))
        seen(page, "order")
    finally:
        town.heal("relay")
    page.wait(css(".order[data-status=cancelled]"))
    seen(page, "order")
    back(page)
    page.close()


def test_the_way_to_a_swap_by_keyboard(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HoldingWallet(town, desk.wallet(), "eth_sendTransaction", signs=True)
    page = browser.page({"w": wallet, "v": HonestWallet(town, desk.wallet())}, width=1280)
    page.goto(f"{town.facts['baseUrl']}/?amount=1.5")
    page.see("Indicative: not simulated yet")
    state(page, "first")
    fits(page, below_a_banner=True)  # beside the headline
    assert page.focused()["tag"] == "BODY", "the amount has not the focus at first"
    sets_up_by_keyboard(page)
    page.see("Step 1 of 3: wrap 1.5 ETH", GO)
    state(page, "eth")
    for opener in ("^0x", "^Private", "^Slippage"):
        opens(page, opener)
    takes(page, "ETH", "WETH")
    page.see("Approve exactly 1.5 WETH", GO)
    state(page, "approve")
    assert all(map(re.match, FORM, tab_order(page))), tab_order(page)
    reach(page, "You pay")
    page.press("Enter")
    assert "eth_sendTransaction" not in wallet.asked, "Enter in the amount asks no wallet"
    enter(page, "Approve exactly 1.5 WETH")
    page.see("Review swap", GO)
    reach(page, "You pay")
    page.press("Enter")  # as the card's button, which asks no wallet yet
    state(page, "review")
    assert focus_of(page)["tag"] == "H2"
    stays_inside(page)
    wallet.holds = True
    enter(page, CONFIRM)
    state(page, "signing")
    page.press("Escape")
    page.wait(css("dialog"), "detached")
    page.see("Waiting for your signature…", GO)
    with desk.no_blocks():
        wallet.decide.set()
        under_way(page)
        state(page, "order")
        reach(page, "Speed up")
        reach(page, "Cancel swap")
    confirmed(page, "swap")
    assert page.focused()["tag"] != "BODY"
    assert len(wallet.sent) == 2, "an approval and a swap"
    enter(page, "^Orders")
    state(page, "orders")
    enter(page, r"^1\.5\sWETH")
    page.wait(css(".hist details[open] .line"))
    enter(page, "Swap")
    state(page, "order")  # the open line of the orders has a "New swap", too
    enter(page, "New swap")
    page.wait(GO)
    assert page.hosts() == [urlsplit(town.facts["baseUrl"]).netloc], "nobody else was asked"
    page.close()


FORM = [
    "quietswap", "Swap", "Orders", "Private", "0x", "Slippage", "You pay", "WETH", "25 %", "50 %",
    "Max", "$", "USDC", "1 WETH =",
]  # fmt: skip
"""The controls from the top, before the button of the card."""


def tab_order(page: Page) -> list[str]:
    """Return the names of the first controls as Tab goes through them from the top."""
    page.call("evaluate", expression="document.querySelector('.brand').focus()")
    names = []
    for _ in range(len(FORM)):
        names.append(page.focused()["name"])
        page.press("Tab")
    assert page.focused()["name"].startswith("Approve exactly"), "then the button of the card"
    return names


def sets_up_by_keyboard(page: Page) -> None:
    """Choose a wallet and let it send privately."""
    enter(page, "Connect wallet")
    state(page, "wallets")
    assert page.focused()["name"].startswith("WW Wallet"), "the first wallet"
    page.press("Escape")
    page.wait(css("dialog"), "detached")
    assert page.focused()["name"] == "Connect wallet"
    page.press("Enter")
    page.wait(css("dialog .it"))
    page.press("Enter")
    page.wait(role("button", "Set up private sending"))
    enter(page, "Set up private sending")
    state(page, "set-up")
    assert focus_of(page)["tag"] == "H2"
    enter(page, "Add it in my wallet")
    page.wait(PRIVATE)
    assert page.focused()["tag"] != "BODY"


def test_what_stands_in_the_way_by_keyboard(browser: Browser, town: Town, desk: ApiClient) -> None:
    page = private(browser, town, HonestWallet(town, owes_a_reset(desk)))
    enter(page, "^Slippage")
    reach(page, "Slippage in percent")
    replaces(page, "5")
    page.press("Escape")
    reach(page, "You pay")
    replaces(page, "1")
    page.see("Confirm the loss to go on", GO)
    state(page, "guard")
    reach(page, "^Yes, swap although")
    page.press("Space")
    page.see("Review swap", GO)
    reach(page, "Review swap")
    for relay in ("relay", "backup_relay"):
        town.fault(relay, "down")
    try:
        page.see("Waiting for the private relay…", GO)
        state(page, "down")
        assert page.focused()["name"] == "Waiting for the private relay…", "off, and with the focus"
        page.press("Enter")
    finally:
        town.heal("relay", "backup_relay")
    page.wait(FAULT, "detached")
    takes(page, "WETH", "ETH")
    takes(page, "USDC", "WETH")
    page.see("Wrap 1 ETH", GO)
    state(page, "wrap")
    reach(page, "Wrap 1 ETH")
    page.goto(f"{town.facts['baseUrl']}/?sell=USDT&buy=DAI&amount=500")
    page.see(RESET_OLD, GO)
    state(page, "reset")
    reach(page, "^Step 1 of 3: reset the old")
    page.close()
