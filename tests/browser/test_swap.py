"""A person swaps, wraps and cancels on the wallet page, with an injected wallet that signs."""

import re

import pytest

from quietswap.sandbox.contracts.pools import TOKENS, WETH
from tests.browser.browser import Browser
from tests.browser.locators import css, label, role
from tests.browser.steps import (
    FAULT,
    OF_ANOTHER,
    PRIVATE,
    SWAP,
    VENDORS,
    allowed,
    approved,
    confirmed,
    opened,
    private,
    quoted,
    sees_order,
    slippage,
    sources,
    swapped,
)
from tests.browser.wallets import FeeChoosingWallet, HonestWallet, RepeatingWallet
from tests.e2e.conftest import VENUES, Town, running_town
from tests.e2e.test_delegated_wallets import CODES, delegate
from tests.spec.api_client import ETHER, ApiClient

pytestmark = pytest.mark.xdist_group("browser")


def test_a_swap_from_connect_to_the_end(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(town, desk.wallet())
    before = desk.held(wallet.account, "USDC")
    page = private(browser, town, wallet)
    quoted(page)
    rows = sources(page)
    assert len(rows) >= 4
    assert any("best" in row for row in rows)
    facts = page.text(css(".facts"))
    for shown in ("At least", "Price impact", "Gas", "After gas", "A sandwich could take"):
        assert shown in facts
    assert "A fresh quote follows in" in page.text(css(".quote"))
    assert page.count(role("button", SWAP)) == 0
    approved(page)
    page.click("button", SWAP)
    confirmed(page, "approval")
    confirmed(page, "swap")
    sees_order(page, "swap", "Received")
    received = desk.held(wallet.account, "USDC") - before
    assert received > 0
    shown = page.text(css(".order[data-kind=swap]"))
    assert f"{received / 10**6:,.6f}".rstrip("0") in shown
    assert "Gas paid" in shown
    href = page.attribute(css(".order[data-kind=swap] a"), "href") or ""
    assert re.fullmatch(r"https://etherscan\.io/tx/0x[0-9a-f]{64}", href)
    assert desk.held(wallet.account, "WETH") == 999 * ETHER
    page.close()


def test_a_swap_with_every_vendor_down(browser: Browser) -> None:
    """The pools are left: the page needs no vendor."""
    with (
        running_town("--block-time", "0.5") as town,
        ApiClient(town) as desk,
        desk.fault("down", *VENUES),
    ):
        wallet = HonestWallet(town, desk.wallet())
        page = private(browser, town, wallet)
        quoted(page)
        rows = sources(page)
        assert [("best" in row, "not available" in row) for row in rows].count((True, False)) == 1
        assert all(("Uniswap" in row) is ("best" in row) for row in rows)
        approved(page)
        page.click("button", SWAP)
        confirmed(page, "approval")
        confirmed(page, "swap")
        sees_order(page, "swap", "Received")
        page.close()


def test_a_link_names_the_pair_and_the_amount(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HonestWallet(town, allowed(desk))
    page = browser.page({"w": wallet})
    page.goto(f"{town.facts['baseUrl']}/?sell=dai&buy={WETH.address.lower()}&amount=2x")
    page.click("button", "Connect wallet")
    page.see("An amount has digits")
    assert page.call("value", at=label("Sell token")) == "DAI"
    assert page.call("value", at=label("Buy token")) == "WETH"
    page.click("button", "Sell what you buy")
    assert page.call("value", at=label("Sell token")) == "WETH"
    page.click("button", "25 %")
    assert page.call("value", at=label("You sell")) == "250"
    page.click("button", "Max")
    assert page.call("value", at=label("You sell")) == "1000"
    quoted(page, "1")
    page.click("button", "Sell what you buy")
    page.wait(css(".quote"), "hidden")
    page.close()


def test_a_price_before_a_wallet_is_connected(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    page = opened(browser, town, HonestWallet(town, allowed(desk)), width=360, height=740)
    page.fill("You sell", "2")
    page.see("Indicative: nothing was simulated yet. About $")
    page.see("Connect a wallet for a quote")
    assert not page.is_enabled("button", "Get quote")
    assert page.axe() == []
    assert page.overflow() <= 0
    page.click("button", "Connect wallet")
    page.see("Private connection")
    assert page.call("value", at=label("You sell")) == "2"
    page.close()


def test_settings_are_remembered_within_bounds(browser: Browser, town: Town) -> None:
    page = opened(browser, town, None)
    page.call("click", at=css(".gear summary"))
    page.click("button", "0.1 %")
    for typed, later in (("0.3", "0.3"), ("5", "0.3"), ("x", "0.3")):
        slippage(page, typed)
        page.reload()
        page.wait(css(".gear"))
        assert page.call("value", at=label("Slippage")) == later
    for broken in ("50", "<b>", "-1"):
        page.call("evaluate", expression=f"localStorage.setItem('quietswap.slippage', '{broken}')")
        page.reload()
        page.wait(css(".gear"))
        assert page.call("value", at=label("Slippage")) == "0.5"
    page.close()


@pytest.mark.parametrize("wanted", ["nothing-of-the-kind", "0x" + "12" * 20])
def test_a_link_that_names_no_token(browser: Browser, town: Town, wanted: str) -> None:
    page = browser.page({})
    page.goto(f"{town.facts['baseUrl']}/?sell={wanted}&buy=USDC")
    page.see("The link's “sell” is neither", FAULT)
    page.fill("Sell token", "WETH")
    page.wait(css("[role=option]"))
    page.press("Enter")
    page.wait(FAULT, "detached")
    page.close()


ON_SCREEN = """(() => {
  const at = document.querySelector('.decision button.primary').getBoundingClientRect()
  return at.top >= 0 && at.bottom <= window.innerHeight
})()"""


def test_a_phone_shows_the_button_with_the_quote(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    page = private(browser, town, HonestWallet(town, allowed(desk)), width=360, height=740)
    page.fill("You sell", "1")
    page.call("evaluate", expression="window.scrollTo(0, 0)")
    page.press("Enter")
    page.wait(role("button", SWAP))
    desk.until(lambda: page.call("evaluate", expression=ON_SCREEN))
    page.close()


ASK_AT_ONCE = """(async () => {
  const field = document.querySelector('form input')
  const button = document.querySelector('form button[type=submit]')
  field.value = '0.25'
  field.dispatchEvent(new Event('input', { bubbles: true }))
  while (button.disabled) await Promise.resolve()
  button.click()
})()"""
"""Type an amount and click before the browser draws the next frame, as on a busy machine."""


def test_a_quote_that_is_asked_before_the_next_frame(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    page = private(browser, town, HonestWallet(town, allowed(desk)))
    page.call("evaluate", expression=ASK_AT_ONCE)
    page.wait(role("button", SWAP))
    page.close()


def test_the_approval_is_exact(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(town, desk.wallet())
    seen: list[dict[str, str]] = []
    send = wallet.send
    wallet.send = lambda wanted: (seen.append(dict(wanted)), send(wanted))[1]  # type: ignore[method-assign]
    page = private(browser, town, wallet)
    quoted(page, "0.25")
    approved(page, "0.25")
    [approval] = seen
    assert approval["to"] == TOKENS["WETH"].address
    assert approval["data"].startswith("0x095ea7b3")
    assert int(approval["data"][-64:], 16) == ETHER // 4
    page.close()


OPTIONS = css("[role=option]")


def test_what_the_wallet_has_is_listed_first(browser: Browser, town: Town, desk: ApiClient) -> None:
    account = desk.wallet(tokens=0)
    desk.give(account, TOKENS["DAI"], TOKENS["DAI"].units(25))
    page = private(browser, town, HonestWallet(town, account), width=360, height=740)
    page.call("click", at=label("Buy token"))
    page.see("25", OPTIONS)
    rows = page.texts(OPTIONS)
    assert ["ETH" in rows[0], "DAI" in rows[1]] == [True, True]
    assert "100" in rows[0]
    assert len(rows) > 4
    assert page.axe() == []
    assert page.overflow() <= 0
    assert page.count(css("[role=option][aria-selected=true]")) == 0, "nothing is chosen by a look"
    page.press("Escape")
    page.wait(OPTIONS, "detached")
    page.press("ArrowDown")
    page.wait(OPTIONS)
    page.press("ArrowDown")
    page.press("ArrowDown")
    page.press("Enter")
    assert page.call("value", at=label("Buy token")) == "DAI"
    page.fill("Buy token", "us")
    page.see("USDC", OPTIONS)
    assert all(text.startswith("0") for text in page.texts(OPTIONS)), page.texts(OPTIONS)
    page.close()


def test_a_balance_that_was_not_read_is_not_zero(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    page = private(browser, town, HonestWallet(town, desk.wallet()))
    page.mangle("0x0", keep="^(?!address$|=0x)", only="/mev/balances/")
    page.fill("Buy token", "DAI")
    page.see("not read", OPTIONS)
    page.press("Enter")
    assert page.call("value", at=label("Buy token")) == "DAI"
    page.close()


def test_usdt_is_approved_after_its_old_approval_is_zero(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    account = desk.wallet()
    usdt = TOKENS["USDT"]
    for vendor in VENDORS:
        key = usdt.allowance_key(account.address, vendor.ROUTER)
        desk.rpc("anvil_setStorageAt", usdt.address, key, f"0x{1:064x}")
    page = private(browser, town, HonestWallet(town, account))
    for field, symbol in (("Buy token", "DAI"), ("Sell token", "USDT")):
        page.fill(field, symbol)
        page.wait(css("[role=option]"))
        page.press("Enter")
    page.fill("You sell", "500")
    page.click("button", "Get quote")
    page.click("button", "Approve exactly 0 USDT")
    page.click("button", "Approve exactly 500 USDT")
    page.click("button", SWAP)
    confirmed(page, "swap")
    assert desk.held(account, "USDT") == usdt.units(500)
    page.close()


@pytest.mark.parametrize("kind", [FeeChoosingWallet, RepeatingWallet])
def test_wallets_with_habits(
    browser: Browser, town: Town, desk: ApiClient, kind: type[HonestWallet]
) -> None:
    wallet = kind(town, desk.wallet())
    page = private(browser, town, wallet)
    swapped(page)
    confirmed(page, "swap")
    assert page.count(css(".order[data-kind=swap]")) == 1
    assert desk.held(wallet.account, "WETH") == 999 * ETHER
    page.close()


def test_the_history_is_there_after_a_reload(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(town, desk.wallet())
    page = private(browser, town, wallet)
    swapped(page)
    confirmed(page, "swap")
    wallet.asked.clear()
    page.reload()
    page.see(PRIVATE)  # the wallet still has the URL, and the browser the session
    assert "eth_requestAccounts" not in wallet.asked, "it is connected without a question"
    confirmed(page, "swap")
    confirmed(page, "approval")
    page.close()


def test_another_browser_sees_nothing_of_it(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(town, desk.wallet())
    page = private(browser, town, wallet)
    swapped(page)
    confirmed(page, "swap")
    other = browser.page({"w": wallet})
    other.goto(town.facts["baseUrl"] + "/")
    other.click("button", "Connect wallet")
    other.see("None yet.")
    other.see(OF_ANOTHER)
    assert other.count(css(".order")) == 0
    other.close()
    page.close()


def test_wrap_and_unwrap(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(town, desk.wallet(tokens=0))
    page = private(browser, town, wallet)
    page.click("button", "Wrap and unwrap")
    page.fill("Amount in ETH", "1.5")
    page.click("button", "Wrap 1.5 ETH")
    confirmed(page, "wrap")
    assert desk.held(wallet.account, "WETH") == 3 * ETHER // 2
    page.call("click", at=["label", "WETH to ETH"])
    page.fill("Amount in WETH", "0.5")
    page.click("button", "Unwrap 0.5 WETH")
    desk.until(lambda: desk.held(wallet.account, "WETH") == ETHER)
    page.close()


@pytest.mark.parametrize("code", ["", *CODES])
def test_a_cancel(browser: Browser, town: Town, desk: ApiClient, code: str) -> None:
    """Also of a wallet with delegated code (EIP-7702)."""
    wallet = HonestWallet(town, desk.wallet())
    if code:
        delegate(desk, wallet.account, CODES[code])
    page = private(browser, town, wallet)
    quoted(page)
    approved(page)
    with desk.no_blocks():
        page.click("button", SWAP)
        page.click("button", "Cancel order")
        if code == "reverting":
            page.see("the cancel would fail on the latest state", FAULT)
        else:
            page.wait(css(".order[data-kind=cancel]"))
    end = "confirmed" if code == "reverting" else "cancelled"
    page.wait(css(f".order[data-kind=swap][data-status={end}]"))
    assert (desk.held(wallet.account, "WETH") == 1000 * ETHER) == (end == "cancelled")
    page.close()
