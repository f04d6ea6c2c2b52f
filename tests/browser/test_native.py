"""A person sells or buys ETH: two transactions that the page treats as one swap."""

import json
import re
from decimal import Decimal
from typing import Any

from quietswap.sandbox.contracts.pools import WETH
from tests.browser.browser import Browser, Page
from tests.browser.locators import css, role
from tests.browser.steps import (
    DECLINED,
    FAULT,
    GO,
    PRIVATE,
    REVIEW,
    allowed,
    choose,
    confirmed,
    private,
    quoted,
    signs,
    state,
    to_orders,
    typed,
)
from tests.browser.wallets import Fields, HoldingWallet, HonestWallet
from tests.e2e.conftest import Town
from tests.spec.api_client import ETHER, ApiClient
from tests.waiting import WITHIN_S
from tests.web.test_trade import FEES_OF_ALL

NO_PAINT = """(() => {
  const later = setTimeout.bind(window)
  window.requestAnimationFrame = () => 0
  window.setTimeout = (done, ms, ...rest) => (0 < ms && ms < 100 ? 0 : later(done, ms, ...rest))
})()"""
"""No frame comes any more, as on a page too busy for one: effects that wait for it are late."""


def sells_eth(page: Page) -> None:
    """Quote the sale of 1 ETH, and wrap it."""
    choose(page, "Pay with", "ETH")
    quoted(page)
    state(page, "eth")
    assert page.texts(css(".steps li")) == ["Wrap 1 ETH", "Approve 1 WETH", "Swap"]
    assert page.count(role("button", REVIEW)) == 0
    page.see("Network fee of the swap", css(".rate"))
    page.see("usually at most")
    page.see("ETH for all 3 transactions")
    page.click("button", WRAP)


WRAP = "Step 1 of 3: wrap 1 ETH"
SECOND = css(".second")


def approves_and_swaps(page: Page) -> None:
    """Sign what is left after the wrap."""
    page.click("button", "^(Step 2 of 3: approve|Approve) exactly 1 WETH")
    signs(page)
    confirmed(page, "swap")


