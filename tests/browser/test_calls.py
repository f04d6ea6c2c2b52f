"""Approve and swap in one question of a wallet that batches calls (EIP-5792): never paid twice."""

import re

from quietswap.sandbox.contracts.pools import WETH
from tests.batches import STRANGER, delegated
from tests.browser.batching import (
    CAPABILITIES,
    SEND,
    STATUS,
    BatchingWallet,
    FailingBatches,
    MisreportingBatches,
    NeverSentBatches,
    OtherDoorBatches,
    SilentBatches,
    delegated_account,
)
from tests.browser.browser import Browser, Page
from tests.browser.keyboard import tab_to
from tests.browser.locators import css, role
from tests.browser.steps import (
    CONFIRM,
    FAULT,
    GO,
    PRIVATE,
    QUOTE,
    REVIEW,
    approved,
    confirmed,
    private,
    quoted,
    signs,
    to_orders,
)
from tests.browser.steps import STATUS as SAID
from tests.browser.wallets import REJECTED
from tests.e2e.conftest import Town
from tests.e2e.test_batched import allowance, count
from tests.spec.api_client import ETHER, ApiClient

BOTH = "Review swap in one signature"
APPROVE = "Approve exactly 1 WETH"
ORDER = css(".order[data-kind=swap]")
ROW = css(".hist summary[data-kind=swap]")
UNKNOWN = "it is not known yet whether it sends that"
IN_TWO = "Go on in separate steps."
NOT_SENT = "Your wallet did not send it"
LOOKED = "I have looked, go on"
TO_SIGN = "eth_sendTransaction"
KEPT = "Object.keys(localStorage).filter((name) => name.startsWith('quietswap.calls.'))"
NAMES = f"{KEPT}.map((name) => JSON.parse(localStorage[name]).id)"
"""The ids of the batches that the page keeps."""
CLOCK = "globalThis.real ??= Date.now; Date.now = () => real() + {ahead} * 3600e3"
LATER = f"""for (const name of {KEPT}) {{
  const kept = JSON.parse(localStorage[name])
  localStorage[name] = JSON.stringify({{ ...kept, until: 0 }})
}}"""
"""The time is over in which the service takes the transaction."""


def offered(browser: Browser, town: Town, wallet: BatchingWallet, **look: object) -> Page:
    """Open the page with a quote that the wallet can approve and swap in one."""
    page = private(browser, town, wallet, **look)
    quoted(page)
    page.wait(role("button", BOTH))
    return page


def confirms(page: Page) -> None:
    """Review approve and swap, and let the wallet do both."""
    if page.count(role("button", CONFIRM)) == 0:
        page.click("button", BOTH)
    page.click("button", CONFIRM)


def ended(page: Page) -> None:
    """See the swap confirmed on the page of orders."""
    to_orders(page)
    page.wait(css(".hist summary[data-kind=swap][data-status=confirmed]"))


def again(page: Page) -> None:
    """Load the page again; the wallet is connected and private as before."""
    page.reload()
    page.wait(PRIVATE)


def in_two_steps(page: Page, wallet: BatchingWallet, desk: ApiClient) -> None:
    """Go on in two steps to the end: the amount is sold once, and the batch was asked for once."""
    approved(page)
    assert page.count(role("button", BOTH)) == 0
    signs(page)
    confirmed(page, "swap")
    sold_once(page, wallet, desk)


def sold_once(page: Page, wallet: BatchingWallet, desk: ApiClient) -> None:
    assert desk.held(wallet.account, "WETH") == 999 * ETHER
    ended(page)
    assert page.count(ROW) == 1
    assert wallet.asked.count(SEND) == 1
    page.close()


def is_stuck(page: Page) -> None:
    """Nothing can be signed, and no fresh quote renews the time of the open one."""
    page.see(UNKNOWN)
    page.wait(css("dialog"), "detached")
    for button in (BOTH, APPROVE, REVIEW):
        assert page.count(role("button", button)) == 0
    if page.count(GO):
        page.see("Waiting for what your wallet was asked", GO)


