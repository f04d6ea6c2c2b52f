"""What a person does with orders and allowances on the wallet page."""

import re

from quietswap.rules.vendors import sushi
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts.pools import WETH
from tests.browser.browser import Browser, Page
from tests.browser.keyboard import tab_to
from tests.browser.locators import css, label, role
from tests.browser.steps import (
    DECLINED,
    FAULT,
    allowed,
    back,
    confirmed,
    opened,
    order,
    private,
    quoted,
    signs,
    to_orders,
    to_wrap,
    under_way,
)
from tests.browser.wallets import HoldingWallet, HonestWallet, RejectingWallet
from tests.e2e.conftest import Town
from tests.e2e.test_refused_and_mined import FAULT as REFUSED
from tests.spec.api_client import ETHER, ApiClient
from tests.waiting import WITHIN_S

SWAPS = css(".order[data-kind=swap]")
SUM = css(".sum")
ROWS = css(".hist summary[data-kind]")
OPEN = css(".hist details[open]")
OLDER = "Older swaps are not in this sum."


def test_a_swap_is_sped_up(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HoldingWallet(town, allowed(desk), "eth_sendTransaction", signs=True)
    page = private(browser, town, wallet, width=360, height=740)
    quoted(page)
    with desk.no_blocks():
        signs(page)
        under_way(page)
        page.see("At least", SWAPS)
        page.reload()  # the browser knows what it sent
        wallet.holds = True
        page.click("button", "Speed up")
        assert wallet.asks.wait(WITHIN_S)
        assert page.count(css(".pair button[aria-disabled=true]")) == 2, "one request at a time"
        wallet.decide.set()
        page.see("Sent 2 times: only one of them can be mined.", SWAPS)
    confirmed(page, "swap")
    page.see("this one was mined", SWAPS)
    page.reload()
    page.see("Sent 2 times: this one was mined.", SWAPS)
    assert desk.held(wallet.account, "WETH") == 999 * ETHER, "one of the two was mined"
    assert page.count(role("button", "Speed up")) == 0
    page.see("Against the quote", order("swap", "confirmed"))
    page.see("Against the pools’ price, before fees", order("swap", "confirmed"))
    to_orders(page)
    page.wait(ROWS)
    assert page.count(ROWS) == 1, "one swap has one row"
    page.close()


def test_the_fee_of_the_cancel_that_was_mined(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    """While a cancel is under way the page offers none; a second one comes from the wallet."""
    wallet = HonestWallet(town, allowed(desk))
    page = private(browser, town, wallet)
    quoted(page)
    with desk.no_blocks():
        signs(page)
        under_way(page)
        page.click("button", "Cancel swap")
        page.see("Cancelling", css(".line"))
        page.wait(role("button", "Cancel swap"), "detached")
        assert page.count(role("button", "Speed up")) == 0
        own = wallet.account.address
        empty = {"from": own, "to": own, "data": "0x", "value": "0x0", "nonce": "0x0"}
        wallet.send(empty | {"maxFeePerGas": hex(900 * 10**9), "maxPriorityFeePerGas": "0x0"})
    page.wait(order("swap", "cancelled"))
    page.see(" ETH", css("section[aria-label='What it cost']"))
    assert "nothing" not in page.text(css(".order[data-kind=swap] .facts"))
    page.close()


def test_a_swap_says_what_it_waits_for(browser: Browser, town: Town, desk: ApiClient) -> None:
    page = private(browser, town, HonestWallet(town, allowed(desk)), width=360, height=740)
    waits = "This is number 1, and waits for number 0 (swap)"
    with desk.no_blocks():
        for amount in ("1", "2"):
            quoted(page, amount)
            signs(page)
            page.see(f"{amount} WETH → USDC", SWAPS)
            if amount == "1":
                back(page)
        page.see(waits, SWAPS)
        page.see("Speed up or cancel number 0 here, and the next one follows.", SWAPS)
        page.see("2", css(".count"))
        assert page.axe() == []
        assert page.overflow() <= 0
        to_orders(page)
        page.see(waits, SWAPS)
    done = css(".hist summary[data-kind=swap][data-status=confirmed]")
    desk.until(lambda: page.count(done) == 2)
    assert not any(waits in text for text in page.texts(SWAPS))
    page.close()


def test_an_allowance_is_revoked(browser: Browser, town: Town, desk: ApiClient) -> None:
    account = desk.wallet()
    for amount in (2**255, 5 * ETHER):
        key = WETH.allowance_key(account.address, sushi.ROUTER)
        desk.rpc("anvil_setStorageAt", WETH.address, key, f"0x{amount:064x}")
        page = private(browser, town, HonestWallet(town, account), width=360, height=740)
        to_orders(page)
        page.see("any amount of WETH" if amount > 2**128 else "5 WETH", css(".allowances"))
        assert page.overflow() <= 0
        page.click("button", "^Revoke WETH of")
        page.wait(css(".hist summary[data-kind=approval][data-status=confirmed]"))
        page.wait(css(".allowances"), "detached")
        page.close()


def test_a_revocation_that_is_declined(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = RejectingWallet(town, allowed(desk), "eth_sendTransaction")
    page = private(browser, town, wallet)
    to_orders(page)
    page.see("any amount of WETH", css(".allowances"))
    assert page.axe() == []
    page.call("click", at=css(".allowances li:first-child button"))
    page.see(DECLINED, FAULT)
    page.close()


def test_a_sum_of_the_swaps(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(town, allowed(desk))
    page = private(browser, town, wallet)
    for _ in range(2):
        quoted(page)
        signs(page)
        confirmed(page, "swap")
        back(page)
    to_orders(page)
    for told in ("Swaps confirmed", "Against their quotes", "Against the pools", "Network fees"):
        page.see(told, SUM)
    page.see("2 of 2, before fees", SUM)
    assert OLDER not in page.text(SUM)
    others = {"from": wallet.account.address, "to": WETH.address, "value": "0x0"}
    data = "0x" + abi.call("approve(address,uint256)", sushi.ROUTER, 0).hex()
    for _ in range(19):
        wallet.send(others | {"data": data})
    page.reload()
    page.see(OLDER, SUM)
    page.click("button", "Older orders")
    desk.until(lambda: OLDER not in page.text(SUM))
    page.close()


def long_ago(page: Page) -> None:
    """Let the orders that are read from now on be months old."""
    page.mangle("2026-01-01T00:00:00.000Z", keep="^(?!createdAt$)[^=]", only="/mev/orders/")


def test_an_order_that_may_still_be_mined_is_not_folded(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    page = private(browser, town, HonestWallet(town, allowed(desk)))
    quoted(page)
    with desk.no_blocks():
        with desk.fault(REFUSED, "relay"):
            signs(page)
            page.see("Failed, but not over", SWAPS)
            page.see("It may still be mined", SWAPS)
            assert page.is_enabled("button", "Cancel swap")
        long_ago(page)
        page.reload()
        page.see("Failed, but not over", SWAPS)
        to_orders(page)
        page.see("It may still be mined", OPEN)
    page.wait(css(".hist summary[data-kind=swap][data-status=confirmed]"))
    page.close()


def test_orders_that_ended_before_are_one_line_each(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HonestWallet(town, allowed(desk))
    page = private(browser, town, wallet, width=360, height=740, scheme="dark")
    quoted(page)
    signs(page)
    confirmed(page, "swap")
    page.see("Against the quote", SWAPS)
    back(page)
    to_wrap(page, "1.5")
    page.click("button", "Wrap 1.5 ETH")
    confirmed(page, "wrap")
    assert "%" not in page.text(order("wrap")), "a wrap promises nothing"
    back(page)
    long_ago(page)
    page.reload()
    to_orders(page)
    page.wait(css(".hist summary[data-kind=wrap]"))
    assert page.count(OPEN) == 0
    [swap] = page.texts(css(".hist summary[data-kind=swap] b"))
    assert re.match(r"1 WETH → 2,9\d\d\.\d+ USDC", swap)
    assert page.texts(css(".hist summary[data-kind=wrap] b")) == ["Wrapped 1.5 ETH"]
    assert page.overflow() <= 0
    tab_to(page, "^.*1 WETH → ")
    page.press("Enter")
    page.see("Against the quote", OPEN)
    assert page.axe() == []
    assert page.overflow() <= 0
    page.close()


RICH = "5000000000000"
"""More than the pools' price of any swap of these tests, in units of USDC."""


def test_the_ruler_names_what_arrived_once(browser: Browser, town: Town, desk: ApiClient) -> None:
    """Also where nothing is above it, as when the pools' price was not read."""
    page = private(browser, town, HonestWallet(town, allowed(desk)))
    quoted(page)
    signs(page)
    confirmed(page, "swap")
    page.see("Minimum", css(".ruler"))  # pools’ price is named where it is above what arrived
    page.mangle(RICH, keep="^(?!amount$)[^=]", only="/mev/orders/ord")
    page.reload()
    page.see("Received 5,000,000", css(".ruler"))
    assert page.text(css(".ruler")).count("Received") == 1
    assert page.axe() == []
    page.close()


def test_a_nonce_that_was_used_elsewhere_is_named(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HonestWallet(town, allowed(desk))
    page = private(browser, town, wallet, width=360, height=740)
    quoted(page)
    town.fault("relay", "withhold")
    try:
        signs(page)
        under_way(page)
        used = desk.use_nonce(wallet.account, 0, data="0x00")
    finally:
        town.heal("relay")
    what = (
        "its number in your wallet (nonce 0) was used by a transaction that is not one of these"
        f" orders: {used}"
    )
    page.see("Another transaction took its place", SWAPS)
    page.see(what, SWAPS)
    page.see(f"Swap: Cancelled: {what}", css(".news"))
    assert page.overflow() <= 0
    page.close()


def test_older_orders_are_read_page_by_page(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(town, desk.wallet())
    page = private(browser, town, wallet)
    to_orders(page)
    data = "0x" + abi.call("approve(address,uint256)", sushi.ROUTER, 0).hex()
    revoked = {"from": wallet.account.address, "to": WETH.address, "data": data, "value": "0x0"}
    orders = css(".hist summary[data-kind=approval][data-status=submitted]")
    with desk.no_blocks():  # a later event would bring an older order by itself
        for _ in range(21):
            wallet.send(revoked)
        desk.until(lambda: page.count(orders) == 21)
        page.reload()
        page.wait(role("button", "Older orders"))
        assert page.count(orders) == 20
        wallet.send(revoked)
        desk.until(lambda: page.count(orders) == 21)
        page.click("button", "Older orders")
        desk.until(lambda: page.count(orders) == 22)
        [older] = [url for url in page.call("evaluate", expression=READ) if "offset=20" in url]
        assert "asOf=21" in older, "the newest one moves no page"
    page.wait(role("button", "Older orders"), "detached")
    page.close()


READ = "performance.getEntriesByType('resource').map(({ name }) => name)"
GROUND = "getComputedStyle(document.body).backgroundColor"


DARK = css("html[data-colours=dark]")


def test_colours_are_chosen_and_remembered(browser: Browser, town: Town) -> None:
    page = opened(browser, town, None, scheme="light")
    light = page.call("evaluate", expression=GROUND)
    page.call("select", at=label("Colours"), text="dark")
    page.wait(DARK)
    dark = page.call("evaluate", expression=GROUND)
    assert dark != light
    page.reload()
    page.wait(DARK)
    assert page.call("evaluate", expression=GROUND) == dark
    assert page.axe() == []
    page.call("select", at=label("Colours"), text="system")
    page.wait(DARK, "detached")
    assert page.call("evaluate", expression=GROUND) == light
    page.close()
