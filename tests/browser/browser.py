"""A real browser for tests: `Browser.page()` opens a page and returns the object that drives it.

Fixtures are in `tests/browser/conftest.py`. A test opens a page, acts as a person does, and waits
for what a person sees::

    page = browser.page(wallets={"w": HonestWallet(...)})
    page.goto(url)
    page.click("button", "Connect wallet")
    page.see("Private connection")

Controls are found by role and accessible name (`click("button", "Swap privately")`) or by label
(`fill("You sell", "1")`); `css(...)` names any element. Each page has its own context: own cookies.
`page(like=other)` shares the context of another page. Every wait has the bound of
`tests/waiting.py`. `reports()` lists violations of the content security policy, uncaught errors and
hostile scripts that ran: a test asserts that it is empty.

A wallet is any object with `request(method, params)`. It returns the result, or raises
`WalletRefusal`. It runs in a thread of this process while the test goes on, so it can sign with
keys of the sandbox. `page.emit(...)` sends its events to the page.

The browser is the packaged Chromium (`package.json`, installed by the Makefile), or an installed
Chrome; or an installed Firefox, for the tests of `test_firefox.py`. It runs in one Node process
with a TMPDIR of its own.
"""

import contextlib
import itertools
import json
import os
import queue
import shutil
import subprocess
import threading
import zlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any, Protocol

from tests.browser.locators import Locator, css, label, role
from tests.example_counts import LONG
from tests.waiting import LONG_S, WITHIN_S

FOLDER = Path(__file__).parent
_PATIENCE_S = 2 * WITHIN_S


class CannotRun(Exception):
    """No browser can run here; the message says why."""


class PageFailed(AssertionError):
    """The page was not as the test wanted it within the patience."""


class WalletRefusal(Exception):
    """The error of a wallet's answer (EIP-1193)."""

    def __init__(self, code: int | None, message: str, data: object = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, "data": data}


class Wallet(Protocol):
    """A wallet as the page sees it."""

    def request(self, method: str, params: list[Any]) -> Any:
        """Return the result of a request. Raises WalletRefusal."""


