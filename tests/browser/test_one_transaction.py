"""ETH in one transaction of a wallet that batches calls (EIP-5792): one signature, or the steps."""

from collections.abc import Mapping
from typing import Any

import pytest

from quietswap.sandbox.contracts.pools import TOKENS, USDC, WETH
from tests.batches import Call, deposit, withdraw
from tests.browser.batching import (
    SEND,
    STATUS,
    BatchingWallet,
    FailingBatches,
    HoldingBatches,
    WrappingMore,
    delegated_account,
)
from tests.browser.browser import Browser, Page
from tests.browser.keyboard import tab_to
from tests.browser.locators import css, role
from tests.browser.steps import (
    CONFIRM,
    DECLINED,
    FAULT,
    GO,
    WAS_ASKED,
    choose,
    confirmed,
    private,
    quoted,
    state,
    to_orders,
)
from tests.browser.steps import STATUS as SAID
from tests.browser.test_calls import (
    BOTH,
    KEPT,
    LATER,
    NAMES,
    NOT_SENT,
    ORDER,
    TO_SIGN,
    UNKNOWN,
    again,
    confirms,
    is_stuck,
)
from tests.browser.test_native import WRAP
from tests.browser.wallets import REJECTED
from tests.e2e.conftest import Town
from tests.e2e.test_batched import allowance, count
from tests.e2e.test_batched_eth import ether
from tests.spec.api_client import ETHER, ApiClient
from tests.waiting import WITHIN_S

STEPS = css(".steps li")
SEPARATE = "In separate steps instead"
ONCE = "1 signature: wrap, approve and swap."
NATIVE = "localStorage['quietswap.native'] || ''"
"""What the page keeps of a swap with ETH in two steps."""


class Watched(BatchingWallet):
    """Keeps the calls that it was asked for."""

    def __init__(self, town: Town, account: Any) -> None:
        super().__init__(town, account)
        self.shown: list[Call] = []

    def calls(self, wanted: Mapping[str, Any]) -> list[Call]:
        self.shown = super().calls(wanted)
        return self.shown


def sells_ether(browser: Browser, town: Town, wallet: BatchingWallet, **look: Any) -> Page:
    """Open the page with a quote for 1 ETH, which a wallet without WETH can sell at once."""
    page = private(browser, town, wallet, path="/", **look)
    quoted(page)
    return page


def buys_ether(browser: Browser, town: Town, wallet: BatchingWallet, **look: Any) -> Page:
    page = private(browser, town, wallet, **look)
    choose(page, "Pay with", "USDC")
    choose(page, "Receive", "ETH")
    quoted(page, "500")
    return page


def followed(page: Page) -> dict[str, Any]:
    """Return the order that the page follows, as the service has it."""
    name = page.attribute(ORDER, "data-order")
    expression = f"fetch('/api/v1/mev/orders/{name}').then((a) => a.json()).then((a) => a.data)"
    found: dict[str, Any] = page.call("evaluate", expression=expression)
    return found


