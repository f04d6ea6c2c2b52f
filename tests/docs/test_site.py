"""The documentation builds strictly without network, and its pages ask nobody for anything."""

import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.browser.browser import Browser
from tests.browser.locators import css
from tests.deploy.files import DOCS, ROOT

pytestmark = pytest.mark.xdist_group("site")  # built once
NO_PYTHON_NETWORK = """
import socket
def refuse(*_, **__):
    raise OSError("the network is denied")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
"""
NO_NODE_NETWORK = """
require("node:net").Socket.prototype.connect = () => { throw new Error("the network is denied"); };
"""
LOADED = {
    "script": "src", "link": "href", "img": "src", "source": "src", "iframe": "src",
    "object": "data", "embed": "src", "use": "href", "image": "href",
}  # fmt: skip
"""What a browser fetches without being asked."""


class Page(HTMLParser):
    """What a page loads, where it links to, what can be linked to, and its styles."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.styles = ""
        self._in_style = False
        self.feed(file.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids.add(found.get("id", ""))
        self.styles += found.get("style", "")
        self._in_style = tag == "style"
        if tag in LOADED and LOADED[tag] in found:
            self.loads.append(found[LOADED[tag]])
        if tag == "a" and "href" in found:
            self.links.append(found["href"])

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.styles += data


@pytest.fixture(scope="module")
def no_network(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which neither Python nor Node can open a connection."""
    folder = tmp_path_factory.mktemp("denied")
    (folder / "sitecustomize.py").write_text(NO_PYTHON_NETWORK)
    (folder / "denied.cjs").write_text(NO_NODE_NETWORK)
    return os.environ | {
        "PYTHONPATH": str(folder),
        "NODE_OPTIONS": f"--require {folder / 'denied.cjs'}",
    }


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, no_network: dict[str, str]) -> Path:
    """The site, built as `make docs` does."""
    recipe = re.search(r"sphinx-build ((?:.*\\\n)*.*) docs site$", makefile(), re.M)
    assert recipe is not None
    folder = tmp_path_factory.mktemp("site")
    options = recipe[1].replace("\\\n", " ").replace("build/doctrees", f"{folder}/doctrees").split()
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, "docs", f"{folder}/html"],
        cwd=ROOT, env=no_network, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "html"


def makefile() -> str:
    return (ROOT / "Makefile").read_text("utf-8")


@pytest.mark.parametrize(
    "client",
    [
        [sys.executable, "-c", "import socket; socket.create_connection(('127.0.0.1', {port}))"],
        ["node", "-e", "require('node:net').connect({port}, '127.0.0.1')"],
    ],
    ids=["python", "node"],
)
def test_the_network_is_denied(client: list[str], no_network: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        command = [word.replace("{port}", port) for word in client]
        done = subprocess.run(command, env=no_network, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "the network is denied" in done.stderr


def test_every_page_is_built(site: Path) -> None:
    written = {file.relative_to(DOCS).with_suffix(".html") for file in DOCS.rglob("*.md")}
    built = {file.relative_to(site) for file in site.rglob("*.html")}
    assert written - {Path("README.html")} <= built
    assert "Quickstart" in (site / "index.html").read_text("utf-8")
    reference = (site / "client-reference.html").read_text("utf-8")
    assert all(f"#{name}" in reference for name in ("stream-quote", "swap", "swapresult"))


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    for file in site.rglob("*.html"):
        page = Page(file)
        assert page.loads
        for address in page.loads:
            assert not urlsplit(address).netloc, f"{file.name}: {address}"
            assert (file.parent / unquote(urlsplit(address).path)).exists(), address
        assert not list(outside(page.styles)), file.name


def test_no_stylesheet_or_script_loads_anything_from_elsewhere(site: Path) -> None:
    sheets = list(site.rglob("*.css")) + list(site.rglob("*.svg"))
    assert sheets
    for sheet in sheets:
        assert not list(outside(sheet.read_text("utf-8"))), sheet.name
    for script in site.rglob("*.js"):
        fetches = r"(?:fetch|import|importScripts|\.open)\(\s*[\"'`](?:https?:)?//"
        assert not re.search(fetches, script.read_text("utf-8")), script.name


def outside(style: str) -> Iterator[str]:
    yield from re.findall(r"@import[^;]*", style)
    yield from re.findall(r"url\(\s*[\"']?(?:https?:)?//[^)]*", style)


def test_every_link_within_the_site_leads_somewhere(site: Path) -> None:
    pages = {file: Page(file) for file in site.rglob("*.html")}
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            assert target.exists(), f"{file.name}: {link}"
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].ids, f"{file.name}: {link}"


def test_diagrams_are_drawn(site: Path) -> None:
    for name in ("orders", "sandbox"):
        assert '<div class="diagram"><svg' in (site / f"{name}.html").read_text("utf-8")


RESULTS = css("ul.search li")


def test_a_search_from_a_file_finds_the_page(site: Path, browser: Browser) -> None:
    """No server runs. The page asks no host, and a word finds its other forms, too."""
    page = browser.page()
    page.goto((site / "index.html").as_uri())
    page.fill("Search", "treasuries")
    page.press("Enter")
    page.see("Search finished")
    assert "Cookbook" in page.texts(RESULTS)
    page.call("click", at=css("ul.search li a[href^='cookbook.html']"))
    page.see("A treasury with a keystore")
    assert (page.hosts(), page.reports()) == ([], [])
    page.goto(f"{(site / 'search.html').as_uri()}?q=zyzzyva")
    page.see("did not match any documents")
    assert page.texts(RESULTS) == []
    page.close()


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and logs nothing."""

    def log_message(self, *_: object) -> None:
        pass


def test_a_search_over_http_shows_excerpts_and_asks_no_other_host(
    site: Path, browser: Browser
) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        host, page = f"127.0.0.1:{server.server_port}", browser.page()
        page.goto(f"http://{host}/search.html?q=keystore")
        page.see("the password of the keystore", css("ul.search li p.context"))
        assert any(text.startswith("Cookbook") for text in page.texts(RESULTS))
        assert (page.hosts(), page.reports()) == ([host], [])
        page.close()
        server.shutdown()


def test_each_broken_link_is_named(tmp_path: Path, no_network: dict[str, str]) -> None:
    links = ("#gone", "gone.md", "other.md#gone", "../deploy/gone.toml")
    text = "\n\n".join(f"[text]({link})" for link in (*links, "other.md"))
    (tmp_path / "index.md").write_text(f"# Title\n\n{text}\n")
    (tmp_path / "other.md").write_text("---\norphan: true\n---\n# Other\n")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-qW", "--keep-going", "-c", str(DOCS), str(tmp_path),
         str(tmp_path / "site")],
        env=no_network, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    for place, link in enumerate(links):
        line, name = 3 + 2 * place, link.rpartition("#")[2]
        assert re.search(rf"index\.md:{line}: WARNING: .*'{re.escape(name)}'", done.stderr), link
