"""The steps of a person on the wallet page."""

from eth_account.signers.local import LocalAccount

from quietswap.rules.vendors import kyberswap, sushi, uniswap, velora
from quietswap.sandbox.contracts.pools import TOKENS, WETH
from tests import loopback
from tests.browser.browser import Browser, Page
from tests.browser.locators import Locator, css, label, role
from tests.browser.wallets import HonestWallet
from tests.e2e.conftest import Town
from tests.e2e.test_tokens import LOUD, deployed, says
from tests.spec.api_client import ApiClient
from tests.waiting import WITHIN_S

USDT = TOKENS["USDT"]
PAIR = "/?sell=WETH&buy=USDC"
REVIEW = "Review swap"
CONFIRM = "^Confirm in "
PRIVATE = css(".chip.ok")
NOT_PRIVATE = css(".chip.no")
ELSEWHERE = "Not private yet"
GO = css(".card .go")
"""The one button of the card."""
QUOTE = css(".quote")
ORDER = css(".order")
VENDORS = (kyberswap, velora, sushi, uniswap)
FAULT = css("[role=alert]")
STATUS = css(".said")
DECLINED = "You declined it in W Wallet. Nothing was sent."
SENT_SINCE = "a transaction of this account was sent since it was asked"
RESET_OLD = "Step 1 of 3: reset the old 0.000001 USDT"
WAS_ASKED = css("[aria-label='What your wallet was asked']")


def opened(
    browser: Browser, town: Town, wallet: HonestWallet | None, path: str = PAIR, **options: object
) -> Page:
    """Open the page with one injected wallet; the form says WETH and USDC."""
    page = browser.page({} if wallet is None else {"w": wallet}, **options)
    page.goto(town.facts["baseUrl"] + path)
    return page


def connects(page: Page) -> None:
    """Connect the only wallet."""
    page.click("button", "Connect wallet")
    page.wait(css(".chip.account"))


def connected(browser: Browser, town: Town, wallet: HonestWallet, **options: object) -> Page:
    """Open the page and connect the wallet."""
    page = opened(browser, town, wallet, **options)  # type: ignore[arg-type]
    connects(page)
    return page


def sets_up(page: Page) -> None:
    """Let the wallet use the private RPC URL."""
    page.click("button", "Set up private sending")
    page.click("button", "Add it in my wallet")


def set_up(browser: Browser, town: Town, wallet: HonestWallet, **options: object) -> Page:
    """Connect the wallet and set its private RPC URL up, as a person does at the first visit."""
    page = connected(browser, town, wallet, **options)
    sets_up(page)
    page.wait(PRIVATE)
    return page


def private(
    browser: Browser, town: Town, wallet: HonestWallet, path: str = PAIR, **options: object
) -> Page:
    """Open the page as a person does who comes back: connected, with the private RPC URL.

    The session and its URL are made by the page's own requests, without the page: a third of what
    `set_up` costs.
    """
    base, address = town.facts["baseUrl"], wallet.account.address
    own = {"Sec-Fetch-Site": "same-origin", "Origin": base}
    with loopback.Client(base_url=base, headers=own, timeout=WITHIN_S) as client:
        client.post("/web/session", json={"address": address}).raise_for_status()
        made = client.post("/api/v1/mev/rpc", json={"wallets": [address], "name": "web page"})
        wallet.add_chain({"rpcUrls": [made.raise_for_status().json()["data"]["token"]["url"]]})
        cookies = [
            {"name": one.name, "value": one.value, "url": base, "httpOnly": True}
            for one in client.cookies.jar
        ]
    memory = {"quietswap.wallet": "test.w"}
    page = opened(browser, town, wallet, path, cookies=cookies, memory=memory, **options)
    page.wait(PRIVATE)
    return page


def quoted(page: Page, amount: str = "1") -> None:
    """Type an amount and wait for its quote."""
    page.fill("You pay", amount)
    page.wait(QUOTE)


def is_on(page: Page, name: str) -> bool:
    """Whether the card's button has this name, and is on."""
    at = role("button", name)
    return page.count(at) > 0 and page.attribute(at, "aria-disabled") == "false"


