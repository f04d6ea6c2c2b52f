"""Print the size of the package, and how much of it one request runs.

`python tools/size_figures.py` counts files, lines and imports. With `--requests` it also starts a
sandbox, serves the API in this process, and counts with `sys.setprofile` which files and functions
of the package one quote, one submission and one first status read run. Each kind of request is sent
once before, so that lazy imports and empty caches do not count.
"""

import ast
import asyncio
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "quietswap"
SLIVER_LINES = 80
_APP = "quietswap.server.asgi"
_QUIETSWAP = (sys.executable, "-m", "quietswap")
_JSON = {"Content-Type": "application/json"}


def _module(path: Path) -> str:
    parts = ["quietswap", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(tree: ast.AST) -> list[ast.Import | ast.ImportFrom]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]


def _imported(node: ast.Import | ast.ImportFrom, modules: set[str]) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names} & modules
    full = {f"{node.module}.{alias.name}" for alias in node.names} & modules
    return full or ({node.module or ""} & modules)


def static_figures() -> dict[str, str]:
    """Return the figures of the source text."""
    files = sorted(PACKAGE.rglob("*.py"))
    text = {path: path.read_text("utf-8") for path in files}
    trees = {path: ast.parse(text[path]) for path in files}
    modules = {_module(path): path for path in files}
    importers: Counter[str] = Counter()
    import_lines = 0
    for path, tree in trees.items():
        nodes = _imports(tree)
        import_lines += sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in nodes)
        found = set().union(*(_imported(node, set(modules)) for node in nodes)) - {_module(path)}
        importers.update(found)
    lines = {path: text[path].count("\n") for path in files}
    slivers = [
        name
        for name, path in modules.items()
        if path.name != "__init__.py" and lines[path] < SLIVER_LINES and importers[name] == 1
    ]
    total = sum(lines.values())
    return {
        "Python files in src": str(len(files)),
        "lines in src": str(total),
        f"modules with one importer and < {SLIVER_LINES} lines": str(len(slivers)),
        "share of import lines": f"{100 * import_lines / total:.1f} %",
    }


