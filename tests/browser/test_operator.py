"""The operator view in a real browser: login, every page with real orders, actions, refresh."""

from collections.abc import Iterator

import pytest

from tests.browser.browser import Browser, Page, css
from tests.e2e.conftest import Town
from tests.spec.api_client import ApiClient
from tests.waiting import wait_until

VIEWS = ("Orders", "Sources", "Relay", "Node", "Clients", "Health", "Audit", "Overview")
TITLE, LIVE = css("h1"), css("#live")
CONFIRMED = css("details[open] tbody tr:first-child td:nth-child(2)")
"""The column of confirmed orders in the table of the first chart."""


def log_in(page: Page, town: Town) -> None:
    page.goto(town.facts["operatorUrl"])
    page.see("Log in", TITLE)
    page.fill("Operator's secret", town.facts["operatorSecret"])
    page.press("Enter")
    page.see("Overview", TITLE)


@pytest.fixture(scope="module")
def order_id(town: Town) -> str:
    """The id of a swap that was mined, as the operator finds it."""
    with ApiClient(town) as desk:
        found: str = desk.order(desk.wallet())["orderId"]
        desk.follow(found, "confirmed")
    return found


@pytest.fixture
def page(browser: Browser, town: Town) -> Iterator[Page]:
    """A page of an operator who is logged in. It must not break its policy."""
    found = browser.page()
    log_in(found, town)
    yield found
    assert found.reports() == []
    found.close()


WITHOUT_A_HINT = """[...document.querySelectorAll('.scroll')]
  .filter((one) => one.scrollWidth > one.clientWidth)
  .map((one) => getComputedStyle(one).backgroundAttachment)
  .filter((moves) => moves !== 'local, local, scroll, scroll')"""
"""Tables that are wider than their place, and have no shade at the side that says so."""


def looked_at(page: Page, name: str) -> None:
    """Check what nobody should find wrong on a page, in every look. Wide tables scroll by
    themselves.
    """
    for width in page.looks(name):
        assert page.call("evaluate", expression=WITHOUT_A_HINT) == [], (name, width)
    for width in (320, 360, 600, 1000, 1280, 1920):
        page.look(width)
        assert page.overflow() <= 0, (name, width)
    page.call("evaluate", expression="document.documentElement.style.fontSize = '200%'")
    for width in (360, 1280):
        page.look(width)
        assert page.overflow() <= 0, (name, width, "text of 200 %")
    page.call("evaluate", expression="document.documentElement.style.fontSize = ''")


def test_every_page_is_usable_by_everybody(order_id: str, page: Page) -> None:
    for view in VIEWS:
        page.click("link", view)
        page.see(view, TITLE)
        looked_at(page, view.lower())
    page.click("link", "Orders")
    page.fill("Order id, transaction hash, wallet, API key or client", order_id)
    page.press("Enter")
    page.click("link", order_id)
    page.see(f"Order {order_id}", TITLE)
    page.see("Events")
    looked_at(page, "order")
    page.click("link", "Sources")
    page.see("Sources", TITLE)
    page.call("click", at=css("section:has(#record) + section > details > summary"))
    page.see("Delivered against promised")
    looked_at(page, "charts of a source")


def test_the_figures_of_a_swap_arrive_by_themselves(town: Town, order_id: str, page: Page) -> None:
    """Nobody reloads the page: it follows the service."""
    page.click("link", "Orders")
    page.see("Orders", TITLE)
    page.see("Live: this page follows the service.")
    with ApiClient(town) as desk:
        fresh = desk.order(desk.wallet())["orderId"]
        page.see(fresh, LIVE)
    page.click("link", "Relay")
    page.see("endpoint", LIVE)


def test_a_chart_opens_as_a_table_and_stays_open(town: Town, order_id: str, page: Page) -> None:
    page.wait(css("figure:first-child svg[role=img]"))
    page.call("click", at=css("figure:first-child summary"))
    page.wait(CONFIRMED)
    looked_at(page, "table of a chart")
    before = page.texts(CONFIRMED)
    page.call("click", at=TITLE)  # a page does not refresh where the focus is
    with ApiClient(town) as desk:
        desk.follow(desk.order(desk.wallet())["orderId"], "confirmed")
    wait_until(lambda: page.texts(CONFIRMED) != before, lambda: page.texts(CONFIRMED))
    assert page.texts(CONFIRMED)


def test_a_pause_asks_once_and_is_shown_in_the_next_quote(town: Town, page: Page) -> None:
    page.click("link", "Sources")
    page.see("Sources", TITLE)
    page.call("goto", url=town.facts["operatorUrl"] + "/sources/velora/pause")
    page.see("Pause velora", TITLE)
    looked_at(page, "pause")
    page.fill("Reason (clients see it in each quote)", "<b>wrong</b> prices")
    page.click("button", "Pause the source")
    page.see("<b>wrong</b> prices", LIVE)
    try:
        with ApiClient(town) as desk:
            wallet = desk.wallet()

            def skipped() -> bool:
                sources = {one["source"]: one for one in desk.quote(wallet)["sources"]}
                return bool(
                    sources["velora"]["outcome"] == "skipped"
                    and sources["velora"]["reason"]
                    == "paused by the operator of this service: <b>wrong</b> prices"
                )

            wait_until(skipped, "velora is still asked")
            ready = desk.api.get("/readyz").json()
            assert ready["checks"]["sources"] == "ok"
    finally:
        page.click("link", "Resume this source…")
        page.click("button", "Resume the source")
    page.see("Sources", TITLE)
    page.click("link", "Audit")
    page.see("source resumed", LIVE)


def test_a_wrong_secret_and_the_logout(town: Town, browser: Browser) -> None:
    page = browser.page()
    page.goto(town.facts["operatorUrl"])
    page.fill("Operator's secret", "qo_" + "0" * 64)
    page.press("Enter")
    page.see("This secret is not valid.")
    looked_at(page, "login")
    page.fill("Operator's secret", town.facts["operatorSecret"])
    page.press("Enter")
    page.see("Overview", TITLE)
    page.click("button", "Log out")
    page.see("Log in", TITLE)
    page.goto(town.facts["operatorUrl"] + "/orders")
    page.see("Log in", TITLE)
    assert page.reports() == []
    page.close()
