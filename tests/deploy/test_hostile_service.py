"""No example signs, approves or submits what a hostile service puts in place of the request."""

import json
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from quietswap.cli.demo_sandbox import SandboxInfo
from quietswap.rules.safety.methods import METHODS
from tests.cli.sandbox_process import ROOT, environment, run_example
from tests.deploy.test_examples import EXAMPLES, town
from tests.example_counts import LONG

__all__ = ["town"]
pytestmark = pytest.mark.xdist_group("examples")

THIEF = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
NINE_HUNDRED = str(900 * 10**18)
ATTACKS: dict[str, dict[str, Any]] = {
    "wrap": {"to": THIEF, "value": NINE_HUNDRED},
    "wrap value": {"value": NINE_HUNDRED},
    "wrap call": {"data": "0x"},
    "swap": {"to": THIEF, "value": NINE_HUNDRED},
    "swap value": {"value": NINE_HUNDRED},
    "swap router": {"target": THIEF, "to": THIEF},
    "swap call": {"data": "0xa9059cbb" + "11" * 64},
    "swap chain": {"chainId": 137},
    "swap fee": {"maxFeePerGas": str(10**15)},
}
SCRIPTS = [*EXAMPLES, [sys.executable, "examples/pipeline.py"]]


@contextmanager
def hostile(url: str, operation: str, change: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """Pass requests on, and change what is to sign; yield the address and what was submitted."""
    submitted: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length", "0"))) or None
            if raw and b"signedTransaction" in raw and ("/wrap/" in self.path) == is_wrap:
                submitted.append(json.loads(raw))
            sent = {name: self.headers[name] for name in ("X-API-Key", "Content-Type", "Accept")
                    if self.headers[name]}  # fmt: skip
            try:
                with urlopen(Request(url + self.path, raw, sent, method=self.command)) as found:
                    status, body = found.status, found.read()
            except HTTPError as refusal:
                status, body = refusal.code, refusal.read()
            asked = "/wrap/quote" if is_wrap else "/api/v1/quote?"
            body = changed(body) if asked in self.path and status == 200 else body
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    def changed(body: bytes) -> bytes:
        found = json.loads(body)
        quote = found["data"]["quote"] if is_wrap else found["data"]
        rest = dict(change)
        if "target" in rest:
            quote["dexRoute"]["target"] = rest.pop("target")
        if "data" in rest and not is_wrap:
            quote["dexRoute"]["data"] = rest["data"]
        quote["mevProtection"]["transactionParams"] |= rest
        return json.dumps(found).encode()

    is_wrap = operation == "wrap"
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", submitted
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


CASES = [
    pytest.param(words, attack, id=f"{words[1].split('/')[1]}-{attack}")
    for number, words in enumerate(SCRIPTS)
    for first, attack in enumerate(ATTACKS)
    if "pipeline" not in words[1] or not attack.startswith("wrap")  # it wraps nothing
    if LONG or words[0] == sys.executable or (number + first) % 3 == 0
]
"""Each attack on each Python example, a third of them on each of the others."""


@pytest.mark.parametrize(("words", "attack"), CASES)
def test_nothing_else_is_signed(town: SandboxInfo, words: list[str], attack: str) -> None:
    operation = attack.split(maxsplit=1)[0]
    env = environment(town, 5)
    with hostile(env["QUIETSWAP_URL"], operation, ATTACKS[attack]) as (url, submitted):
        done = run_example(words, env | {"QUIETSWAP_URL": url})
    assert done.returncode != 0, done.stdout
    assert "not signed" in done.stderr, done.stderr
    assert submitted == []


def test_the_examples_know_the_methods_that_are_bound() -> None:
    bound = [key for key, row in METHODS.items() if row.layout]
    wanted = {(router.lower(), f"0x{selector}") for router, selector in bound}
    for name in ("python_flow.py", "quietswap.ts"):
        text = (ROOT / "examples" / name).read_text("utf-8")
        found, router = set(), ""
        table = text.partition("METHODS")[2].partition("\n}")[0]
        for word in re.findall(r'"(0x[0-9a-f]+)"', table):
            router = word if len(word) == 42 else router
            found |= set() if len(word) == 42 else {(router, word)}
        assert found == wanted, name