def test_one_question_approves_and_swaps(browser: Browser, town: Town, desk: ApiClient) -> None:
    """By the keyboard, on a phone; the wallet tells what became of it, and all is forgotten."""
    wallet = BatchingWallet(town, delegated_account(desk))
    page = offered(browser, town, wallet, width=360, height=740, scheme="dark")
    assert page.axe() == []
    assert page.overflow() <= 0
    router = page.attribute(css(".facts code"), "title") or ""
    tab_to(page, BOTH)
    page.press("Enter")
    tab_to(page, CONFIRM)
    page.press("Enter")
    confirmed(page, "swap")
    assert page.focused()["tag"] != "BODY"
    desk.until(lambda: page.call("evaluate", expression=KEPT) == [])
    assert STATUS in wallet.asked
    assert TO_SIGN not in wallet.asked
    assert list(wallet.batches.values()) == wallet.sent
    assert (len(wallet.sent), count(desk, wallet.account)) == (1, 1)
    assert allowance(desk, wallet.account, WETH, router) == 0
    sold_once(page, wallet, desk)


def test_it_is_not_offered(browser: Browser, town: Town, desk: ApiClient) -> None:
    """Nor asked for: an account with code that nobody read."""
    wallet = BatchingWallet(town, delegated_account(desk))
    desk.rpc("anvil_setCode", wallet.account.address, delegated(STRANGER))
    page = private(browser, town, wallet)
    quoted(page)
    page.wait(role("button", APPROVE))
    assert page.count(role("button", BOTH)) == 0
    assert CAPABILITIES not in wallet.asked
    assert SEND not in wallet.asked
    page.close()