def test_eth_is_sold_in_two_steps(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(town, desk.wallet(tokens=0))
    page = private(browser, town, wallet)
    sells_eth(page)
    page.see("Step 2 of 3: approve exactly 1 WETH", GO)
    assert page.axe() == []
    assert page.texts(css(".steps .done")) == ["Wrap 1 ETH"]
    approves_and_swaps(page)
    page.see("for 1 ETH, wrapped first", css(".got"))
    page.see("Wrapped 1 ETH", css(".line"))
    page.see("with the wrap and the approval 0.00", css(".facts"))
    to_orders(page)
    page.see("1 ETH →", css(".hist summary[data-kind]"))
    page.see("Wrap, approval, swap", css(".hist summary[data-kind]"))
    assert page.count(css(".hist summary[data-kind]")) == 1, "a swap with its steps is one row"
    assert desk.held(wallet.account, "WETH") == 0
    assert desk.held(wallet.account, "USDC") > 0
    assert page.count(SECOND) == 0
    page.close()


class CountingWallet(HonestWallet):
    """Adds up what the transactions that it signs may cost in gas."""

    most = 0

    def filled(self, fields: Fields) -> Fields:
        each = super().filled(fields)
        self.most += each["gas"] * each["maxFeePerGas"]
        return each


def test_all_steps_of_a_sale_of_eth_cost_at_most_what_is_named(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    """The fee cap of a wrap is a higher multiple of the base fee than that of a swap."""
    wallet = CountingWallet(town, allowed(desk))
    page = private(browser, town, wallet)
    choose(page, "Pay with", "ETH")
    quoted(page)
    page.see("at most")
    named = re.search(r"(.{8})at most ([0-9.]+) ETH for both", page.text(), re.DOTALL)
    assert named is not None
    assert "usually" not in named[1]
    page.click("button", "Wrap 1 ETH")
    signs(page)
    confirmed(page, "swap")
    assert wallet.asked.count("eth_sendTransaction") == 2
    assert wallet.most <= Decimal(named[2]) * ETHER
    page.close()


def test_a_sale_of_eth_goes_on_after_a_reload(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HonestWallet(town, desk.wallet(tokens=0))
    page = private(browser, town, wallet, width=360, height=740)
    with desk.no_blocks():
        sells_eth(page)
        page.see("Wrap 1 ETH: waiting for a block…", GO)
        assert page.texts(css(".steps li")) == ["Wrap 1 ETH", "Approve 1 WETH", "Swap"]
        assert page.texts(css(".steps .now")) == ["Wrap 1 ETH"], "no block has it"
        page.see("Sent privately", css(".step-wait"))
        page.see("Then you sign the next step here: Approve 1 WETH.", css(".step-wait"))
        page.see("If no block takes it")
        page.goto(f"{town.facts['baseUrl']}/?amount=1")
        page.see("Step 1 of 2 is under way")
        page.see("Your ETH is being wrapped…", GO)
        assert page.count(role("button", WRAP)) == 0, "it is wrapped once"
    page.see("You wrapped 1 ETH for a swap")
    assert page.axe() == []
    assert page.overflow() <= 0
    page.click("button", "Fill in the swap")
    page.wait(role("button", "^Pay with: WETH"))
    approves_and_swaps(page)
    assert desk.held(wallet.account, "USDC") > 0
    page.reload()
    to_orders(page)
    page.wait(css(".it[data-kind=swap][data-status=confirmed]"))
    page.click("link", "^Swap")
    page.wait(css(".order[data-kind=swap], .card .go"))
    assert page.count(SECOND) == 0
    page.close()


def test_eth_is_bought_in_two_steps(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(town, desk.wallet())
    page = private(browser, town, wallet)
    ready_to_buy_eth(page)
    assert page.texts(css(".steps li")) == ["Approve 1,000 USDC", "Swap", "Unwrap"]
    signs(page)
    page.see("The swap brought")
    before = desk.held(wallet.account, "WETH")
    assert before > 1000 * ETHER
    page.reload()
    page.click("button", "^Unwrap [0-9]")
    state(page, "wrap")
    page.click("button", "^Unwrap [0-9.]+ WETH$")
    confirmed(page, "wrap")
    desk.until(lambda: desk.held(wallet.account, "WETH") == 1000 * ETHER)
    page.wait(SECOND, "detached")
    page.close()


def ready_to_buy_eth(page: Page) -> None:
    """Quote and approve the swap of 1000 USDC that buys ETH."""
    choose(page, "Pay with", "USDC")
    choose(page, "Receive", "ETH")
    quoted(page, "1000")
    page.click("button", "^(Step 1 of 3: approve|Approve) exactly 1,000 USDC")
    page.wait(role("button", REVIEW))


def test_a_wallet_is_asked_for_one_transaction_at_a_time(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    """What it declines is told after an edit, too, and before the browser draws a frame."""
    wallet = HoldingWallet(town, desk.wallet(tokens=0), "eth_sendTransaction")
    page = private(browser, town, wallet)
    wallet.holds = True
    sells_eth(page)
    assert wallet.asks.wait(WITHIN_S)
    page.see("Waiting for your signature…", GO)
    page.call("evaluate", expression=NO_PAINT)
    page.fill("You pay", "2")
    page.see("You changed the form")
    page.see("W Wallet still asks for the earlier one, to wrap 1 ETH: decline it there.")
    page.see("Waiting for your signature…", GO)
    assert page.count(GO) == 1
    wallet.decide.set()
    page.see(DECLINED, FAULT)
    assert wallet.asked.count("eth_sendTransaction") == 1
    page.reload()
    page.wait(PRIVATE)
    to_orders(page)
    page.see("None yet.")
    assert page.count(SECOND) == 0
    page.close()


def test_another_page_part_asks_the_wallet_after_it_has_answered(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HoldingWallet(town, allowed(desk), "eth_sendTransaction")
    page = private(browser, town, wallet)
    quoted(page)
    wallet.holds = True
    signs(page)
    assert wallet.asks.wait(WITHIN_S)
    page.press("Escape")  # closing it never answers the wallet
    to_orders(page)
    page.call("click", at=css(".allowances li:first-child button"))
    page.see("Your wallet still asks for another transaction", FAULT)
    wallet.decide.set()
    page.click("link", "Swap")
    page.see(DECLINED, FAULT)
    assert wallet.asked.count("eth_sendTransaction") == 1
    page.close()


class DoublingWallet(HonestWallet):
    """Signs twice the ETH that it was asked for."""

    def filled(self, fields: dict[str, Any]) -> dict[str, Any]:
        return super().filled(fields | {"value": 2 * fields.get("value", 0)})


def test_a_wallet_that_wraps_another_amount(browser: Browser, town: Town, desk: ApiClient) -> None:
    """It was wrapped all the same: the swap follows, and nothing is wrapped again."""
    wallet = DoublingWallet(town, desk.wallet(tokens=0))
    page = private(browser, town, wallet)
    sells_eth(page)
    page.see("2 instead of 1 ETH", FAULT)
    wraps = "Your wallet wrapped 2 ETH in place of 1."
    page.see(wraps, SECOND)
    page.wait(role("button", "^Pay with: WETH"))
    page.wait(role("button", "^Approve exactly 1 WETH"))
    page.see("2 instead of 1 ETH", FAULT)
    page.goto(f"{town.facts['baseUrl']}/?amount=1")
    page.see(wraps, SECOND)
    page.wait(role("button", "^Approve exactly 1 WETH|Fill in"))
    assert page.count(role("button", WRAP)) == 0
    assert desk.held(wallet.account, "WETH") == 2 * ETHER
    page.close()


def test_the_second_step_follows_a_swap_that_is_sped_up(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    page = private(browser, town, HonestWallet(town, desk.wallet()))
    ready_to_buy_eth(page)
    with desk.no_blocks():
        signs(page)
        for times in (2, 3):
            page.click("button", "Speed up")
            page.see(f"Sent {times} times", css(".order[data-kind=swap]"))
            page.see("Step 1 of 2 is under way", SECOND)
    page.see("The swap brought")
    page.close()


def test_an_unwrap_that_was_made_elsewhere_ends_the_second_step(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HonestWallet(town, desk.wallet())
    page = private(browser, town, wallet)
    ready_to_buy_eth(page)
    signs(page)
    page.see("The swap brought")
    arrived = desk.held(wallet.account, "WETH") - 1000 * ETHER
    data = f"0x2e1a7d4d{arrived:064x}"
    fields = {"from": wallet.account.address, "to": WETH.address, "data": data, "value": "0x0"}
    wallet.send(fields)
    page.wait(SECOND, "detached")
    page.close()


def test_an_unwrap_of_what_was_wrapped_ends_the_second_step(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HonestWallet(town, desk.wallet(tokens=0))
    page = private(browser, town, wallet)
    with desk.no_blocks():
        sells_eth(page)
        page.see("Wrap 1 ETH: waiting for a block…", GO)
        page.reload()
    page.see("You wrapped 1 ETH for a swap", SECOND)
    data = f"0x2e1a7d4d{ETHER:064x}"
    fields = {"from": wallet.account.address, "to": WETH.address, "data": data, "value": "0x0"}
    wallet.send(fields)
    page.wait(SECOND, "detached")
    page.close()


def test_a_reload_while_the_wallet_asks_forgets_no_second_step(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HoldingWallet(town, desk.wallet(tokens=0), "eth_sendTransaction", signs=True)
    page = private(browser, town, wallet)
    to_orders(page)
    page.see("None yet.")
    page.click("link", "Swap")
    wallet.holds = True
    sells_eth(page)
    assert wallet.asks.wait(WITHIN_S)
    page.reload()
    page.see("Your wallet was asked to wrap 1 ETH for a swap.", SECOND)
    assert page.axe() == []
    assert page.count(role("button", WRAP)) == 0, "it is wrapped once"
    wallet.decide.set()
    page.see("You wrapped 1 ETH for a swap")
    page.click("button", "Fill in the swap")
    page.wait(role("button", "^Pay with: WETH"))
    page.close()


def test_a_request_that_is_declined_after_a_reload(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HoldingWallet(town, desk.wallet(), "eth_sendTransaction")
    page = private(browser, town, wallet)
    ready_to_buy_eth(page)
    wallet.holds = True
    signs(page)
    assert wallet.asks.wait(WITHIN_S)
    page.reload()
    page.see("Your wallet was asked for a swap that brings WETH")
    wallet.decide.set()
    page.click("button", "It asks no more")
    page.wait(SECOND, "detached")
    page.close()


def test_a_person_keeps_the_weth(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(town, desk.wallet(tokens=0))
    page = private(browser, town, wallet)
    with desk.no_blocks():
        sells_eth(page)
        page.see("waiting for a block", GO)
        page.reload()
    page.click("button", "Keep the WETH")
    page.reload()
    to_orders(page)
    page.wait(css(".hist summary[data-kind=wrap][data-status=confirmed]"))
    page.click("link", "Swap")
    assert page.count(SECOND) == 0
    page.close()


def test_max_leaves_eth_for_gas(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(town, desk.wallet())
    page = private(browser, town, wallet)
    choose(page, "Pay with", "ether")
    page.click("button", "Max")
    assert typed(page) == "99.99"
    page.fill("You pay", "99.995")
    page.see("Too little ETH may be left for the fee.")
    page.fill("You pay", "99.9999")
    page.see(FEES_OF_ALL, GO)
    page.fill("You pay", "101")
    page.see("You have 100 ETH.")
    page.see("Not enough ETH", GO)
    page.close()


def test_a_broken_memory_of_a_swap_is_dropped(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    """Also one of a swap that the service does not know."""
    account = desk.wallet()
    page = private(browser, town, HonestWallet(town, account))
    unknown = {
        "address": account.address.lower(), "first": "wrap", "orderId": "ord_none",
        "sell": WETH.address, "buy": WETH.address, "amount": "1", "units": "1", "after": "",
    }  # fmt: skip
    for broken in ("{", '{"first": "wrap"}', "null", json.dumps(unknown)):
        page.call("evaluate", expression=f"localStorage.setItem('quietswap.native', '{broken}')")
        page.reload()
        page.wait(PRIVATE)
        page.wait(SECOND, "detached")
        assert page.count(FAULT) == 0
    to_orders(page)
    page.see("None yet.")
    page.click("link", "Swap")
    assert page.count(SECOND) == 0
    assert page.count(FAULT) == 0
    page.close()
