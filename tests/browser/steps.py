"""The steps of a person on the wallet page."""

from eth_account.signers.local import LocalAccount

from quietswap.rules.vendors import kyberswap, sushi, uniswap, velora
from quietswap.sandbox.contracts.pools import WETH
from tests.browser.browser import Browser, Page
from tests.browser.locators import css, role
from tests.browser.wallets import HonestWallet
from tests.e2e.conftest import Town
from tests.spec.api_client import ApiClient

SWAP = "^Swap [0-9]"
"""The button says what it signs."""
PRIVATE = "Your wallet sends through this service"
ELSEWHERE = "Your wallet uses another RPC URL"
OF_ANOTHER = "Your wallet uses a private RPC URL of another session or account"
ORDER = css(".order")
VENDORS = (kyberswap, velora, sushi, uniswap)
FAULT = css("[role=alert]")
STATUS = role("status")


def opened(browser: Browser, town: Town, wallet: HonestWallet | None, **options: object) -> Page:
    """Open the page with one injected wallet."""
    page = browser.page({} if wallet is None else {"w": wallet}, **options)
    page.goto(town.facts["baseUrl"] + "/")
    return page


def connected(browser: Browser, town: Town, wallet: HonestWallet, **options: object) -> Page:
    """Open the page and connect the wallet."""
    page = opened(browser, town, wallet, **options)
    page.click("button", "Connect wallet")
    page.see("Private connection")
    return page


def private(browser: Browser, town: Town, wallet: HonestWallet, **options: object) -> Page:
    """Connect the wallet and set its private RPC URL up."""
    page = connected(browser, town, wallet, **options)
    page.click("button", "Set up private connection")
    page.see(PRIVATE)
    return page


def quoted(page: Page, amount: str = "1") -> None:
    """Ask for a quote of WETH to USDC, which the page has chosen already."""
    page.fill("You sell", amount)
    page.click("button", "Get quote")
    page.wait(css(".quote"))


def slippage(page: Page, text: str) -> None:
    """Unfold the settings, if they are not, and type a slippage."""
    if not page.call("evaluate", expression="document.querySelector('.gear').open"):
        page.call("click", at=css(".gear summary"))
    page.fill("Slippage", text)


def sources(page: Page) -> list[str]:
    """Unfold the table of sources and return its rows."""
    page.call("click", at=css(".quote summary"))
    return page.texts(css("tbody tr"))


def approved(page: Page, amount: str = "1", symbol: str = "WETH") -> None:
    """Approve what the quote needs, until the page offers the swap.

    The quote after an approval may have another router, if a source answered only one of the two.
    """
    quote = css(".quote")
    page.wait(quote)
    for _ in VENDORS:
        if page.count(role("button", SWAP)):
            return
        page.click("button", f"Approve exactly {amount} {symbol}")
        page.wait(quote, "hidden")
        page.wait(quote)
    page.wait(role("button", SWAP))


def swapped(page: Page, amount: str = "1") -> None:
    """Quote, approve and sign a swap."""
    quoted(page, amount)
    approved(page, amount)
    page.click("button", SWAP)
    page.see("Swap", css(".order h3"))


def sees_order(page: Page, kind: str, text: str) -> None:
    """Wait until the order of a kind shows a text."""
    page.see(text, css(f".order[data-kind={kind}]"))


def under_way(page: Page) -> None:
    """Wait until the relay has the swap. It may be offered to builders already."""
    states = ("submitted", "mining")
    page.wait(css(", ".join(f".order[data-kind=swap][data-status={one}]" for one in states)))


def confirmed(page: Page, kind: str) -> None:
    """Wait until the order of a kind is confirmed."""
    page.wait(css(f".order[data-kind={kind}][data-status=confirmed]"))


def allowed(desk: ApiClient) -> LocalAccount:
    """Return a wallet with funds that needs no approval: every router may move its WETH."""
    account = desk.wallet()
    for vendor in VENDORS:
        key = WETH.allowance_key(account.address, vendor.ROUTER)
        desk.rpc("anvil_setStorageAt", WETH.address, key, f"0x{2**255:064x}")
    return account