def test_a_wallet_that_says_it_can_and_cannot(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = FailingBatches(town, delegated_account(desk))
    wallet.code = 5760
    page = offered(browser, town, wallet)
    confirms(page)
    page.see(IN_TWO, FAULT)
    page.wait(css("dialog"), "detached")
    page.wait(role("button", APPROVE))
    assert page.call("evaluate", expression=KEPT) == []
    assert wallet.sent == []
    in_two_steps(page, wallet, desk)


def test_an_equal_swap_by_another_door_is_not_the_batch(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    """It has an order of its own; what became of what the wallet was asked for is not known yet."""
    wallet = OtherDoorBatches(town, delegated_account(desk))
    page = offered(browser, town, wallet)
    key = WETH.allowance_key(
        wallet.account.address, page.attribute(css(".facts code"), "title") or ""
    )
    desk.rpc("anvil_setStorageAt", WETH.address, key, f"0x{ETHER:064x}")
    confirms(page)
    page.wait(FAULT)
    is_stuck(page)
    again(page)
    is_stuck(page)
    ended(page)
    assert (len(wallet.sent), page.count(ROW)) == (1, 1)
    page.close()


def test_a_wallet_that_never_says_what_became_of_a_batch(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = SilentBatches(town, delegated_account(desk))
    page = offered(browser, town, wallet, width=360, height=740)
    confirms(page)
    is_stuck(page)
    page.call("evaluate", expression=LATER)
    again(page)
    is_stuck(page)
    assert page.axe() == []
    assert page.overflow() <= 0
    page.click("button", LOOKED)
    page.wait(role("button", LOOKED), "detached")
    quoted(page)
    wallet.over.set()
    page.close()


def test_a_clock_that_is_set_back_holds_nothing(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    """Neither the batch nor the quote: the service's clock counts, also after a reload."""
    wallet = FailingBatches(town, delegated_account(desk))
    page = private(browser, town, wallet)
    page.call("evaluate", expression=CLOCK.format(ahead=7))
    quoted(page)
    page.wait(role("button", BOTH))
    page.call("evaluate", expression=CLOCK.format(ahead=0))
    seconds = r"in (\d+) s"
    [fresh] = re.findall(rf"new quote {seconds}", page.text())
    assert int(fresh) <= 30
    confirms(page)
    page.see(UNKNOWN)
    page.call("evaluate", expression=CLOCK.format(ahead=-7))
    asked = wallet.asked.count(STATUS)
    desk.until(lambda: wallet.asked.count(STATUS) > asked + 1)
    [held] = re.findall(rf"it is refused {seconds}", page.text())
    assert 0 < int(held) <= 120
    page.close()


def test_a_batch_that_was_sent_and_then_failed_is_its_order(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    """The service is the judge, whatever the wallet says."""
    wallet = FailingBatches(town, delegated_account(desk))
    wallet.code, wallet.sends = REJECTED, True
    page = offered(browser, town, wallet)
    with desk.no_blocks():
        confirms(page)
        page.wait(ORDER)
        page.wait(QUOTE, "detached")  # nothing is left to sign
        assert page.count(FAULT) == 0
    confirmed(page, "swap")
    sold_once(page, wallet, desk)


def test_a_batch_that_the_wallet_gave_up(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = NeverSentBatches(town, delegated_account(desk))
    wallet.code = 100
    page = offered(browser, town, wallet)
    confirms(page)
    page.see("Your wallet took it, and this service did not get it.", FAULT)
    is_stuck(page)
    assert page.count(role("button", LOOKED)) == 0
    page.call("evaluate", expression=LATER)
    again(page)
    page.see(UNKNOWN)
    assert page.is_enabled("button", LOOKED), "a wallet may say for ever that it is under way"
    wallet.code = 400
    page.see(NOT_SENT, SAID)
    page.fill("You pay", "1")
    in_two_steps(page, wallet, desk)


def test_a_wallet_that_names_another_transaction(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = MisreportingBatches(town, delegated_account(desk))
    page = offered(browser, town, wallet)
    confirms(page)
    page.see(f"Your wallet says that it was transaction {wallet.other}. No order here", FAULT)
    assert page.axe() == []
    again(page)
    page.see(f"Your wallet says that it was transaction {wallet.other}.")
    confirmed(page, "swap")
    page.click("button", LOOKED)
    page.wait(role("button", LOOKED), "detached")
    again(page)
    confirmed(page, "swap")
    assert page.count(role("button", LOOKED)) == 0
    sold_once(page, wallet, desk)


def test_a_wallet_that_sent_it_elsewhere(browser: Browser, town: Town, desk: ApiClient) -> None:
    """Without an order, "done" is no end: a person looks."""
    wallet = NeverSentBatches(town, delegated_account(desk))
    wallet.code, wallet.hashes = 200, ["0x" + "ef" * 32]
    page = offered(browser, town, wallet)
    confirms(page)
    page.see("your wallet may have sent it elsewhere, in public.")
    wallet.hashes = []
    page.see("Your wallet says that it was done, and no order here is it.")
    page.click("button", LOOKED)
    page.wait(role("button", LOOKED), "detached")
    page.wait(QUOTE)
    page.close()


OTHER_TAB = """(() => {
  const random = crypto.getRandomValues.bind(crypto)
  crypto.getRandomValues = (into) => {
    const batch = { id: 'of another tab', until: Date.now() + 9e5 }
    const texts = ['data', 'after', 'sellToken', 'buyToken', 'sellAmount', 'buyAmount']
    for (const name of texts) batch[name] = ''
    localStorage.setItem('quietswap.calls.%s', JSON.stringify(batch))
    return random(into)
  }
})()"""


def test_another_tab_asks_first(browser: Browser, town: Town, desk: ApiClient) -> None:
    """Both looked before either asked: what the other one remembers stays, and holds both."""
    wallet = BatchingWallet(town, delegated_account(desk))
    page = offered(browser, town, wallet)
    page.call("evaluate", expression=OTHER_TAB % wallet.account.address.lower())
    confirms(page)
    page.see("Another tab of this page asks your wallet already. Nothing was sent.")
    assert SEND not in wallet.asked
    assert "of another tab" in page.call("evaluate", expression="JSON.stringify(localStorage)")
    is_stuck(page)
    page.close()
