"""The web page loads in a real browser, with its policy, and asks no other host."""

from urllib.parse import urlsplit

import pytest

from tests.browser.browser import Browser, Page
from tests.browser.locators import role
from tests.e2e.conftest import Town
from tests.waiting import wait_until


def test_the_page_loads_with_its_policy(empty_page: Page, town: Town) -> None:
    url = town.facts["baseUrl"]
    answer = empty_page.goto(f"{url}/")
    assert answer["status"] == 200
    assert answer["headers"]["content-security-policy"].startswith("default-src 'none'; ")
    assert empty_page.call("title") == "quietswap"
    empty_page.wait(role("button", "Connect wallet"))
    assert empty_page.hosts() == [urlsplit(url).netloc]


def test_a_wrong_address_leads_back(empty_page: Page, town: Town) -> None:
    answer = empty_page.goto(f"{town.facts['baseUrl']}/order/xyz")
    assert answer["status"] == 404
    empty_page.see("There is no page here.")
    assert empty_page.axe() == []
    empty_page.click("link", "To the swap")
    empty_page.wait(role("button", "Connect wallet"))


@pytest.mark.parametrize("width", [1280, 360])
def test_the_words_are_explained(browser: Browser, town: Town, width: int) -> None:
    page = browser.page(width=width, height=740)
    page.goto(town.facts["baseUrl"] + "/")
    assert page.attribute(role("link", "Help"), "href") == "/web/help"
    page.goto(town.facts["baseUrl"] + "/web/help")
    page.see("Your wallet numbers its transactions")
    assert page.axe() == []
    assert page.overflow() <= 0
    page.close()


PLACES = """Object.fromEntries(['.hero', '.card', '.card .well', '.card .go'].map((part) => {
  const { x, y, width, height } = document.querySelector(part).getBoundingClientRect()
  return [part, [x, y, width, height].map(Math.round)]
}))"""


@pytest.mark.parametrize("width", [1280, 360])
def test_the_card_is_there_before_the_script(browser: Browser, town: Town, width: int) -> None:
    """What is drawn first is where the page puts it."""
    page = browser.page(width=width, height=740)
    page.mangle("", keep="^$", only=r"/assets/app-.*\.js$")  # no JSON: it does not arrive
    page.goto(town.facts["baseUrl"] + "/")
    page.see("You receive")
    assert page.count(role("button", "Connect wallet")) == 0
    assert page.axe() == []
    assert page.overflow() <= 0
    first = page.call("evaluate", expression=PLACES)
    page.close()
    page = browser.page(width=width, height=740)
    page.goto(town.facts["baseUrl"] + "/")
    page.wait(role("button", "Connect wallet"))
    assert page.call("evaluate", expression=PLACES) == first
    page.close()


SHIFTS = """new Promise((done) => {
  const sum = (list) => list.reduce((all, one) => all + (one.hadRecentInput ? 0 : one.value), 0)
  new PerformanceObserver((list) => done(sum(list.getEntries()))).observe(
    { type: 'layout-shift', buffered: true })
  requestAnimationFrame(() => requestAnimationFrame(() => done(0)))
})"""


@pytest.mark.parametrize("width", [1280, 360])
def test_nothing_moves_while_the_page_fills(browser: Browser, town: Town, width: int) -> None:
    """Until the indicative price of a first visit is there."""
    page = browser.page(width=width, height=740)
    page.goto(town.facts["baseUrl"] + "/?amount=1")
    page.see("Indicative")
    assert page.call("evaluate", expression=SHIFTS) <= 0.02
    page.close()


def test_the_policy_stops_what_it_should(town: Town, browser: Browser) -> None:
    """The browser's web security is on: this test fails with flags that switch it off."""
    page = browser.page()
    page.goto(town.facts["baseUrl"] + "/")
    asked = "fetch('https://elsewhere.invalid/').then(() => 'sent', () => 'stopped')"
    assert page.call("evaluate", expression=asked) == "stopped"
    wait_until(page.reports)
    assert page.reports() == ["policy: connect-src https://elsewhere.invalid/"]
    page.close()


def test_another_page_cannot_put_it_into_a_frame(town: Town, browser: Browser) -> None:
    """The frame shows the browser's own error; the page of another origin cannot read it."""
    page = browser.page()
    url = town.facts["baseUrl"]
    page.goto("data:text/html,<h1>outside</h1><iframe></iframe>")
    page.call(
        "evaluate",
        expression=f"new Promise(done => {{ const f = document.querySelector('iframe');"
        f" f.onload = () => done(true); f.src = '{url}/' }})",
    )
    assert page.call("frames") == ["chrome-error://chromewebdata/"]
    page.close()
