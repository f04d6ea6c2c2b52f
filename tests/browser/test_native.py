"""A person sells or buys ETH: two transactions that the page treats as one swap."""

import json

import pytest

from quietswap.sandbox.contracts.pools import WETH
from tests.browser.browser import Browser, Page
from tests.browser.locators import css, label, role
from tests.browser.steps import FAULT, SWAP, approved, confirmed, private, quoted
from tests.browser.wallets import HoldingWallet, HonestWallet
from tests.e2e.conftest import Town
from tests.spec.api_client import ETHER, ApiClient
from tests.waiting import WITHIN_S

pytestmark = pytest.mark.xdist_group("browser")


NO_PAINT = """(() => {
  const later = setTimeout.bind(window)
  window.requestAnimationFrame = () => 0
  window.setTimeout = (done, ms, ...rest) => (0 < ms && ms < 100 ? 0 : later(done, ms, ...rest))
})()"""
"""No frame comes any more, as on a page too busy for one: effects that wait for it are late."""


def chosen(page: Page, field: str, text: str) -> None:
    """Choose the first token that is found by `text`."""
    page.fill(field, text)
    page.wait(css("[role=option]"))
    page.press("Enter")


def sells_eth(page: Page) -> None:
    """Quote the sale of 1 ETH, and wrap it."""
    chosen(page, "Sell token", "eth")
    assert page.call("value", at=label("Sell token")) == "ETH"
    quoted(page)
    page.see("Two steps", css(".decision"))
    assert page.count(role("button", SWAP)) == 0
    page.click("button", "Wrap 1 ETH")