class _Profile:
    """Counts calls of the package's functions in this thread while it is entered."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str, int]] = Counter()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(PACKAGE)):
            self.calls[code.co_filename, code.co_qualname, code.co_firstlineno] += 1

    def __enter__(self) -> "_Profile":
        sys.setprofile(self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def __str__(self) -> str:
        files = {file for file, _, _ in self.calls}
        return f"{len(files)} files, {len(self.calls)} functions, {self.calls.total()} calls"


async def _ask(app: Any, key: str, method: str, path: str, body: object = None) -> Any:
    """Return `data` of one response of the ASGI application."""
    raw = json.dumps(body).encode() if body is not None else b""
    target, _, query = path.partition("?")
    headers = [(b"host", b"127.0.0.1"), (b"x-api-key", key.encode())]
    headers += [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(raw))]
    scope = {
        "type": "http", "http_version": "1.1", "method": method, "path": target, "headers": headers,
        "query_string": query.encode(), "scheme": "http", "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8080), "raw_path": target.encode(), "root_path": "", "state": {},
        "asgi": {"version": "3.0"},
    }  # fmt: skip
    parts: list[bytes] = []
    status = 0

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": raw, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        nonlocal status
        status = message.get("status", status)
        parts.append(message.get("body", b""))

    await app(scope, receive, send)
    answer = json.loads(b"".join(parts))
    if status != 200:
        raise RuntimeError(f"{method} {path}: {status} {answer}")
    return answer["data"]


class _Trader:
    """A wallet of the sandbox that quotes and signs swaps of 0.01 WETH for USDC."""

    def __init__(self, app: Any, key: str, facts: dict[str, Any], number: int) -> None:
        self._app, self._key = app, key
        self._weth, self._usdc = facts["tokens"]["WETH"], facts["tokens"]["USDC"]
        self._wallet, self._rpc_url = facts["wallets"][number], facts["rpcUrl"]

    async def quote(self) -> Any:
        """Return a fresh quote."""
        pair = f"sellToken={self._weth}&buyToken={self._usdc}&sellAmount={10**16}"
        path = f"/api/v1/quote?{pair}&userAddress={self._wallet['address']}"
        return await _ask(self._app, self._key, "GET", path)

    def _signed(self, tx: dict[str, Any]) -> str:
        from eth_account import Account

        signed = Account.sign_transaction(tx, self._wallet["privateKey"])
        return "0x" + signed.raw_transaction.hex().removeprefix("0x")

    async def approve(self) -> None:
        """Let the router of a quote move WETH, and wait until that is mined."""
        params = (await self.quote())["mevProtection"]["transactionParams"]
        data = "0x095ea7b3" + params["to"][2:].lower().zfill(64) + "f" * 64
        tx = {
            "to": self._weth, "data": data, "nonce": params["nonce"], "chainId": 1, "type": 2,
            "value": 0, "gas": 100_000, "maxFeePerGas": 10**10, "maxPriorityFeePerGas": 10**9,
        }  # fmt: skip
        sent = _rpc(self._rpc_url, "eth_sendRawTransaction", self._signed(tx))
        while _rpc(self._rpc_url, "eth_getTransactionReceipt", sent) is None:  # noqa: ASYNC110
            await asyncio.sleep(0.2)
        await asyncio.sleep(1)  # until the service's cached head is this block

    async def order(self) -> dict[str, Any]:
        """Return the body of POST /api/v1/mev/orders for a fresh quote, signed."""
        offer = await self.quote()
        params = offer["mevProtection"]["transactionParams"]
        tx = {name: params[name] for name in ("to", "data", "nonce", "chainId", "type")}
        tx |= {n: int(params[n]) for n in ("value", "maxFeePerGas", "maxPriorityFeePerGas")}
        tx["gas"] = int(params["gasLimit"])
        savings = {"estimatedProtection": {"amount": 0, "currency": "USD"}}
        return {
            "orderParams": {
                "fromToken": offer["sellToken"], "toToken": offer["buyToken"],
                "amount": offer["sellAmount"], "minReturnAmount": offer["minBuyAmount"],
                "userAddress": self._wallet["address"], "chainId": 1, "slippageBps": 50,
                "deadline": int(time.time()) + 600, "selectedTier": 2,
                "threatAnalysis": {
                    "threatScore": 0, "threatLevel": offer["mevAnalysis"]["threatLevel"],
                    "confidence": 0, "riskFactors": [], "timestamp": 0, "estimatedSavings": savings,
                },
                "transactionValueUsd": offer["scoring"]["netValueUsd"],
                "dexRoute": offer["dexRoute"],
            },
            "signedTransaction": self._signed(tx),
            "providerMetadata": offer["mevProtection"]["providerMetadata"],
        }  # fmt: skip


def _rpc(url: str, method: str, *params: object) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    request = urllib.request.Request(url, json.dumps(body).encode(), _JSON)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["result"]


async def _measure(app: Any, key: str, facts: dict[str, Any]) -> dict[str, str]:
    first, second = (_Trader(app, key, facts, number) for number in (0, 1))

    async def counted(call: Callable[[], Awaitable[Any]]) -> tuple[str, Any]:
        with _Profile() as profile:
            answer = await call()
        return str(profile), answer

    async def post(body: dict[str, Any]) -> str:
        placed = await _ask(app, key, "POST", "/api/v1/mev/orders", body)
        return f"/api/v1/mev/orders/{placed['order']['orderId']}"

    figures = {}
    for trader in (first, second):
        await trader.approve()
    figures["a quote"], _ = await counted(second.quote)
    status = await post(await first.order())
    await _ask(app, key, "GET", status)
    body = await second.order()
    figures["an order post"], status = await counted(lambda: post(body))
    figures["a first status read"], _ = await counted(lambda: _ask(app, key, "GET", status))
    return figures


async def _served(facts: dict[str, Any], folder: Path) -> dict[str, str]:
    """Serve the API in this process, beside the sandbox, with a database of its own."""
    settings = folder / "quietswap.toml"
    text = Path(facts["settingsFile"]).read_text("utf-8")  # noqa: ASYNC240
    text = re.sub(r'url = "sqlite:.*"', f'url = "sqlite:///{folder}/own.sqlite3"', text)
    settings.write_text(re.sub(r"poll_s = .*", "poll_s = 30", text), "utf-8")
    words = ("keys", "create", "--name", "figures", "--json", "--settings", str(settings))
    made = subprocess.run([*_QUIETSWAP, *words], check=True, capture_output=True)  # noqa: ASYNC221
    os.environ["QUIETSWAP_SETTINGS"] = str(settings)
    app = importlib.import_module(_APP).create_app()
    began, ending, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def receive() -> dict[str, str]:
        if began.is_set():
            await ending.wait()
            return {"type": "lifespan.shutdown"}
        return {"type": "lifespan.startup"}

    async def send(message: dict[str, str]) -> None:
        if message["type"].endswith("failed"):
            raise RuntimeError(message["message"])
        (ended if "shutdown" in message["type"] else began).set()

    serving = asyncio.create_task(app({"type": "lifespan"}, receive, send))
    await asyncio.wait({serving, asyncio.create_task(began.wait())}, return_when="FIRST_COMPLETED")
    try:
        return await _measure(app, json.loads(made.stdout)["key"], facts)
    finally:
        ending.set()
        await serving


def request_figures() -> dict[str, str]:
    """Return what single requests run, in a sandbox that is started for it."""
    words = (*_QUIETSWAP, "sandbox", "--json", "--free-ports")
    with (
        subprocess.Popen(words, stdout=subprocess.PIPE) as sandbox,
        tempfile.TemporaryDirectory() as folder,
    ):
        assert sandbox.stdout is not None
        try:
            return asyncio.run(_served(json.loads(sandbox.stdout.readline()), Path(folder)))
        finally:
            sandbox.terminate()


def main() -> None:
    """Print the figures, one a line."""
    figures = static_figures()
    if "--requests" in sys.argv:
        figures |= request_figures()
    for name, figure in figures.items():
        print(f"{name:48} {figure}")


if __name__ == "__main__":
    main()
