"""What may be lost is shown, confirmed or typed; an edit of a field withdraws the quote."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quietswap.rules.orders.checks import CONTRACT_NOTE
from quietswap.rules.quotes.quote import FEE_MAY_RISE
from quietswap.sandbox.contracts.pools import VYPER
from tests.browser.browser import Browser, Page
from tests.browser.keyboard import tab_to
from tests.browser.locators import css, role
from tests.browser.steps import (
    CONFIRM,
    DECLINED,
    FAULT,
    GO,
    PAIR,
    PRIVATE,
    QUOTE,
    REVIEW,
    allowed,
    choose,
    confirmed,
    is_on,
    private,
    quoted,
    signs,
    slippage,
    sources,
    state,
    to_wrap,
)
from tests.browser.test_states import HELD
from tests.browser.wallets import HoldingWallet, HonestWallet
from tests.e2e.conftest import Town, running_town
from tests.e2e.serving import serving
from tests.e2e.test_unsimulated import NONE_SIMULATED
from tests.example_counts import LONG
from tests.spec.api_client import ApiClient
from tests.waiting import WITHIN_S

LOSS = css(".loss")
LOOKS = [
    pytest.param({"width": 1280, "height": 900, "scheme": "light"}, id="wide"),
    pytest.param({"width": 360, "height": 740, "scheme": "dark"}, id="narrow"),
]
in_each_look = pytest.mark.parametrize("look", LOOKS if LONG else LOOKS[1:])
"""The narrow one in `make test`: other tests are wide."""
HIDDEN = "[...document.querySelectorAll('.scroll')].some(e => e.scrollWidth > e.clientWidth)"
THIEF = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


def looked_at(page: Page) -> None:
    """Check what nobody should find wrong in any step."""
    assert page.axe() == []
    assert page.overflow() <= 0
    assert page.call("evaluate", expression=HIDDEN) is False, "a column is out of sight"


def enter(page: Page, field: str, text: str) -> None:
    """Type into a field that was reached by Tab, which selects what is there."""
    tab_to(page, field)
    page.type(text)


def swaps_by_keyboard(page: Page, wallet: HonestWallet) -> None:
    """Sign the one swap, to its end."""
    tab_to(page, REVIEW)
    page.press("Enter")
    tab_to(page, CONFIRM)
    page.press("Enter")
    confirmed(page, "swap")
    assert len(wallet.sent) == 1
    page.close()


@in_each_look
def test_half_of_the_value_is_typed_by_the_keyboard_alone(
    browser: Browser, town: Town, desk: ApiClient, look: dict[str, Any]
) -> None:
    wallet = HonestWallet(town, allowed(desk))
    page = private(browser, town, wallet, **look)
    enter(page, "You pay", "900")
    page.see("You may lose", LOSS)
    page.wait(css(".loss label"))
    page.see("Type the loss to go on", GO)
    state(page, "guard")
    page.wait(css(".least.flat"))
    label = page.text(css(".loss label"))
    percent = label.rpartition(" ")[2]
    assert int(percent) > 15
    assert label.startswith("To swap nevertheless, type the loss in percent: ")
    looked_at(page)
    assert not is_on(page, REVIEW)
    for wrong in ("yes", "1", str(int(percent) - 1), "101", ""):
        page.fill(label, wrong)
        assert not is_on(page, REVIEW), wrong
    enter(page, label, f" {percent} % ")
    swaps_by_keyboard(page, wallet)


@in_each_look
def test_one_percent_is_a_notice_and_gas_above_a_tenth_is_typed(
    browser: Browser, town: Town, desk: ApiClient, look: dict[str, Any]
) -> None:
    page = private(browser, town, HonestWallet(town, allowed(desk)), **look)
    slippage(page, "1")
    quoted(page)
    page.see("You may lose 1.00 %", LOSS)
    looked_at(page)
    assert is_on(page, REVIEW)
    assert page.count(css(".least.flat")) == 0, "a notice leaves the band green"
    slippage(page, "0.9")
    quoted(page)
    page.wait(role("button", REVIEW))
    assert page.count(LOSS) == 0
    enter(page, "You pay", "0.0001")
    page.see("% of the value for gas", LOSS)
    page.wait(css(".loss label"))
    assert not is_on(page, REVIEW)
    label = page.text(css(".loss label"))
    enter(page, label, label.rpartition(" ")[2])
    page.wait(css(f".card .go:not([aria-disabled=true]) >> text={REVIEW}"))
    page.close()


@in_each_look
def test_an_unknown_price_is_confirmed_by_the_keyboard_alone(
    browser: Browser, town: Town, desk: ApiClient, tmp_path: Path, look: dict[str, Any]
) -> None:
    nowhere = {
        "PRICES__DEFILLAMA_URL": "http://127.0.0.1:9",
        "PRICES__COINGECKO_URL": "http://127.0.0.1:9",
    }
    with serving(town, tmp_path, **nowhere) as served:
        own = replace(town, facts=town.facts | {"baseUrl": served.url})
        wallet = HonestWallet(own, allowed(desk))
        page = private(browser, own, wallet, **look)
        # one pool alone decides no price
        page.goto(f"{own.facts['baseUrl']}/?sell=WETH&buy={VYPER.address}")
        page.wait(PRIVATE)
        enter(page, "You pay", "0.25")
        page.see("an unknown share (no price is known)", LOSS)
        page.wait(css(".loss input"))
        looked_at(page)
        assert not is_on(page, REVIEW)
        tab_to(page, "Yes, swap although the price is not known.")
        page.press("Space")
        swaps_by_keyboard(page, wallet)


@in_each_look
def test_an_edit_withdraws_the_quote_and_its_button(
    browser: Browser, town: Town, desk: ApiClient, look: dict[str, Any]
) -> None:
    wallet = HonestWallet(town, allowed(desk))
    page = private(browser, town, wallet, **look)
    quoted(page)
    for field, text in (
        ("You pay", "2"),
        ("Slippage", "0.7"),
        ("Receive", "DAI"),
        ("Pay with", "USDT"),
    ):
        page.wait(role("button", REVIEW))
        page.call("evaluate", expression=HELD)
        if field == "You pay":
            page.fill("You pay", text)
        elif field == "Slippage":
            page.click("button", "^Slippage")
            page.fill("Slippage in percent", text)
        else:
            choose(page, field, text)
        page.wait(QUOTE, "detached")
        assert page.count(role("button", REVIEW)) == 0, field
        if field == "Slippage":
            page.press("Escape")
        page.call("evaluate", expression="letGo()")
    assert "eth_sendTransaction" not in wallet.asked
    page.close()


def test_the_button_says_what_it_signs(browser: Browser, town: Town, desk: ApiClient) -> None:
    seen: list[Mapping[str, str]] = []
    wallet = HonestWallet(town, allowed(desk))
    send = wallet.send
    wallet.send = lambda wanted: (seen.append(wanted), send(wanted))[1]  # type: ignore[method-assign]
    page = private(browser, town, wallet)
    quoted(page)
    page.wait(role("button", REVIEW))
    page.click("button", REVIEW)
    least = page.texts(css(".terms .big"))[1].removesuffix(" USDC")
    full = page.attribute(css(".terms .big[title]"), "title") or ""
    assert full.startswith(least), "the figure is cut, never rounded"
    page.see("Uniswap SwapRouter02", css("dialog .facts"))
    page.see("MEV Blocker, a private relay", css("dialog .facts"))
    page.see("chosen searchers, without your signature", css("dialog .facts"))
    page.see("after that the router refuses it", css("dialog .facts"))
    page.click("button", CONFIRM)
    confirmed(page, "swap")
    params = desk_order(page, town)
    assert full.replace(",", "") == f"{int(params['minReturnAmount']) / 10**6:f}".rstrip("0")
    assert len(seen) == 1
    page.close()


def desk_order(page: Page, town: Town) -> dict[str, Any]:
    """Return `orderParams` of the page's swap, read with its session."""
    order_id = page.attribute(css(".order[data-kind=swap]"), "data-order")
    read = (
        f"fetch('/api/v1/mev/orders/{order_id}').then(r => r.json()).then(r => r.data.orderParams)"
    )
    found: dict[str, Any] = page.call("evaluate", expression=read)
    return found


