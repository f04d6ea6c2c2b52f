"""Clients generated from `/openapi.json` pass the type checker and complete a swap and a wrap.

The commands are those of docs/generated-clients.md. Each runs once for each language, in a copy of
the folder of its program. None needs a network beyond the sandbox.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import loopback
from tests.deploy.files import DOCS, shell_lines
from tests.e2e.conftest import USDC, WETH, Town, running_town
from tests.waiting import LONG_S

pytestmark = pytest.mark.xdist_group("generated-clients")

FOLDER = Path(__file__).parent
PACKAGES = FOLDER / "typescript" / "node_modules"
INSTALLED = (
    f'npx() {{ {PACKAGES}/.bin/"$@"; }}; python() {{ {sys.executable} "$@"; }}; '
    f"PATH={Path(sys.executable).parent}:$PATH; "
)
"""`npx` with what is installed already: these tests install nothing."""
WALLET = {"typescript": 0, "python": 1}
EXAMPLE = {
    "typescript": (
        "example.ts",
        'const baseUrl = "", key = "", sellToken = "", buyToken = "", userAddress = "";',
    ),
    "python": ("quietswap_api/example.py", "url = key = wallet = weth = usdc = ''"),
}
"""Where the page's example is checked, and the names that it leaves to the reader."""
Run = Callable[[str], str]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Town]:
    with running_town("--block-time", "0.5") as found:
        yield found


@pytest.fixture(scope="module", params=WALLET)
def language(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def run(language: str, sandbox: Town, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run the page's command that begins with a text, in a folder with the generated client."""
    folder = tmp_path_factory.mktemp("generated") / language
    shutil.copytree(FOLDER / language, folder, ignore=shutil.ignore_patterns("node_modules"))
    if language == "typescript":
        assert (PACKAGES / ".bin" / "tsc").exists(), (
            "the Node packages are not installed: run `make setup-dev` (needs npm and Node 20)"
        )
        (folder / "node_modules").symlink_to(PACKAGES)
    environment = {
        "PATH": os.environ["PATH"],
        "QUIETSWAP_URL": sandbox.facts["baseUrl"],
        "QUIETSWAP_API_KEY": sandbox.facts["apiKey"],
        "QUIETSWAP_RPC_URL": sandbox.facts["rpcUrl"],
        "QUIETSWAP_PRIVATE_KEY": sandbox.facts["wallets"][WALLET[language]]["privateKey"],
        "POLL_SECONDS": "0.2",
    }

    def run(start: str) -> str:
        [line] = [
            line for line in shell_lines(DOCS / "generated-clients.md") if line.startswith(start)
        ]
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", INSTALLED + line],
            cwd=folder, env=environment, capture_output=True, text=True, timeout=LONG_S,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    run({"typescript": "npx openapi-typescript", "python": "openapi-python-client"}[language])
    path, names = EXAMPLE[language]
    (folder / path).write_text(f"{names}\n{fenced(language)}", "utf-8")
    return run


def fenced(language: str) -> str:
    """Return the page's example in a language. It is checked, but not run."""
    page = (DOCS / "generated-clients.md").read_text("utf-8")
    [block] = re.findall(rf"^```{language}\n(.*?)^```", page, re.M | re.S)
    return str(block)


def rpc(sandbox: Town, method: str, *params: Any) -> Any:
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return loopback.post(sandbox.facts["rpcUrl"], json=call).json()["result"]


def balance(sandbox: Town, token: str, owner: str) -> int:
    call = {"to": token, "data": f"0x70a08231{owner[2:].lower():0>64}"}
    return int(rpc(sandbox, "eth_call", call, "latest"), 16)


def test_the_strict_type_checker_accepts_client_and_program(language: str, run: Run) -> None:
    run({"typescript": "npx tsc --strict", "python": "mypy --strict"}[language])


def test_the_program_swaps_wraps_and_reads_an_error(language: str, run: Run, sandbox: Town) -> None:
    owner = sandbox.facts["wallets"][WALLET[language]]["address"]
    usdc = balance(sandbox, USDC, owner)
    command = {"typescript": "npx tsx", "python": "python"}[language]
    result = json.loads(run(f"{command} swap_and_wrap"))

    order = result["order"]
    assert order["status"] == "confirmed"
    record = sandbox.api.get(f"/api/v1/mev/orders/{order['id']}").json()["data"]
    assert (record["status"], record["txHash"]) == ("confirmed", order["txHash"])
    assert result["history"] == {"total": 1, "newest": order["id"]}
    least = int(record["orderParams"]["minReturnAmount"])
    assert balance(sandbox, USDC, owner) >= usdc + least > usdc

    wrap = rpc(sandbox, "eth_getTransactionByHash", result["wrap"])
    assert (wrap["from"], wrap["to"]) == (owner.lower(), WETH.lower())
    assert int(wrap["value"], 16) == 2 * 10**17
    assert rpc(sandbox, "eth_getTransactionReceipt", result["wrap"])["status"] == "0x1"
    assert result["error"] == {"code": "INVALID_AMOUNT", "provided": "0", "field": "sellAmount"}


def test_the_programs_bypass_no_type() -> None:
    files = [*FOLDER.glob("typescript/*.ts"), *FOLDER.glob("python/*.py")]
    assert len(files) == 4
    for file in files:
        code = re.sub("^ *//.*", "", file.read_text("utf-8"), flags=re.M)
        found = re.search(r"\b[aA]ny\b|as unknown|\bcast\(|type: ignore|@ts-(nocheck|ignore)", code)
        assert not found, f"{file.name}: {found}"


def test_the_packages_are_exact_and_record_no_download_address() -> None:
    folder = FOLDER / "typescript"
    package = json.loads((folder / "package.json").read_text("utf-8"))
    asked = package["dependencies"] | package["devDependencies"]
    locked = json.loads((folder / "package-lock.json").read_text("utf-8"))["packages"]
    assert {name: locked[f"node_modules/{name}"]["version"] for name in asked} == asked
    assert not any("resolved" in entry for entry in locked.values())
