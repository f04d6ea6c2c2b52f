"""A person swaps, wraps and cancels on the wallet page, with an injected wallet that signs."""

import re

import pytest

from quietswap.sandbox.contracts.pools import TOKENS, VYPER, WETH
from tests.browser.browser import Browser
from tests.browser.locators import css, role
from tests.browser.steps import (
    FAULT,
    GO,
    PRIVATE,
    QUOTE,
    RESET_OLD,
    REVIEW,
    VENDORS,
    allowed,
    approved,
    back,
    choose,
    chosen,
    confirmed,
    namesake,
    opened,
    order,
    private,
    quoted,
    sees_order,
    set_up,
    sets_up,
    signs,
    slippage,
    sources,
    state,
    swapped,
    to_orders,
    typed,
)
from tests.browser.wallets import FeeChoosingWallet, HonestWallet, RepeatingWallet
from tests.e2e.conftest import VENUES, Town, running_town
from tests.e2e.test_delegated_wallets import CODES, delegate
from tests.spec.api_client import ETHER, ApiClient


def test_a_swap_from_connect_to_the_end(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(town, desk.wallet())
    before = desk.held(wallet.account, "USDC")
    seen: list[dict[str, str]] = []
    send = wallet.send
    wallet.send = lambda wanted: (seen.append(dict(wanted)), send(wanted))[1]  # type: ignore[method-assign]
    page = set_up(browser, town, wallet)
    quoted(page)
    rows = sources(page)
    assert len(rows) >= 4
    assert ["Best" in row for row in rows] == [True] + [False] * (len(rows) - 1)
    facts = page.text(css(".facts"))
    for shown in ("Price impact", "Network fee", "Fee of quietswap", "A sandwich in public", "✓"):
        assert shown in facts
    page.see("new quote in")
    state(page, "approve")
    assert page.count(role("button", REVIEW)) == 0
    assert page.count(GO) == 1
    page.see("At least", css(".least"))
    approved(page)
    for approval in seen:
        assert approval["to"] == TOKENS["WETH"].address
        assert approval["data"].startswith("0x095ea7b3")
        assert int(approval["data"][-64:], 16) == ETHER, "the approval is exact"
    signs(page)
    confirmed(page, "swap")
    sees_order(page, "swap", "You received")
    received = desk.held(wallet.account, "USDC") - before
    assert received > 0
    shown = page.text(order("swap"))
    assert f"{received // 10**4 / 100:,.2f} USDC" in shown
    for told in ("Minimum", "Against the quote", "Against the pools’", "View transaction"):
        assert told in shown
    cost = page.text(css(".aside .side[aria-label='What it cost']"))
    assert re.search(r"Network fee\s+0\.\d+ ETH", cost)
    page.see("Approved exactly 1 WETH", css(".aside .line"))
    page.see("In block", css(".aside .line"))
    page.see("none", css(".aside .facts"))
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
        assert [("Best" in row, "Not available" in row) for row in rows].count((True, False)) == 1
        assert all(("Uniswap" in row) is ("Best" in row) for row in rows)
        approved(page)
        signs(page)
        confirmed(page, "swap")
        sees_order(page, "swap", "You received")
        page.close()


def test_a_link_names_the_pair_and_the_amount(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HonestWallet(town, allowed(desk))
    page = browser.page({"w": wallet})
    page.goto(f"{town.facts['baseUrl']}/?sell=dai&buy={WETH.address.lower()}&amount=2x")
    page.click("button", "Connect wallet")
    page.see("An amount has digits")
    assert chosen(page, "Pay with") == "DAI"
    assert chosen(page, "Receive") == "WETH"
    sets_up(page)
    page.wait(PRIVATE)
    page.click("button", "Swap the two tokens")
    assert chosen(page, "Pay with") == "WETH"
    page.click("button", "25 %")
    assert typed(page) == "250"
    page.click("button", "Max")
    assert typed(page) == "1000"
    quoted(page, "1")
    page.click("button", "Swap the two tokens")
    page.wait(QUOTE, "detached")
    page.close()


def test_a_decimal_comma_is_read_in_one_way_only(browser: Browser, town: Town) -> None:
    page = opened(browser, town, None)
    page.fill("You pay", "1,234")
    page.see("1,234 has two readings: write 1234 or 1.234.", css(".under"))
    assert page.count(css(".amount.dim")) == 1
    page.fill("You pay", "0,5")
    page.see("Indicative: not simulated yet")
    assert page.attribute(css("input.amount"), "aria-invalid") == "false"
    page.close()


def test_a_price_before_a_wallet_is_connected(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    page = opened(browser, town, HonestWallet(town, allowed(desk)), width=360, height=740)
    page.fill("You pay", "2")
    page.see("Indicative: not simulated yet")
    page.see("$", css(".under"))
    state(page, "first")
    assert page.texts(css("h1")) == ["Swap tokens without showing your hand."]
    assert page.count(css(".points li")) == 4
    page.see("none", css(".facts"))
    assert page.texts(GO) == ["Connect wallet"]
    assert page.axe() == []
    assert page.overflow() <= 0
    assert len(page.hosts()) == 1
    page.click("button", "Connect wallet")
    page.wait(css(".chip.account"))
    assert typed(page) == "2"
    page.close()


def test_settings_are_remembered_within_bounds(browser: Browser, town: Town) -> None:
    page = opened(browser, town, None)
    page.click("button", "^Slippage")
    page.click("button", "0.1 %")
    page.press("Escape")
    page.see("Slippage 0.1 %")
    for text, later in (("0.3", "0.3"), ("0,4", "0.4"), ("5", "0.4"), ("x", "0.4")):
        slippage(page, text)
        page.reload()
        page.see(f"Slippage {later} %")
    for broken in ("50", "<b>", "-1"):
        page.call("evaluate", expression=f"localStorage.setItem('quietswap.slippage', '{broken}')")
        page.reload()
        page.see("Slippage 0.5 %")
    page.close()


def test_a_link_that_names_no_token(browser: Browser, town: Town) -> None:
    page = browser.page({})
    for wanted in ("nothing-of-the-kind", "0x" + "12" * 20):
        page.goto(f"{town.facts['baseUrl']}/?sell={wanted}&buy=USDC")
        page.see("The link's “sell” is neither", FAULT)
        assert page.texts(GO) == ["Connect wallet"]
    choose(page, "Pay with", "WETH")
    page.wait(FAULT, "detached")
    page.close()


def test_an_amount_that_is_typed_before_the_next_frame(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    """Several keys within one frame ask one question, the last."""
    page = private(browser, town, HonestWallet(town, allowed(desk)))
    keys = """for (const text of ['2', '20', '0.25']) {
      const field = document.querySelector('input.amount')
      field.value = text
      field.dispatchEvent(new Event('input', { bubbles: true }))
    }"""
    page.call("evaluate", expression=keys)
    page.wait(role("button", REVIEW))
    page.click("button", REVIEW)
    page.see("0.25 WETH", css(".terms"))
    page.close()


ROWS = css("dialog .it")


def test_what_the_wallet_has_is_listed_first(browser: Browser, town: Town, desk: ApiClient) -> None:
    account = desk.wallet(tokens=0)
    desk.give(account, TOKENS["DAI"], TOKENS["DAI"].units(25))
    page = private(browser, town, HonestWallet(town, account), width=360, height=740)
    page.click("button", "^Receive: ")
    page.see("25", ROWS)
    rows = page.texts(ROWS)
    assert ["ETH" in rows[0], "DAI" in rows[1]] == [True, True]
    assert "100" in rows[0]
    assert len(rows) > 4
    assert page.axe() == []
    assert page.overflow() <= 0
    page.press("ArrowDown")
    page.press("ArrowDown")
    page.press("Enter")
    page.wait(css("dialog"), "detached")
    assert chosen(page, "Receive") == "DAI"
    page.click("button", "^Receive: ")
    page.fill("Search by symbol, name or address", "us")
    page.see("USDC", css("#found[aria-busy=false]"))
    page.press("Escape")
    page.wait(css("dialog"), "detached")
    assert chosen(page, "Receive") == "DAI"
    assert page.focused()["name"].startswith("DAI"), "the focus is back at its opener"
    page.close()


def test_a_balance_that_was_not_read_is_not_zero(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    page = private(browser, town, HonestWallet(town, desk.wallet()))
    page.mangle("0x0", keep="^(?!address$|=0x)", only="/mev/balances/")
    page.click("button", "^Receive: ")
    page.see("not read", ROWS)
    page.close()


def test_an_unlisted_token_or_look_alike_is_taken_by_its_own_button_alone(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    loud = namesake(town)
    page = private(browser, town, HonestWallet(town, allowed(desk)), width=360, height=740)
    for address, warning in (
        (VYPER.address, "On no token list of this service"),
        (loud, "It has the symbol of a listed token and is another one."),
    ):
        page.click("button", "^Receive: ")
        page.fill("Search by symbol, name or address", address)
        page.see(warning, css("#found[aria-busy=false]"))
        page.see(address, css("dialog .msg"))
        if address == loud:
            page.see("This is not USDC", css("dialog .msg"))
        assert page.axe() == []
        assert page.overflow() <= 0
        page.press("Enter")
        assert page.count(css("dialog")) == 1, "Enter takes no unlisted token"
        page.click("button", "Use it anyway")
        page.wait(css("dialog"), "detached")
        page.see(address, css(".card .msg"))
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
    choose(page, "Receive", "DAI")
    choose(page, "Pay with", "USDT")
    page.fill("You pay", "500")
    state(page, "reset")
    assert page.texts(css(".steps li")) == ["Reset old allowance", "Approve 500 USDT", "Swap"]
    assert "Approve exactly 0" not in page.text()
    page.click("button", f"^{RESET_OLD}")
    page.click("button", "Step 2 of 3: approve exactly 500 USDT")
    signs(page)
    confirmed(page, "swap")
    page.see("Old allowance reset", css(".aside .line"))
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
    to_orders(page)
    assert page.count(css(".hist summary[data-kind]")) == 1, (
        "the approval is in the row of its swap"
    )
    assert desk.held(wallet.account, "WETH") == 999 * ETHER
    page.close()


def test_the_history_is_there_after_a_reload_and_in_no_other_browser(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HonestWallet(town, desk.wallet())
    page = private(browser, town, wallet)
    swapped(page)
    confirmed(page, "swap")
    other = browser.page({"w": wallet})
    other.goto(town.facts["baseUrl"] + "/")
    other.click("button", "Connect wallet")
    other.wait(css(".chip.no"))
    to_orders(other)
    other.see("None yet.")
    assert other.count(css(".hist summary[data-kind]")) == 0
    other.close()
    wallet.asked.clear()
    page.reload()
    page.wait(PRIVATE)  # the wallet still has the URL, and the browser the session
    assert "eth_requestAccounts" not in wallet.asked, "it is connected without a question"
    confirmed(page, "swap")
    back(page)
    page.reload()
    page.wait(PRIVATE)
    page.wait(GO)
    to_orders(page)
    page.wait(css(".hist summary[data-kind=swap][data-status=confirmed]"))
    page.close()


def test_wrap_and_unwrap(browser: Browser, town: Town, desk: ApiClient) -> None:
    """Chosen by the two tokens: 1 to 1, without slippage and sources."""
    wallet = HonestWallet(town, desk.wallet(tokens=0))
    page = private(browser, town, wallet, width=360, height=740)
    choose(page, "Pay with", "ETH")
    choose(page, "Receive", "WETH")
    state(page, "wrap")
    page.click("button", "Max")
    assert typed(page) == "99.99"
    page.fill("You pay", "1.5")
    page.see("Exactly 1.5 WETH, always 1 to 1.", css(".least"))
    assert page.texts(css(".card h2")) == ["Wrap"]
    assert page.count(role("button", "^Slippage")) == page.count(css(".sources")) == 0
    assert page.axe() == []
    assert page.overflow() <= 0
    page.click("button", "Wrap 1.5 ETH")
    confirmed(page, "wrap")
    assert desk.held(wallet.account, "WETH") == 3 * ETHER // 2
    back(page)
    page.click("button", "Swap the two tokens")
    page.fill("You pay", "0.5")
    assert page.texts(css(".card h2")) == ["Unwrap"]
    page.click("button", "Unwrap 0.5 WETH")
    desk.until(lambda: desk.held(wallet.account, "WETH") == ETHER)
    page.close()


@pytest.mark.parametrize("code", ["", "reverting"])
def test_a_cancel(browser: Browser, town: Town, desk: ApiClient, code: str) -> None:
    """Also of a wallet whose delegated code (EIP-7702) refuses it; the service decides that."""
    wallet = HonestWallet(town, desk.wallet())
    if code:
        delegate(desk, wallet.account, CODES[code])
    page = private(browser, town, wallet)
    quoted(page)
    approved(page)
    with desk.no_blocks():
        signs(page)
        page.click("button", "Cancel swap")
        if code == "reverting":
            page.see("the cancel would fail on the latest state", FAULT)
        else:
            page.see("Cancelling", css(".line"))
    end = "confirmed" if code == "reverting" else "cancelled"
    page.wait(css(f".order[data-kind=swap][data-status={end}]"))
    assert (desk.held(wallet.account, "WETH") == 1000 * ETHER) == (end == "cancelled")
    page.close()
