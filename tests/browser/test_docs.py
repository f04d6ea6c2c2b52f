"""The page at /docs: the quote first, search, and requests with the visitor's own key."""

import json
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from quietswap.service.server.routes import OPERATIONS
from tests.browser.browser import Browser, Page
from tests.browser.keyboard import tab_to
from tests.browser.locators import css, role
from tests.browser.test_hostile import HTML
from tests.e2e.conftest import Town
from tests.spec.api_client import ApiClient

LOOKS = [
    {"width": 1280, "height": 900, "scheme": "light"},
    {"width": 360, "height": 740, "scheme": "dark"},
]
SEARCH = "Search operations, fields and error codes"
KEY = "Your API key (kept in this page until you close it)"
SHOWN = css("section:not([hidden]) h2")
QUOTE = "#swap_quote "
STATUS, ANSWER = css(QUOTE + "[role=status]"), css(QUOTE + "form > pre")


@pytest.fixture
def look() -> dict[str, object]:
    """A phone; a test that looks at the whole page has both."""
    return LOOKS[1]


@pytest.fixture
def page(look: dict[str, object], browser: Browser, town: Town) -> Iterator[Page]:
    """The open page. It must keep its policy, ask no other host, and fit its window."""
    found = browser.page(**look)
    base = town.facts["baseUrl"]
    policy = found.goto(f"{base}/docs")["headers"]["content-security-policy"]
    assert "unsafe" not in policy
    yield found
    assert found.reports() == []
    assert found.hosts() == [urlsplit(base).netloc]
    assert found.overflow() == 0
    found.close()


def sent(page: Page, operation: str, **fields: str) -> None:
    """Unfold a form, fill fields in and send it."""
    page.call("click", at=css(f"#{operation} .try > summary"))
    for name, text in fields.items():
        page.call("fill", at=css(f"#{operation} [name={name.replace('_', '-')}]"), text=text)
    page.call("click", at=css(f"#{operation} form button:not([type])"))


@pytest.mark.parametrize("look", LOOKS, ids=["wide", "narrow"])
def test_it_starts_with_the_quote(page: Page) -> None:
    assert page.texts(SHOWN)[0] == "GET /api/v1/quote"
    top = "document.querySelector('section h2').getBoundingClientRect().bottom < innerHeight"
    assert page.call("evaluate", expression=top)
    page.call(
        "evaluate", expression="document.querySelectorAll('details').forEach(d => d.open = 1)"
    )
    assert page.axe() == []


def test_search_finds_operations_fields_and_error_codes(page: Page) -> None:
    every = page.count(SHOWN)
    page.fill(SEARCH, "insufficient_allowance")
    page.see(f"In 1 of {len(OPERATIONS)} operations.")
    assert page.texts(SHOWN) == ["POST /api/v1/mev/orders"]
    [refusal] = page.texts(css("[data-part]:not([hidden]) summary"))
    assert refusal.startswith("400 INSUFFICIENT_ALLOWANCE: ")
    page.fill(SEARCH, "no such word")
    page.see("Nothing found.")
    assert page.axe() == []
    page.fill(SEARCH, "revoke an rpc url")
    page.click("link", "Revoke an RPC URL")
    assert "DELETE /api/v1/mev/rpc/{tokenId}" in page.texts(SHOWN)
    assert "GET /api/v1/quote" not in page.texts(SHOWN)
    page.fill(SEARCH, "data.issues.allowance.needed")
    assert "GET /api/v1/quote" in page.texts(SHOWN)
    assert page.count(css("#swap_quote [data-part]:not([hidden])")) == 1
    page.fill(SEARCH, "")
    assert page.count(SHOWN) == every == len(OPERATIONS)


def test_a_quote_by_the_keyboard_alone(page: Page, desk: ApiClient) -> None:
    tab_to(page, SEARCH)
    page.type("best verified route")
    tab_to(page, "Try it")
    page.press("Enter")
    tab_to(page, KEY)
    page.type(desk.secret)
    tab_to(page, "userAddress")
    page.type(desk.wallet().address)
    tab_to(page, "slippageBps (optional)")
    page.type("70")
    page.press("Enter")
    page.see("HTTP 200 in ", STATUS)
    page.see('"transactionParams": {', ANSWER)
    quote = json.loads(page.text(ANSWER))["data"]
    assert round(int(quote["minBuyAmount"]) / int(quote["buyAmount"]), 4) == 0.993
    assert page.focused()["name"] == "slippageBps (optional)"
    assert page.axe(within="#swap_quote") == []


def test_a_wrong_key_is_refused_and_a_key_is_kept_nowhere(page: Page, town: Town) -> None:
    sent(page, "swap_quote", X_API_Key="qs_wrong")
    page.see("HTTP 401 in ", STATUS)
    page.see('"error": "UNAUTHORIZED"', ANSWER)
    refusal = town.api.get("/api/v1/quote", headers={"X-API-Key": "qs_other"}).json()
    assert json.loads(page.text(ANSWER)) == refusal
    assert page.axe(within="#swap_quote") == []
    other = css("#usage input[name=X-API-Key]")
    assert page.call("value", at=other) == "qs_wrong"
    stored = "localStorage.length + sessionStorage.length + document.cookie.length"
    assert page.call("evaluate", expression=stored) == 0
    page.reload()
    assert page.call("value", at=other) == ""


def test_hostile_answers_are_text_and_the_key_stays(page: Page, desk: ApiClient) -> None:
    """In no address, and in no message of the browser; an id cannot leave its place in the path."""
    page.mangle(HTML, keep="^$", only="/api/v1/quote")
    sent(page, "swap_quote", X_API_Key=desk.secret)
    page.see("</script><script>__ran()", ANSWER)
    assert page.count(css("main img, main iframe, main svg, a[href^='javascript']")) == 0
    sent(page, "order_status", orderId="../../../operator?$&#")
    page.see("HTTP 40", css("#order_status [role=status]"))
    asked = "[location, ...performance.getEntries().map((one) => one.name)].join(' ')"
    addresses = page.call("evaluate", expression=asked)
    assert "/mev/orders/..%2F..%2F..%2Foperator%3F%24%26%23" in addresses
    assert desk.secret not in addresses
    sent(page, "usage", X_API_Key="qs_ключ")
    page.see("No answer: ", css("#usage [role=status]"))
    assert "ключ" not in page.text()


def test_bodies_and_streams(page: Page, desk: ApiClient) -> None:
    body = {"operation": "wrap", "amount": "1000", "userAddress": desk.wallet().address}
    sent(page, "wrap_quote", X_API_Key=desk.secret, body=json.dumps(body))
    page.see('"operation": "wrap"', css("#wrap_quote form > pre"))
    sent(page, "event_stream")
    page.see("HTTP 200 in ", css("#event_stream [role=status]"))
    order = desk.order(desk.wallet())["orderId"]
    page.see(order, css("#event_stream form > pre"))
    page.click("button", "Stop")
    page.see("Stopped.", css("#event_stream [role=status]"))
    assert page.focused()["name"] == "Send"
    assert page.count(role("button", "Stop")) == 0