def test_one_question_wraps_approves_and_swaps(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    """By the keyboard, on a phone, from a wallet with ETH only."""
    account = delegated_account(desk, tokens=0)
    wallet = Watched(town, account)
    page = sells_ether(browser, town, wallet, width=360, height=740)
    page.wait(role("button", BOTH))
    state(page, "ready")
    page.see(ONCE)
    assert page.count(STEPS) == 0, "one step is no list"
    assert page.axe() == []
    assert page.overflow() <= 0
    router = page.attribute(css(".facts code"), "title") or ""
    before = ether(desk, account)
    tab_to(page, BOTH)
    page.press("Enter")
    page.see("1 ETH", css("dialog .terms"))
    assert page.axe() == []
    assert page.overflow() <= 0
    tab_to(page, CONFIRM)
    page.press("Enter")
    confirmed(page, "swap")
    page.see("for 1 ETH", ORDER)
    assert page.axe() == []
    assert page.overflow() <= 0
    wrap, approval, swap = wallet.shown
    assert wrap == deposit(ETHER)
    assert (approval[:2], swap[:2]) == ((WETH.address, 0), (router, 0))
    end = followed(page)
    assert (end["conversion"], TO_SIGN in wallet.asked) == ("wrap", False)
    assert ether(desk, account) == before - ETHER - int(end["feePaidWei"])
    assert desk.held(account, "USDC") == int(end["received"]["amount"])
    assert (desk.held(account, "WETH"), count(desk, account)) == (0, 1)
    assert allowance(desk, account, WETH, router) == 0
    assert page.call("evaluate", expression=NATIVE) == ""
    to_orders(page)
    page.see("1 ETH →", css(".hist summary"))
    page.close()


def test_one_question_swaps_and_unwraps_the_minimum(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    """What is above the minimum stays WETH: said before, and counted by the service after it."""
    account = delegated_account(desk)
    desk.give(account, TOKENS["WETH"], 0)
    wallet = Watched(town, account)
    page = buys_ether(browser, town, wallet)
    page.wait(role("button", BOTH))
    page.see("1 signature: approve, swap and unwrap.")
    page.see("What is above the minimum stays WETH.")
    page.see("ETH, or it fails.")
    before = ether(desk, account)
    page.click("button", BOTH)
    page.see("What is above the minimum stays WETH", css("dialog .terms"))
    page.click("button", CONFIRM)
    confirmed(page, "swap")
    end = followed(page)
    least, received = int(end["received"]["unwrapped"]), int(end["received"]["amount"])
    assert wallet.shown[2] == withdraw(least)
    assert end["conversion"] == "unwrap"
    assert ether(desk, account) == before + least - int(end["feePaidWei"])
    assert desk.held(account, "WETH") == received - least > 0
    page.see(" ETH and ", css(".got .big"))
    page.see("WETH", css(".got .big"))
    assert page.axe() == []
    assert count(desk, account) == 1
    assert page.call("evaluate", expression=NATIVE) == "", "nothing is left to unwrap"
    assert allowance(desk, account, USDC, wallet.shown[1][0]) == 0
    page.close()


@pytest.mark.parametrize("why", ["ready", "chosen"])
def test_any_other_wallet_signs_the_steps(
    browser: Browser, town: Town, desk: ApiClient, why: str
) -> None:
    account = delegated_account(desk, tokens=0)
    wallet = BatchingWallet(town, account)
    if why == "ready":
        wallet.atomic = why
    page = sells_ether(browser, town, wallet)
    if why == "chosen":
        page.click("button", SEPARATE)
    page.wait(role("button", WRAP))
    state(page, "eth")
    assert page.texts(STEPS) == ["Wrap 1 ETH", "Approve 1 WETH", "Swap"]
    assert page.count(role("button", BOTH)) == 0
    if why == "chosen":
        page.click("button", WRAP)
        page.see("Step 2 of 3: approve exactly 1 WETH", GO)
        assert desk.held(account, "WETH") == ETHER
        assert page.count(role("button", SEPARATE)) == 0, "what was chosen holds for all steps"
    assert SEND not in wallet.asked
    page.close()


def test_a_person_declines_and_is_asked_again(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    account = delegated_account(desk, tokens=0)
    wallet = FailingBatches(town, account)
    wallet.code = REJECTED
    page = sells_ether(browser, town, wallet)
    page.wait(role("button", BOTH))
    confirms(page)
    page.see(DECLINED, FAULT)
    assert page.is_enabled("button", CONFIRM)
    assert UNKNOWN not in page.text()
    assert page.call("evaluate", expression=NATIVE) == ""
    assert (wallet.sent, count(desk, account)) == ([], 0)
    page.close()


def test_a_wallet_that_wraps_more_is_refused(browser: Browser, town: Town, desk: ApiClient) -> None:
    account = delegated_account(desk, tokens=0)
    page = sells_ether(browser, town, WrappingMore(town, account))
    page.wait(role("button", BOTH))
    confirms(page)
    page.see("not sent anywhere", FAULT)
    is_stuck(page)
    to_orders(page)
    page.see("None yet.")
    assert (count(desk, account), desk.held(account, "WETH")) == (0, 0)
    page.close()


def test_a_reload_while_it_is_pending_follows_it(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    account = delegated_account(desk, tokens=0)
    wallet = BatchingWallet(town, account)
    page = sells_ether(browser, town, wallet)
    page.wait(role("button", BOTH))
    with desk.no_blocks():
        confirms(page)
        page.wait(ORDER)
        # the page has the wallet's name of the batch: it broadcasts before it answers
        desk.until(lambda: page.call("evaluate", expression=NAMES) == list(wallet.batches))
        wallet.asked.clear()
        again(page)
        desk.until(lambda: STATUS in wallet.asked)
        page.wait(ORDER)
        page.see("1 ETH", ORDER)
        assert page.count(css(".second")) == 0
        assert page.call("evaluate", expression=KEPT) != []
    confirmed(page, "swap")
    desk.until(lambda: page.call("evaluate", expression=KEPT) == [])
    assert (SEND in wallet.asked, count(desk, account)) == (False, 1)
    page.close()


def test_a_reload_while_the_wallet_asks_wraps_nothing_twice(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    """The page gets no answer; another tab waits, too; then the person confirms."""
    account = delegated_account(desk, tokens=0)
    wallet = HoldingBatches(town, account)
    page = sells_ether(browser, town, wallet)
    page.wait(role("button", BOTH))
    confirms(page)
    assert wallet.asks.wait(WITHIN_S)
    other = browser.page({"w": wallet}, like=page)
    for one in (page, other):
        one.goto(town.facts["baseUrl"] + "/?amount=1")
        is_stuck(one)
        assert one.count(role("button", WRAP)) == 0
    wallet.decide.set()
    for one in (page, other):
        one.wait(WAS_ASKED, "detached")
    other.close()
    to_orders(page)
    page.wait(css(".hist summary[data-kind=swap][data-status=confirmed]"))
    assert wallet.asked.count(SEND) == 1
    assert (count(desk, account), desk.held(account, "WETH")) == (1, 0)
    assert desk.held(account, "USDC") > 0
    page.close()


def test_an_uncertain_answer_is_followed_by_no_second_question(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    """Neither one transaction nor a wrap is offered until it is known what became of it."""
    account = delegated_account(desk, tokens=0)
    wallet = FailingBatches(town, account)
    page = sells_ether(browser, town, wallet)
    page.wait(role("button", BOTH))
    confirms(page)
    is_stuck(page)
    again(page)
    is_stuck(page)
    assert page.count(role("button", WRAP)) == 0
    assert (wallet.asked.count(SEND), TO_SIGN in wallet.asked) == (1, False)
    assert count(desk, account) == 0
    page.call("evaluate", expression=LATER)
    again(page)
    page.see(NOT_SENT, SAID)
    page.fill("You pay", "1")
    page.wait(role("button", WRAP))
    page.close()