def state(page: Page, name: str) -> None:
    """Wait until the page is in a state."""
    page.wait(css(f"main[data-state={name}]"))


def slippage(page: Page, text: str) -> None:
    """Type a slippage."""
    page.click("button", "^Slippage")
    page.fill("Slippage in percent", text)
    page.press("Escape")


def choose(page: Page, side: str, text: str) -> None:
    """Choose the first listed token that is found by `text`; `side`: "Pay with" or "Receive"."""
    page.click("button", f"^{side}: ")
    page.fill("Search by symbol, name or address", text)
    page.wait(css("#found[aria-busy=false] .it"))
    page.press("Enter")
    page.wait(css("dialog"), "detached")


def to_wrap(page: Page, amount: str) -> None:
    """Choose ETH and WETH, and type an amount."""
    choose(page, "Pay with", "ETH")
    choose(page, "Receive", "WETH")
    page.fill("You pay", amount)


def chosen(page: Page, side: str) -> str:
    """Return the symbol of the token that is chosen."""
    return page.text(role("button", f"^{side}: "))


def typed(page: Page) -> str:
    """Return what is typed."""
    return str(page.call("value", at=label("You pay")))


def sources(page: Page) -> list[str]:
    """Return the rows of the sources."""
    return page.texts(css(".quote .sources li"))


def approved(page: Page, exact: str = "1", symbol: str = "WETH") -> None:
    """Approve what the quote needs, until the page offers the swap.

    The quote after an approval may have another router, if a source answered only one of the two.
    """
    either = css("main[data-state=approve], main[data-state=ready], main[data-state=guard]")
    for _ in VENDORS:
        page.wait(either)
        approve = f"Approve exactly {exact} {symbol}"
        if page.count(role("button", approve)) == 0:
            break
        page.click("button", approve)
        page.wait(role("button", approve), "detached")  # a block may have it before anybody looks
    page.wait(QUOTE)


def signs(page: Page) -> None:
    """Review the swap and let the wallet sign it."""
    page.click("button", REVIEW)
    page.click("button", CONFIRM)


def swapped(page: Page, amount: str = "1") -> None:
    """Quote, approve and sign a swap."""
    quoted(page, amount)
    approved(page, amount)
    signs(page)
    page.wait(order("swap"))


def order(kind: str, status: str = "") -> Locator:
    """Name the order of a kind that is followed, in a status."""
    return css(f".order[data-kind={kind}]" + (f"[data-status={status}]" if status else ""))


def sees_order(page: Page, kind: str, text: str) -> None:
    """Wait until the order of a kind shows a text."""
    page.see(text, order(kind))


def under_way(page: Page) -> None:
    """Wait until the relay has the swap. It may be offered to builders already."""
    states = ("submitted", "mining")
    page.wait(css(", ".join(f".order[data-kind=swap][data-status={one}]" for one in states)))


def confirmed(page: Page, kind: str) -> None:
    """Wait until the order of a kind is confirmed."""
    page.wait(order(kind, "confirmed"))


def to_orders(page: Page) -> None:
    """Go to the page of orders."""
    page.click("link", "^Orders")
    state(page, "orders")


def back(page: Page) -> None:
    """Leave the order for the form."""
    page.click("button", "New swap")
    page.wait(GO)


def namesake(town: Town) -> str:
    """Put an unlisted token with the symbol of USDC on the chain; return its address."""
    return deployed(town, LOUD[:-2] + "04", says(b"USDC"))


def owes_a_reset(desk: ApiClient) -> LocalAccount:
    """Return such a wallet whose routers may move a millionth of a USDT."""
    account = allowed(desk)
    for vendor in VENDORS:
        key = USDT.allowance_key(account.address, vendor.ROUTER)
        desk.rpc("anvil_setStorageAt", USDT.address, key, f"0x{1:064x}")
    return account


def allowed(desk: ApiClient) -> LocalAccount:
    """Return a wallet with funds that needs no approval: every router may move its WETH."""
    account = desk.wallet()
    for vendor in VENDORS:
        key = WETH.allowance_key(account.address, vendor.ROUTER)
        desk.rpc("anvil_setStorageAt", WETH.address, key, f"0x{2**255:064x}")
    return account
