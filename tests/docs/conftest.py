"""The browser of the web pages' tests, for the pages of the site."""

from tests.browser.conftest import browser

__all__ = ["browser"]