@in_each_look
def test_an_edit_while_the_wallet_asks(
    browser: Browser, town: Town, desk: ApiClient, look: dict[str, Any]
) -> None:
    wallet = HoldingWallet(town, allowed(desk), "eth_sendTransaction")
    page = private(browser, town, wallet, **look)
    quoted(page)
    wallet.holds = True
    tab_to(page, REVIEW)
    page.press("Enter")
    tab_to(page, CONFIRM)
    page.press("Enter")
    assert wallet.asks.wait(WITHIN_S)
    page.see("Waiting for your signature…", css("dialog"))
    page.see("Nothing is sent until you sign.", css("dialog"))
    page.press("Escape")
    page.wait(css("dialog"), "detached")
    page.fill("You pay", "5")
    assert page.count(QUOTE) == 0
    page.see("W Wallet still asks for the earlier one, to swap 1 WETH: decline it there.")
    page.see("Waiting for your signature…", GO)
    looked_at(page)
    assert wallet.asked.count("eth_sendTransaction") == 1
    wallet.decide.set()
    page.see(DECLINED, FAULT)
    page.wait(QUOTE)  # of what the form says now
    page.see(DECLINED, FAULT)
    assert wallet.sent == []
    page.close()


def test_an_edit_between_the_click_and_the_wallet(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HoldingWallet(town, allowed(desk), "eth_accounts")
    page = private(browser, town, wallet)
    quoted(page)
    wallet.holds = True
    signs(page)
    assert wallet.asks.wait(WITHIN_S)
    page.press("Escape")
    page.wait(css("dialog"), "detached")
    page.fill("You pay", "5")
    wallet.decide.set()
    page.see("You changed it meanwhile. Nothing was sent.", FAULT)
    assert "eth_sendTransaction" not in wallet.asked
    page.close()


def test_a_quote_that_became_worse_needs_a_look(
    browser: Browser, town: Town, desk: ApiClient, tmp_path: Path
) -> None:
    with serving(town, tmp_path, QUOTES__VALIDITY_S="6") as served:
        own = replace(town, facts=town.facts | {"baseUrl": served.url})
        wallet = HonestWallet(own, allowed(desk))
        page = private(browser, own, wallet)
        quoted(page)
        page.wait(role("button", REVIEW))
        page.mangle("1", keep="^(?!minBuyAmount$)[^=]", only="/quote/stream")
        page.see("The price fell", FAULT)
        state(page, "worse")
        assert page.count(role("button", REVIEW)) == 0
        assert "eth_sendTransaction" not in wallet.asked
        page.click("button", "Look at the new quote")
        page.wait(role("button", REVIEW))
        page.close()


def test_a_wrap_that_is_another_transaction_is_not_signed(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HonestWallet(town, desk.wallet())
    page = private(browser, town, wallet)
    page.mangle(THIEF, keep="^(?!to$)[^=]", only="/mev/wrap/quote")
    to_wrap(page, "1.5")
    page.click("button", "Wrap 1.5 ETH")
    page.see("The transaction has another contract than WETH. Nothing was sent.", FAULT)
    assert "eth_sendTransaction" not in wallet.asked
    page.close()


def test_the_notes_of_a_wrap_are_shown_before_the_wallet_is_asked(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HonestWallet(town, owner := desk.wallet())
    desk.rpc("anvil_setCode", owner.address, "0x00")
    page = private(browser, town, wallet)
    to_wrap(page, "1.5")
    page.click("button", "Wrap 1.5 ETH")
    page.see(CONTRACT_NOTE, css(".notes"))
    looked_at(page)
    assert "eth_sendTransaction" not in wallet.asked
    page.click("button", "Wrap 1.5 ETH")
    page.see("Your account is a contract, which cannot send this", FAULT)
    assert "eth_sendTransaction" in wallet.asked
    page.close()


def test_a_wrap_whose_gas_is_dear_is_typed(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(town, desk.wallet())
    page = private(browser, town, wallet)
    to_wrap(page, "0.00001")
    page.click("button", "Wrap 0.00001 ETH")
    page.see("% of the value for gas.", LOSS)
    looked_at(page)
    page.see("Type the loss to go on", GO)
    label = page.text(css(".loss label"))
    page.fill(label, label.rpartition(" ")[2])
    page.click("button", "Wrap 0.00001 ETH")
    confirmed(page, "wrap")
    page.close()


def test_a_cancel_that_is_another_transaction_is_not_signed(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    """Its nonce is that of another transaction of the wallet, which it would replace."""
    wallet = HonestWallet(town, allowed(desk))
    page = private(browser, town, wallet)
    quoted(page)
    page.mangle(999, keep="^(?!nonce$)[^=]", only="/cancel")
    with desk.no_blocks():
        signs(page)
        page.click("button", "Cancel swap")
        page.see("The cancel has nonce 999, not ", FAULT)
        page.see("Nothing was sent.", FAULT)
    confirmed(page, "swap")
    assert len(wallet.sent) == 1
    page.close()


def test_nothing_is_called_verified_that_was_not_simulated(
    browser: Browser, tmp_path: Path
) -> None:
    with running_town("--block-time", "0.5") as town, ApiClient(town) as desk:
        town.fault("node", "no_simulate")
        page = private(browser, town, HonestWallet(town, allowed(desk)))
        page.fill("You pay", "1")
        page.see(NONE_SIMULATED, FAULT)
        page.close()
        with serving(town, tmp_path, QUOTES__REQUIRE_VERIFICATION="false") as served:
            own = replace(town, facts=town.facts | {"baseUrl": served.url})
            page = private(browser, own, HonestWallet(own, allowed(desk)))
            quoted(page)
            rows = sources(page)
            assert not any("verified" in row for row in rows)
            assert sum("not simulated" in row for row in rows) >= 2
            page.see("no simulation was possible", css(".notes"))
            page.close()


def test_a_fee_that_may_rise_makes_the_band_grey(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    """USDT has a fee that is switched off, and these routers do not see what arrives."""
    page = private(browser, town, HonestWallet(town, allowed(desk)))
    venues = ("kyberswap", "sushi")  # theirs compare the balance of the wallet
    for venue in venues:
        town.fault(venue, "no_route")
    try:
        choose(page, "Receive", "USDT")
        quoted(page)
        page.see("USDT before a fee of the token, or it fails.", css(".least.flat"))
        page.see("the minimum holds before a fee on transfer", css(".notes"))
        page.click("button", REVIEW)
        page.see("You receive at least, before a fee of the token", css("dialog .terms"))
        page.see(FEE_MAY_RISE, css("dialog .notes"))
    finally:
        town.heal(*venues)
    page.close()


def test_a_node_that_is_down_is_said(browser: Browser, town: Town, desk: ApiClient) -> None:
    page = private(browser, town, HonestWallet(town, allowed(desk)))
    quoted(page)
    town.fault("node", "500")
    try:
        page.see("The service’s Ethereum node does not answer", FAULT)
        state(page, "down")
        page.see("Node down", css(".chip.no"))
        page.see("Waiting for the Ethereum node…", GO)
        page.goto(f"{town.facts['baseUrl']}{PAIR}&amount=1")
        page.see("Waiting for the Ethereum node…", GO)
        assert page.count(css(".held")) == 0
    finally:
        town.heal("node")
    page.wait(FAULT, "detached")
    page.wait(PRIVATE)
    page.wait(QUOTE)  # made again when it is back
    page.see("Balance", css(".held"))
    page.close()
