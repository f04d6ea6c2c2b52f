"""Injected wallets that decline, lie or change in the middle: the page says what happened."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from eth_account import Account

from tests.browser.browser import Browser, WalletRefusal
from tests.browser.locators import css, role
from tests.browser.steps import (
    CONFIRM,
    DECLINED,
    ELSEWHERE,
    FAULT,
    GO,
    NOT_PRIVATE,
    PRIVATE,
    QUOTE,
    REVIEW,
    SENT_SINCE,
    STATUS,
    allowed,
    back,
    confirmed,
    connected,
    opened,
    private,
    quoted,
    sees_order,
    sets_up,
    signs,
    state,
    to_orders,
    to_wrap,
    under_way,
)
from tests.browser.wallets import (
    REJECTED,
    EarlierWallet,
    HonestWallet,
    LyingWallet,
    RejectingWallet,
    SilentWallet,
    WalletOfTwoAccounts,
    WalletThatOnlySaysAdded,
    numbers,
)
from tests.e2e.conftest import Town
from tests.spec.api_client import ApiClient

ACCOUNT = Account.create()


def test_a_wallet_that_says_added_and_changes_nothing(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = WalletThatOnlySaysAdded(town, allowed(desk))
    page = connected(browser, town, wallet)
    sets_up(page)
    page.see(ELSEWHERE)
    assert page.count(css("code.url")) == 0
    page.click("button", "It was added, but nothing changed")
    page.see("Your wallet still uses another RPC URL", css("dialog"))
    # the person sets the URL by hand, as the page says
    url = page.text(css("code.url"))
    assert "/rpc/qr_" in url
    wallet.url = url
    page.wait(PRIVATE)
    page.wait(css("dialog"), "detached")
    quoted(page)
    page.wait(role("button", REVIEW))
    assert "eth_sendTransaction" not in wallet.asked
    page.close()


class WalletThatAddsNothing(HonestWallet):
    """Does not know wallet_addEthereumChain."""

    def add_chain(self, chain: Mapping[str, Any]) -> None:
        raise WalletRefusal(-32601, "the method does not exist")


def test_a_wallet_that_cannot_add_the_url_is_shown_it(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = WalletThatAddsNothing(town, desk.wallet())
    page = connected(browser, town, wallet)
    sets_up(page)
    page.see("The wallet says: The method does not exist.", css("dialog"))
    page.see("Set this one by hand", css("dialog"))
    page.wait(role("button", "Copy"))
    wallet.url = page.text(css("code.url"))
    page.wait(PRIVATE)
    page.close()


def test_a_person_who_declines(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = RejectingWallet(
        town,
        allowed(desk),
        "eth_requestAccounts",
        "wallet_addEthereumChain",
        "eth_sendTransaction",
    )
    page = opened(browser, town, wallet)
    page.click("button", "Connect wallet")
    page.see("You declined the connection in W Wallet.", FAULT)
    wallet.declines.remove("eth_requestAccounts")
    page.click("button", "^W Wallet")
    sets_up(page)
    page.see("You declined it. Nothing changed.", css("dialog"))
    assert page.count(css("code.url")) == 0
    wallet.declines.remove("wallet_addEthereumChain")
    page.click("button", "Add it in my wallet")
    page.wait(PRIVATE)
    quoted(page)
    signs(page)
    page.see(DECLINED, css("dialog [role=alert]"))
    state(page, "review")
    assert wallet.sent == []
    wallet.declines.clear()
    page.click("button", CONFIRM)
    page.wait(css(".order[data-kind=swap]"))
    page.close()


def test_a_wallet_on_another_chain(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = HonestWallet(town, allowed(desk))
    wallet.chain = "0x89"
    page = connected(browser, town, wallet)
    page.see("Wrong network", NOT_PRIVATE)
    page.fill("You pay", "1")
    page.see("Indicative")
    page.click("button", "Switch to Ethereum")
    page.see(ELSEWHERE)
    sets_up(page)
    page.wait(PRIVATE)
    # it leaves again and says nothing: the page asks before it lets the wallet sign
    wallet.chain = "0x89"
    page.emit("w", "chainChanged", "0x89")
    page.see("Wrong network", NOT_PRIVATE)
    page.see("Switch to Ethereum", GO)
    assert wallet.sent == []
    page.close()


def test_a_wallet_that_changes_account_in_the_middle(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = WalletOfTwoAccounts(town, allowed(desk), allowed(desk))
    page = private(browser, town, wallet)
    quoted(page)
    accounts = wallet.change()  # without an event
    signs(page)
    page.see("Your wallet changed to another account. Nothing was sent.", FAULT)
    page.emit("w", "accountsChanged", accounts)
    page.see("The wallet changed to account", STATUS)
    page.wait(NOT_PRIVATE)
    page.wait(css("dialog"), "detached")
    page.see("Set up private sending", GO)
    page.emit("w", "accountsChanged", [])
    page.see("The wallet disconnected.", STATUS)
    page.wait(role("button", "Connect wallet"))
    assert wallet.sent == []
    page.close()


def test_a_wallet_that_changes_account_and_back(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    """The page goes on with the account that the wallet has, whichever answer comes last."""
    wallet = WalletOfTwoAccounts(town, allowed(desk), allowed(desk))
    page = private(browser, town, wallet)
    both = [account.address.lower() for account in (wallet.second, wallet.account)]
    for accounts in ([[both[0]], [both[1]]], [None, ["0x12"], [both[1]]]):
        events = "".join(f"__emit('w', 'accountsChanged', {json.dumps(one)});" for one in accounts)
        page.call("evaluate", expression=events)
        if None in accounts:
            page.see("The wallet disconnected.", STATUS)
            page.click("button", "Connect wallet")
            page.wait(PRIVATE)
        quoted(page)
        signs(page)
        confirmed(page, "swap")
        assert page.attribute(css(".account"), "title") == wallet.account.address
        back(page)
    page.close()


def test_a_wallet_that_answers_after_another_was_chosen(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    late, chosen = SilentWallet(town, allowed(desk)), HonestWallet(town, allowed(desk))
    late.silent = {"eth_requestAccounts"}
    page = browser.page({"a": late, "b": chosen})
    page.goto(town.facts["baseUrl"] + "/")
    page.click("button", "Connect wallet")
    assert page.texts(css("dialog .it b")) == ["A Wallet", "B Wallet"]
    page.click("button", "^A Wallet")
    page.see("Open A Wallet and unlock it: a request waits there.")
    page.press("Escape")
    page.wait(css("dialog"), "detached")
    assert page.focused()["name"] == "Connect wallet"
    page.click("button", "Connect wallet")
    page.click("button", "^B Wallet")
    page.wait(css(".account"))
    late.over.set()
    sets_up(page)
    page.wait(PRIVATE)
    assert page.text(STATUS) == ""
    assert page.attribute(css(".account"), "title") == chosen.account.address
    page.close()


def test_a_wallet_that_stops_answering(browser: Browser, town: Town, desk: ApiClient) -> None:
    """Nothing is signed meanwhile; and it need not answer what it never answered."""
    wallet = SilentWallet(town, allowed(desk))
    page = private(browser, town, wallet)
    quoted(page)
    wallet.silent = {"eth_accounts"}
    signs(page)
    page.see("Your wallet does not answer. Nothing was sent.", FAULT)
    wallet.silent = {"eth_chainId", "eth_accounts", "eth_call"}
    page.wait(NOT_PRIVATE)
    page.see("Set up private sending", css("dialog .go"))
    wallet.silent = set()
    page.wait(PRIVATE)
    assert wallet.sent == []
    page.click("button", CONFIRM)
    confirmed(page, "swap")
    wallet.over.set()
    page.close()


def test_a_wallet_that_names_an_earlier_transaction(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = EarlierWallet(town, allowed(desk))
    page = private(browser, town, wallet)
    page.mangle(
        "2026-01-01T00:00:00.000Z", keep="^(?!(createdAt|submittedAt)$)[^=]", only="/mev/orders/"
    )
    kept = "localStorage['quietswap.sent.{}']"
    with desk.no_blocks():
        quoted(page)
        signs(page)
        page.see("which is not the one that it was asked for. Your wallet may have", FAULT)
        page.wait(QUOTE, "detached")
        before = page.call("evaluate", expression=kept.format(wallet.sent[0]))
        page.fill("You pay", "2")
        page.wait(QUOTE)
        signs(page)
        page.see("which is not the one that it was asked for. Your wallet may have", FAULT)
        assert page.call("evaluate", expression=kept.format(wallet.sent[0])) == before
    page.close()


def test_a_wallet_that_sends_elsewhere(browser: Browser, town: Town, desk: ApiClient) -> None:
    wallet = LyingWallet(town, allowed(desk))
    page = private(browser, town, wallet)
    quoted(page)
    signs(page)
    page.see("this service did not get it. Your wallet may have sent it elsewhere", FAULT)
    page.wait(QUOTE, "detached")
    page.see("Get a new quote", GO)  # by a click alone: the warning stays in sight
    to_orders(page)
    page.see("None yet.")
    page.close()


def test_a_wallet_whose_private_url_goes_away(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HonestWallet(town, allowed(desk))
    page = private(browser, town, wallet)
    quoted(page)
    wallet.url = wallet.public_url  # one click in the wallet does it
    page.see(ELSEWHERE, NOT_PRIVATE)
    page.see("Set up private sending", GO)
    assert wallet.sent == []
    page.close()


def test_without_a_wallet_the_page_says_what_to_do(browser: Browser, town: Town) -> None:
    page = opened(browser, town, None)
    page.click("button", "Connect wallet")
    page.see(
        "No wallet in this browser. Install one, or open this page in the browser of your wallet"
    )
    assert page.axe() == []
    page.close()


def test_a_wallet_whose_url_does_not_answer(browser: Browser, town: Town, desk: ApiClient) -> None:
    """It is not said to be public: nobody knows where it would go."""
    wallet = HonestWallet(town, allowed(desk))
    page = private(browser, town, wallet)
    quoted(page)
    wallet.url = "http://127.0.0.1:9/"
    page.click("button", "Set up private sending")
    page.see("Your wallet's RPC URL does not answer.", css("dialog"))
    page.click("button", "Add it in my wallet")
    page.wait(PRIVATE)
    assert wallet.url.startswith(town.facts["baseUrl"])
    page.close()


def test_a_disconnected_wallet_is_not_asked_again(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HonestWallet(town, allowed(desk))
    page = connected(browser, town, wallet)
    page.click("button", "^Account")
    page.see(wallet.account.address, css("dialog"))
    page.click("button", "Disconnect")
    page.see("Disconnected.", STATUS)
    page.wait(role("button", "Connect wallet"))
    desk.until(lambda: "wallet_revokePermissions" in wallet.asked)
    wallet.asked.clear()
    page.reload()
    page.fill("You pay", "1")
    page.see("Indicative")
    assert wallet.asked == []
    page.click("button", "Connect wallet")
    page.wait(css(".chip.account"))
    page.close()


def test_a_wallet_that_forgot_the_page_is_connected_by_a_click(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = HonestWallet(town, allowed(desk))
    page = connected(browser, town, wallet)
    wallet.accounts = list  # type: ignore[method-assign]
    wallet.asked.clear()
    page.reload()
    page.wait(role("button", "Connect wallet"))
    desk.until(lambda: "eth_accounts" in wallet.asked)
    assert "eth_requestAccounts" not in wallet.asked
    assert page.text(STATUS) == ""
    page.close()


class SendingThenDeclining(HonestWallet):
    """Sends what it is asked for, and says that its person declined it."""

    def send(self, wanted: Mapping[str, str]) -> str:
        super().send(wanted)
        raise WalletRefusal(REJECTED, "User rejected the request.")


class DecliningThenSending(HonestWallet):
    """Says that its person declined it, and sends it a moment later."""

    def send(self, wanted: Mapping[str, str]) -> str:
        self.later = self.sign(self.filled(numbers(wanted)))
        raise WalletRefusal(REJECTED, "User rejected the request.")


@pytest.mark.parametrize("kind", ["swap", "wrap"])
def test_a_wallet_that_sends_and_says_that_it_was_declined(
    browser: Browser, town: Town, desk: ApiClient, kind: str
) -> None:
    """The service is the judge: the page follows the order, and offers nothing a second time."""
    wallet = SendingThenDeclining(town, allowed(desk))
    page = private(browser, town, wallet)
    if kind == "swap":
        quoted(page)
        signs(page)
    else:
        to_wrap(page, "1")
        page.click("button", "Wrap 1 ETH")
    page.see("It sent the transaction all the same.", FAULT)
    assert "Nothing was sent" not in page.text()
    confirmed(page, kind)
    assert len(wallet.sent) == 1
    page.close()


def test_a_cancel_that_is_sent_and_said_to_be_declined(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    wallet = SendingThenDeclining(town, allowed(desk))
    page = private(browser, town, wallet)
    quoted(page)
    with desk.no_blocks():
        signs(page)
        under_way(page)
        page.click("button", "Cancel swap")
        page.see("Cancelling", css(".line"))
        page.see("The cancel is under way.", STATUS)
        assert "declined the cancel" not in page.text()
    page.wait(css(".order[data-status=cancelled]"))
    assert len(wallet.sent) == 2
    page.close()


def test_a_declined_transaction_that_appears_later(
    browser: Browser, town: Town, desk: ApiClient
) -> None:
    """What the page said of the refusal is taken back as soon as an order refutes it."""
    wallet = DecliningThenSending(town, allowed(desk))
    page = private(browser, town, wallet)
    quoted(page)
    signs(page)
    page.see(DECLINED, FAULT)
    wallet.broadcast(wallet.later)
    page.see(SENT_SINCE, FAULT)
    assert "Nothing was sent" not in page.text()
    page.wait(QUOTE, "detached")
    page.close()


class OtherAmountWallet(HonestWallet):
    """Signs ten times the value that it was asked for."""

    def filled(self, fields: dict[str, Any]) -> dict[str, Any]:
        return super().filled(fields | {"value": 10 * fields["value"]})


class DearWallet(HonestWallet):
    """Sets a fee cap of 900 gwei."""

    def filled(self, fields: dict[str, Any]) -> dict[str, Any]:
        return super().filled(fields | {"maxFeePerGas": 900 * 10**9})


def test_a_wallet_that_signs_another_amount(browser: Browser, town: Town, desk: ApiClient) -> None:
    page = private(browser, town, OtherAmountWallet(town, desk.wallet()))
    to_wrap(page, "0.01")
    page.click("button", "Wrap 0.01 ETH")
    page.see("signed something else than this page asked for: 0.1 instead of 0.01 ETH.", FAULT)
    sees_order(page, "wrap", "0.1 ETH")
    page.close()


@pytest.mark.parametrize("kind", ["swap", "wrap", "approval"])
def test_a_wallet_that_sets_a_dear_fee_cap(
    browser: Browser, town: Town, desk: ApiClient, kind: str
) -> None:
    account = desk.wallet() if kind == "approval" else allowed(desk)
    page = private(browser, town, DearWallet(town, account))
    if kind == "wrap":
        to_wrap(page, "1")
        page.click("button", "Wrap 1 ETH")
    else:
        quoted(page)
        if kind == "swap":
            signs(page)
        else:
            page.click("button", "Approve exactly 1 WETH")
    page.see("Your wallet signed a network fee of up to", FAULT)
    page.see("Its fee cap is 900 gwei in place of", FAULT)
    page.close()


PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60"
    "e6kgAAAABJRU5ErkJggg=="
)
SCRIPTED = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' onload='parent.__ran()'/>"


def test_icons_of_wallets_are_pictures_alone(browser: Browser, town: Town) -> None:
    """Another host, another kind of data and too much of it give the first letter of the name."""
    icons = {
        "a": PIXEL, "b": SCRIPTED, "c": "https://elsewhere.invalid/x.png",
        "d": "data:text/html,<script>parent.__ran()</script>", "e": PIXEL + "A" * 70_000,
    }  # fmt: skip
    wallets = {name: HonestWallet(town, ACCOUNT) for name in icons}
    page = browser.page(wallets, icons=icons, width=360, height=740, scheme="dark")
    page.goto(town.facts["baseUrl"] + "/")
    page.click("button", "Connect wallet")
    state(page, "wallets")
    assert page.count(css("dialog .it")) == 5
    assert page.count(css("dialog .it img")) == 2
    assert page.texts(css("dialog .letter")) == ["C", "D", "E"]
    assert page.axe() == []
    assert page.overflow() <= 0
    assert page.reports() == []
    assert len(page.hosts()) == 1
    page.close()
