"""The browser of the tests: what a test is told of one that ends."""

from pathlib import Path

import pytest

from tests.browser.browser import Browser, PageFailed


@pytest.mark.usefixtures("browser")
def test_a_browser_that_ends_is_told_and_replaced(tmp_path: Path) -> None:
    own = Browser(tmp_path)
    page = own.page()
    for command in "crash", "title", "title":
        with pytest.raises(PageFailed, match=r"the browser ended:\n.*did exit: .*SIGTRAP"):
            page.call(command)
    fresh = own.page()
    fresh.goto("data:text/html,<title>here</title>")
    assert fresh.call("title") == "here"
    own.close()