def test_eth_is_sold_in_two_steps(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(town, desk.wallet(tokens=0))
    page = private(browser, town, wallet)
    sells_eth(page)
    confirmed(page, "wrap")
    approved(page)
    assert page.axe() == []
    page.click("button", SWAP)
    confirmed(page, "swap")
    assert desk.held(wallet.account, "WETH") == 0
    assert desk.held(wallet.account, "USDC") > 0
    assert page.count(css("#second")) == 0
    page.close()


def test_a_sale_of_eth_goes_on_after_a_reload(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HonestWallet(town, desk.wallet(tokens=0))
    page = private(browser, town, wallet, width=360, height=740)
    with desk.no_blocks():
        sells_eth(page)
        page.see("Step 1 of 2 is under way")
        assert page.count(role("button", "Wrap 1 ETH")) == 0, "it is wrapped once"
        page.reload()
        page.see("Step 1 of 2 is under way")
    page.see("You wrapped 1 ETH for a swap")
    assert page.axe() == []
    assert page.overflow() <= 0
    page.click("button", "Fill in the swap")
    assert page.call("value", at=label("Sell token")) == "WETH"
    page.click("button", "Get quote")
    approved(page)
    page.click("button", SWAP)
    confirmed(page, "swap")
    assert desk.held(wallet.account, "USDC") > 0
    page.reload()
    page.see("Your orders")
    assert page.count(css("#second")) == 0
    page.close()


def test_eth_is_bought_in_two_steps(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(town, desk.wallet())
    page = private(browser, town, wallet)
    chosen(page, "Sell token", "USDC")
    chosen(page, "Buy token", "ETH")
    quoted(page, "1000")
    page.see("then you unwrap it to ETH", css(".decision"))
    approved(page, "1,000", "USDC")
    page.click("button", SWAP + r".* WETH$")
    page.see("Step 1 of 2 is under way")
    page.see("The swap brought")
    before = desk.held(wallet.account, "WETH")
    assert before > 1000 * ETHER
    page.reload()
    page.click("button", "^Unwrap [0-9]")
    confirmed(page, "wrap")
    desk.until(lambda: desk.held(wallet.account, "WETH") == 1000 * ETHER)
    assert page.count(css("#second")) == 0
    page.close()


def ready_to_buy_eth(page: Page) -> None:
    """Quote and approve the swap of 1000 USDC that buys ETH."""
    chosen(page, "Sell token", "USDC")
    chosen(page, "Buy token", "ETH")
    quoted(page, "1000")
    approved(page, "1,000", "USDC")


def test_a_wallet_is_asked_for_one_transaction_at_a_time(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HoldingWallet(town, desk.wallet(tokens=0), "eth_sendTransaction")
    page = private(browser, town, wallet)
    wallet.holds = True
    sells_eth(page)
    assert wallet.asks.wait(WITHIN_S)
    page.click("button", "Wrap and unwrap")
    page.fill("Amount in ETH", "1")
    page.click("button", "Wrap 1 ETH")
    page.see("Your wallet still asks for another transaction", FAULT)
    page.click("button", "Swap")
    page.see("In your wallet, confirm: wrap 1 ETH")
    page.call("evaluate", expression=NO_PAINT)
    page.fill("You sell", "2")
    page.see("You changed the form. Your wallet still asks")
    assert not page.is_enabled("button", "Get quote")
    wallet.decide.set()
    page.see("You declined it in your wallet. Nothing was sent.", css("main > [role=alert]"))
    assert page.is_enabled("button", "Get quote")
    assert wallet.asked.count("eth_sendTransaction") == 1
    page.reload()
    page.see("None yet.")
    assert page.count(css("#second")) == 0
    page.close()


def test_the_second_step_follows_a_swap_that_is_sped_up(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    page = private(browser, town, HonestWallet(town, desk.wallet()))
    ready_to_buy_eth(page)
    with desk.no_blocks():
        page.click("button", SWAP)
        for times in (2, 3):
            page.click("button", "Speed up")
            page.see(f"Sent {times} times", css(".order[data-kind=swap]"))
            page.see("Step 1 of 2 is under way")
    page.see("The swap brought")
    page.close()


def test_an_unwrap_that_was_made_elsewhere_ends_the_second_step(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HonestWallet(town, desk.wallet())
    page = private(browser, town, wallet)
    ready_to_buy_eth(page)
    page.click("button", SWAP)
    page.see("The swap brought")
    arrived = desk.held(wallet.account, "WETH") - 1000 * ETHER
    data = f"0x2e1a7d4d{arrived:064x}"
    fields = {"from": wallet.account.address, "to": WETH.address, "data": data, "value": "0x0"}
    wallet.send(fields)
    page.wait(css("#second"), "hidden")
    page.close()


def test_a_reload_while_the_wallet_asks_forgets_no_second_step(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HoldingWallet(town, desk.wallet(tokens=0), "eth_sendTransaction", signs=True)
    page = private(browser, town, wallet)
    page.see("None yet.")
    wallet.holds = True
    sells_eth(page)
    assert wallet.asks.wait(WITHIN_S)
    page.reload()
    page.see("Your wallet was asked to wrap 1 ETH for a swap.", css("[aria-labelledby=second]"))
    assert page.axe() == []
    assert page.count(role("button", "Wrap 1 ETH")) == 0, "it is wrapped once"
    wallet.decide.set()
    page.see("You wrapped 1 ETH for a swap")
    page.click("button", "Fill in the swap")
    assert page.call("value", at=label("Sell token")) == "WETH"
    page.close()


def test_a_request_that_is_declined_after_a_reload(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HoldingWallet(town, desk.wallet(), "eth_sendTransaction")
    page = private(browser, town, wallet)
    ready_to_buy_eth(page)
    wallet.holds = True
    page.click("button", SWAP)
    assert wallet.asks.wait(WITHIN_S)
    page.reload()
    page.see("Your wallet was asked for a swap that brings WETH")
    wallet.decide.set()
    page.click("button", "It asks no more")
    page.wait(css("#second"), "hidden")
    page.close()


def test_a_remembered_swap_that_the_service_does_not_know_is_dropped(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HonestWallet(town, desk.wallet())
    page = private(browser, town, wallet)
    flow = {
        "address": wallet.account.address.lower(), "first": "wrap", "orderId": "ord_none",
        "sell": WETH.address, "buy": WETH.address, "amount": "1", "units": "1", "after": "",
    }  # fmt: skip
    memory = f"localStorage.setItem('quietswap.native', '{json.dumps(flow)}')"
    page.call("evaluate", expression=memory)
    page.reload()
    page.see("Your orders")
    page.wait(css("#second"), "hidden")
    page.close()


def test_a_person_keeps_the_weth(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(town, desk.wallet(tokens=0))
    page = private(browser, town, wallet)
    sells_eth(page)
    page.click("button", "Keep the WETH")
    page.reload()
    confirmed(page, "wrap")
    assert page.count(css("#second")) == 0
    page.close()


def test_max_leaves_eth_for_gas(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(town, desk.wallet())
    page = private(browser, town, wallet)
    chosen(page, "Sell token", "ether")
    page.click("button", "Max")
    assert page.call("value", at=label("You sell")) == "99.99"
    chosen(page, "Buy token", WETH.address)
    page.see("ETH becomes WETH in “Wrap and unwrap”")
    page.close()


@pytest.mark.parametrize("broken", ["{", '{"first": "wrap"}', "null", "[]", '{"first": 1}'])
def test_a_broken_memory_of_a_swap_is_dropped(
    browser: Browser, town: Town, desk: ApiClient, broken: str
) -> None:
    page = private(browser, town, HonestWallet(town, desk.wallet()))
    page.call("evaluate", expression=f"localStorage.setItem('quietswap.native', '{broken}')")
    page.reload()
    page.see("None yet.")
    assert page.count(css("#second")) == 0
    assert page.count(FAULT) == 0
    page.close()
