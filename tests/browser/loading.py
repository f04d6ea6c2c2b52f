"""Time and bytes of a first visit to the wallet page: `python -m tests.browser.loading`.

It runs a sandbox of its own. Each visit has an empty cache. The page's script is a module, so it
has drawn the page and listens to it when the browser ends `DOMContentLoaded`.
"""

import os
import sys
from statistics import median, quantiles
from typing import Any

from tests.browser.browser import Browser
from tests.browser.locators import role
from tests.browser.pictures import a_browser
from tests.e2e.conftest import running_town

VISITS = 30
_TIMES = """(() => {
  const [visit] = performance.getEntriesByType('navigation');
  const files = performance.getEntriesByType('resource')
    .filter((one) => one.name.includes('/assets/'))
    .map((one) => [one.name.split('/').pop(), one.encodedBodySize, one.decodedBodySize]);
  return { interactive: visit.domContentLoadedEventEnd, files };
})()"""


def visit(browser: Browser, url: str) -> dict[str, Any]:
    """Return `interactive` in ms and `files` (name, bytes sent, bytes) of one first visit."""
    page = browser.page()
    page.goto(url)
    page.wait(role("button", "Connect wallet"))
    found: dict[str, Any] = page.call("evaluate", expression=_TIMES)
    page.close()
    return found


def main() -> None:
    """Print the figures."""
    with running_town("--block-time", "2") as town, a_browser() as browser:
        url = town.facts["baseUrl"] + "/"
        visit(browser, url)
        visits = [visit(browser, url) for _ in range(VISITS)]
    times = [one["interactive"] for one in visits]
    *_, ninth = quantiles(times, n=10)
    load, _, _ = os.getloadavg()
    lines = [
        f"first visit, {VISITS} times: median {median(times):.0f} ms, 90 % {ninth:.0f} ms",
        f"load of the machine: {load:.1f} on {os.cpu_count()} cores",
        *(f"{name}: {size} bytes, {sent} as sent" for name, sent, size in visits[0]["files"]),
    ]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