class Browser:
    """One browser: Chromium, or the Firefox at a path. Raises CannotRun."""

    def __init__(self, folder: Path, *, firefox: str = "") -> None:
        self._log = folder / "browser.log"
        self._environment = {
            **os.environ,
            "TMPDIR": str(folder),
            "PATIENCE_MS": str(int(_PATIENCE_S * 1000)),
            "FIREFOX": firefox,
            "DEBUG": "pw:browser",
            "DEBUG_FILE": str(self._log),
        }
        self._numbers = itertools.count(1)
        self._wallets: dict[tuple[str, str], Wallet] = {}
        self._writing = threading.Lock()
        self._threads = ThreadPoolExecutor(16, "wallet")
        self._start()

    def _start(self) -> None:
        node = shutil.which("node")
        if node is None:
            raise CannotRun("there is no Node on the PATH")
        if not (FOLDER / "node_modules" / "playwright-core").is_dir():
            raise CannotRun("the browser's packages are not installed: `make setup-dev` does it")
        self._process = subprocess.Popen(
            [node, str(FOLDER / "driver.mjs")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self._environment,
            text=True,
            encoding="utf-8",
        )
        self._answers: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}
        self._end = ""
        first = self._read()
        if first.get("event") != "ready":
            self.close()
            raise CannotRun(str(first.get("reason", "the browser's driver ended at its start")))
        self.version: str = first["version"]
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()

    def page(
        self,
        wallets: Mapping[str, Wallet] | None = None,
        *,
        names: Mapping[str, str] | None = None,
        icons: Mapping[str, str] | None = None,
        like: "Page | None" = None,
        **options: Any,
    ) -> "Page":
        """Open an empty page with injected wallets by id; `names` and `icons` are those they
        announce.

        Options: `width`, `height` in CSS pixels, `scheme` light or dark, `cookies` as Playwright
        takes them, and `memory`, what the page's store has before the first visit.

        A browser that has ended is started anew.
        """
        if self._end:
            self._stop()
            self._start()
        name = f"page-{next(self._numbers)}"
        wallets = wallets or {}
        self._wallets |= {(name, wallet_id): wallet for wallet_id, wallet in wallets.items()}
        shown = [
            {
                "id": one,
                "name": (names or {}).get(one, f"{one.title()} Wallet"),
                "icon": (icons or {}).get(one),
            }
            for one in wallets
        ]
        self.call("open", name=name, wallets=shown, like=like.name if like else None, **options)
        return Page(self, name)

    def call(self, command: str, **values: Any) -> Any:
        """Run one command of `driver.mjs` and return its result. Raises PageFailed."""
        number = next(self._numbers)
        answer: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._answers[number] = answer
        if self._end:
            answer.put({"error": self._end})
        self._write({"id": number, "command": command, **values})
        found = answer.get(timeout=LONG_S)
        if "error" in found:
            raise PageFailed(f"{command} {values}: {found['error']}")
        return found["result"]

    def close(self) -> None:
        """End the browser."""
        self._stop()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _stop(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it ended by itself
            self._process.stdin.close()
        try:
            self._process.wait(WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        if hasattr(self, "_reader"):
            self._reader.join(WITHIN_S)
        self._process.stdout.close()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        found: dict[str, Any] = json.loads(line) if line else {"event": "ended"}
        return found

    def _listen(self) -> None:
        while (message := self._read()).get("event") != "ended":
            if message.get("event") == "wallet":
                self._threads.submit(self._serve, message)
            else:
                self._answers.pop(message["id"]).put(message)
        lines = self._log.read_text("utf-8").splitlines()
        words = [line for line in lines if "[err]" in line or "did exit" in line]
        self._end = "\n".join(["the browser ended:", *words[-20:]])
        for answer in list(self._answers.values()):
            answer.put({"error": self._end})

    def _serve(self, message: dict[str, Any]) -> None:
        reply: dict[str, Any] = {"answer": message["request"]}
        try:
            wallet = self._wallets[message["page"], message["wallet"]]
            reply["result"] = wallet.request(message["method"], message["params"])
        except WalletRefusal as refusal:
            reply["error"] = refusal.error
        except Exception as fault:
            reply["error"] = {"code": -32603, "message": f"the test's wallet failed: {fault!r}"}
        self._write(reply)

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with self._writing, contextlib.suppress(BrokenPipeError):  # `_listen` tells of its end
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()


class Page:
    """One page of the browser, driven as a person does."""

    def __init__(self, browser: Browser, name: str) -> None:
        self._browser = browser
        self.name = name

    def call(self, command: str, **values: Any) -> Any:
        """Run one command of `driver.mjs` on this page. Raises PageFailed with what it shows."""
        try:
            return self._browser.call(command, name=self.name, **values)
        except PageFailed as failure:
            shown = self._browser.call("content", name=self.name)
            raise PageFailed(f"{failure}\n--- the page shows:\n{shown}") from None

    def goto(self, url: str) -> dict[str, Any]:
        """Open an address; return status and headers of its answer."""
        found: dict[str, Any] = self.call("goto", url=url)
        return found

    def reload(self) -> None:
        """Load the page again."""
        self.call("reload")

    def click(self, kind: str, name: str) -> None:
        """Click on the control with this role and name, as soon as it is enabled."""
        self.call("click", at=role(kind, name))

    def fill(self, name: str, text: str) -> None:
        """Type into the field with this label, in the place of what is there."""
        self.call("fill", at=label(name), text=text)

    def press(self, key: str) -> None:
        """Press a key, such as Tab or Enter."""
        self.call("press", key=key)

    def type(self, text: str) -> None:
        """Type on the keyboard, where the focus is."""
        self.call("type", text=text)

    def see(self, text: str, at: Locator | None = None) -> None:
        """Wait until an element (by default any in the body) shows a text."""
        self.call("wait", at=at or css("body"), state="visible", has=text)

    def wait(self, at: Locator, state: str = "visible") -> None:
        """Wait until an element is visible, hidden, attached or detached."""
        self.call("wait", at=at, state=state, has=None)

    def text(self, at: Locator | None = None) -> str:
        """Return what is shown, by default of the whole page."""
        return str(self.call("text", at=at or css("body")))

    def texts(self, at: Locator) -> list[str]:
        """Return the text of each element."""
        found: list[str] = self.call("texts", at=at)
        return found

    def count(self, at: Locator) -> int:
        """Return the number of elements now."""
        return int(self.call("count", at=at))

    def attribute(self, at: Locator, name: str) -> str | None:
        """Return an attribute of the element."""
        found: str | None = self.call("attribute", at=at, which=name)
        return found

    def is_enabled(self, kind: str, name: str) -> bool:
        """Return whether a control is enabled now."""
        return bool(self.call("enabled", at=role(kind, name)))

    def focused(self) -> dict[str, str]:
        """Return `tag` and `name` of the element with the focus."""
        found: dict[str, str] = self.call("focused")
        return found

    def emit(self, wallet: str, event: str, value: Any) -> None:
        """Send an event of a wallet to the page."""
        self.call("emit", wallet=wallet, event=event, value=value)

    def mangle(self, text: str | int, *, keep: str, only: str) -> None:
        """Replace texts (or numbers) in JSON answers of addresses like `only` by a hostile one.

        Texts whose member, or whose value written as `=value`, matches the expression `keep` stay.
        """
        self.call("mangle", text=text, keep=keep, only=only)

    def reports(self) -> list[str]:
        """Return violations of the policy, uncaught errors, dialogs and scripts that ran."""
        found: list[str] = self.call("reports")
        return found

    def hosts(self) -> list[str]:
        """Return the hosts that the page sent requests to."""
        found: list[str] = self.call("hosts")
        return found

    def axe(self, within: str | None = None) -> list[dict[str, Any]]:
        """Return what axe finds wrong for people with disabilities, by default on the whole page.

        `within` is a CSS selector: axe takes a second of CPU for a thousand elements.
        """
        found: list[dict[str, Any]] = self.call("axe", within=within)
        return found

    def looks(self, name: str) -> Iterator[int]:
        """Show the page in two windows, one light and one dark, with nothing that axe finds wrong.

        No colour depends on the window (tests/web/test_assets.py), so two of the four looks meet
        each window and each scheme; the name decides which two. `make test-long` shows all four.
        """
        turned = zlib.crc32(name.encode()) % 2
        for number, (width, scheme) in enumerate(product((1280, 360), ("light", "dark"))):
            if not LONG and (number in (0, 3)) == turned:
                continue
            self.look(width, scheme)
            assert self.axe() == [], (name, width, scheme)
            yield width

    def look(
        self, width: int, scheme: str = "light", *, height: int = 740, forced: bool = False
    ) -> None:
        """Show the page in another window, colour scheme, or with forced colours."""
        self.call("look", width=width, height=height, scheme=scheme, forced=forced)

    def screenshot(self, path: Path, at: Locator | None = None) -> None:
        """Write a PNG of the whole page (its window while a dialog is open), or of one element."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.call("screenshot", path=str(path), at=at)

    def small_screenshot(self, path: Path) -> None:
        """Write what `screenshot` writes as a WebP, a third as large."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.call("small", path=str(path))

    def overflow(self) -> int:
        """Return the CSS pixels by which the page is wider than its window."""
        return int(self.call("overflow"))

    def close(self) -> None:
        """Close the page, and its context if no other page has it."""
        self.call("close")
