"""Every fenced command of the README, the quickstart and the other pages runs as it is written.

Where a page names what only its reader has (a node, a settings file), the sandbox's stands in; a
free port and an empty folder come by the environment. ELSEWHERE lists what another test runs.
"""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from quietswap.sandbox.ports import free_port
from tests import loopback
from tests.deploy.files import DOCS, ROOT, shell_lines
from tests.e2e.conftest import Town
from tests.e2e.serving import _until_it_answers
from tests.waiting import LONG_S, WITHIN_S

README = ROOT / "README.md"
PAGES = [README, ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md"), *(ROOT / "examples").glob("*.md")]
RUN_BELOW = {"README.md", "quickstart.md", "running-on-mainnet.md", "runbook.md", "scaling.md",
             "sandbox.md", "generated-clients.md", "accounting.md", "webhooks.md", "wallets.md",
             "clients.md", "tokens.md", "watches.md", "operator.md", "cookbook.md",
             "operation.md"}  # fmt: skip
ELSEWHERE = {
    "quietswap sandbox --storage-url": "tests/e2e/test_outages.py starts it on real databases",
    **dict.fromkeys(
        ("npx ", "openapi-python-client ", "mypy ", "python swap_and_wrap.py"),
        "tests/generated_clients/test_generated_clients.py runs them in its folders",
    ),
}
MAKE = f"""
make() {{
    command make --old-file=.venv/.runtime --old-file=.venv/.dev \
        --old-file=node_modules/.installed \
        --old-file=tests/generated_clients/typescript/node_modules/.installed \
        --old-file=clients/typescript/node_modules/.installed \
        --old-file=web/node_modules/.installed \
        --old-file=tests/browser/node_modules/.installed \
        BIN={Path(sys.executable).parent} "$@"
}}
"""
"""`make` with what is installed already: these tests install nothing."""


def environment(town: Town, **more: str) -> dict[str, str]:
    ours = ("QUIETSWAP", "MAKE", "MFLAGS", "PYTEST")
    usual = {name: text for name, text in os.environ.items() if not name.startswith(ours)}
    return usual | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "QUIETSWAP_URL": town.facts["baseUrl"],
        "QUIETSWAP_API_KEY": town.facts["apiKey"],
        "QUIETSWAP_RPC_URL": town.facts["rpcUrl"],
        "QUIETSWAP_PRIVATE_KEY": town.facts["wallets"][0]["privateKey"],
    } | more  # fmt: skip


def bash(
    lines: list[str], town: Town, folder: Path = ROOT, **more: str
) -> "subprocess.CompletedProcess[str]":
    """Run lines one after the other, as far as they succeed; the test fails where one does not."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", MAKE + "\n".join(lines)],
        cwd=folder, env=environment(town, **more), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done


@contextmanager
def running(
    lines: list[str], town: Town, log: Path, folder: Path = ROOT, **more: str
) -> "Iterator[subprocess.Popen[bytes]]":
    """Run lines of which the last stays; Ctrl-C ends them, and nothing stays behind."""
    with log.open("wb") as written:
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", MAKE + "\n".join(lines)],
            cwd=folder, env=environment(town, **more), stdout=written, stderr=written,
            start_new_session=True,
        )  # fmt: skip
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.wait(WITHIN_S)


def lines_of(page: Path, *elsewhere: str) -> list[str]:
    """Return a page's commands but those that begin so; each of these must begin one."""
    found = list(shell_lines(page))
    apart = (*elsewhere, *(text for text in ELSEWHERE if any(li.startswith(text) for li in found)))
    for text in apart:
        assert any(line.startswith(text) for line in found), text
    return [line for line in found if not line.startswith(apart)]


def said_when_ready(log: Path, process: "subprocess.Popen[bytes]") -> str:
    """Return what the sandbox printed, once it is ready."""
    until = time.monotonic() + LONG_S
    while "Ctrl-C stops everything." not in (text := log.read_text("utf-8")):
        assert process.poll() is None, text
        assert time.monotonic() < until, text
        time.sleep(0.05)
    return text


def test_every_page_with_commands_is_run() -> None:
    with_commands = {page.name for page in PAGES if list(shell_lines(page))}
    assert with_commands == RUN_BELOW
    everywhere = [line for page in PAGES for line in shell_lines(page)]
    for text, reason in ELSEWHERE.items():
        assert any(line.startswith(text) for line in everywhere), text
        assert Path(ROOT, reason.split()[0]).exists()


def test_the_readmes_first_block(town: Town) -> None:
    lines = [line for line in lines_of(README) if re.match("make|  ", line)]
    assert [line.split()[1] for line in lines if line.startswith("make")] == ["demo", "test"]
    assert lines.pop().startswith("make test ")
    done = bash([*lines, "make --dry-run test"], town)
    assert "lost nothing" in done.stdout
    assert "/pytest -q -n" in done.stdout


def test_the_page_about_tokens(town: Town) -> None:
    done = bash(lines_of(DOCS / "tokens.md"), town)
    for word in ("USD Coin", "0.00 % on a simulated transfer", "RouterV2 0x6131", "indicative"):
        assert word in done.stdout


def test_the_page_about_watches(town: Town) -> None:
    done = bash(lines_of(DOCS / "watches.md"), town)
    assert '"state":"open"' in done.stdout
    assert '{"watches":[{"id":"wat_' in done.stdout


def test_the_readmes_service_serves(town: Town, tmp_path: Path) -> None:
    lines = [li for li in lines_of(README) if re.match("export|quietswap", li)]
    assert lines[-1].startswith("quietswap serve")
    lines = [li.replace("https://your-ethereum-node", town.facts["rpcUrl"]) for li in lines]
    port, log = str(free_port()), tmp_path / "log"
    with (
        running(lines, town, log, tmp_path, QUIETSWAP_SERVER__PORT=port) as server,
        loopback.Client(base_url=f"http://127.0.0.1:{port}", timeout=LONG_S) as api,
    ):
        _until_it_answers(server, api, log)
        [key] = re.findall(r"^qs_\S+$", log.read_text("utf-8"), re.M)
        ask = {"userAddress": town.facts["wallets"][0]["address"]}
        answer = api.get("/api/v1/mev/wrap/info", params=ask, headers={"X-API-Key": key})
        assert answer.json()["ok"], answer.text


def test_the_quickstarts_sandbox_prints_what_the_reader_pastes(town: Town, tmp_path: Path) -> None:
    [start] = [line for line in lines_of(DOCS / "quickstart.md") if line == "make sandbox"]
    log = tmp_path / "log"
    with running([start], town, log) as process:
        text = said_when_ready(log, process)
        pasted = [line.strip() for line in text.splitlines() if line.strip().startswith("export ")]
        unset = dict.fromkeys(("URL", "API_KEY", "RPC_URL", "PRIVATE_KEY", "SETTINGS"), "")
        unset = {f"QUIETSWAP_{name}": text for name, text in unset.items()}
        looks = [*pasted, "quietswap balances", "quietswap keys list"]
        done = bash(looks, town, **unset)
        assert re.search(r"WETH +[1-9]", done.stdout)
        assert "live" in done.stdout
        assert "    quietswap swap 1 WETH USDC" in text
    assert process.returncode in {0, -signal.SIGINT, 130}


def test_the_quickstart_works_as_written(town: Town) -> None:
    """Also after the swap of step 1, which stays in the history to the end."""
    lines = lines_of(DOCS / "quickstart.md", "make sandbox", "quietswap sandbox --fault")
    assert len(lines) >= 10
    lines = ["quietswap swap 0.5 WETH USDC --yes --json", *lines, "quietswap history --json"]
    done = bash(lines, town, QUIETSWAP_SETTINGS=town.facts["settingsFile"])
    [first, *_], history = re.findall(r"ord_\w+", done.stdout), done.stdout.splitlines()[-1]
    assert first in history
    assert done.stdout.count("confirmed") >= 3
    assert '"openapi": "3.1' in done.stdout or '"openapi":"3.1' in done.stdout


def test_the_quickstarts_fault_is_seen(town: Town, tmp_path: Path) -> None:
    page = DOCS / "quickstart.md"
    [start] = [line for line in lines_of(page) if line.startswith("quietswap sandbox --fault")]
    log = tmp_path / "log"
    with running([start], town, log) as process:
        text = said_when_ready(log, process)
        pasted = [line.strip() for line in text.splitlines() if line.strip().startswith("export ")]
        quote = bash([*pasted, "quietswap quote 1 WETH USDC"], town)
    row, reason = [line for line in quote.stdout.splitlines() if "kyberswap" in line]
    assert "▸" not in row, quote.stdout
    assert reason.strip().startswith("kyberswap: "), quote.stdout


def test_the_sandboxs_controls_work(town: Town) -> None:
    lines = lines_of(DOCS / "sandbox.md")
    assert len(lines) == 3
    try:
        bash(lines, town, CONTROL=town.facts["controlUrl"])
    finally:
        town.heal("kyberswap")


def test_the_mainnet_page(town: Town, tmp_path: Path) -> None:
    lines = lines_of(DOCS / "running-on-mainnet.md", "quietswap wrap", "quietswap sources check")
    lines = [li.replace("https://your-ethereum-node", town.facts["rpcUrl"]) for li in lines]
    done = bash(lines, town)
    assert '"result"' in done.stdout
    assert '"error"' not in done.stdout
    assert re.search("the settings (are good|have no fault)", done.stdout)  # its port may be in use


def test_the_first_small_wrap_asks(town: Town) -> None:
    page = DOCS / "running-on-mainnet.md"
    [line] = [line for line in lines_of(page) if line.startswith("quietswap wrap")]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        ["bash", "-c", line], env=environment(town), stdin=theirs, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    os.close(theirs)
    try:
        os.write(ours, b"y\n")
        said, _ = process.communicate(timeout=LONG_S)
    finally:
        os.close(ours)
    assert process.returncode == 0, said
    assert "Sign and submit? [y/N]" in said
    assert "confirmed" in said


@pytest.mark.parametrize("page", ["runbook.md", "running-on-mainnet.md"])
def test_the_operators_commands(page: str, town: Town) -> None:
    """The sandbox's settings stand in: those of `deploy/` would ask the real vendors."""
    looking = (
        *("export QUIETSWAP_SETTINGS", "curl --silent http"),
        *("quietswap sources check", "quietswap orders list"),
    )
    lines = [line for line in lines_of(DOCS / page) if line.startswith(looking)]
    assert lines
    lines = [
        line.replace("deploy/quietswap.toml", town.facts["settingsFile"])
        .replace("/etc/quietswap/quietswap.toml", town.facts["settingsFile"])
        .replace("http://127.0.0.1:8080", town.facts["baseUrl"])
        for line in lines
    ]
    assert "kyberswap" in bash(lines, town).stdout


def test_the_runbook_has_no_other_commands() -> None:
    apart = (
        *("export QUIETSWAP_SETTINGS", "curl --silent http"),
        *("quietswap sources check", "quietswap orders list"),
    )
    assert not lines_of(DOCS / "runbook.md", *apart)


def test_the_scaling_page_migrates_and_serves(town: Town, tmp_path: Path) -> None:
    """SQLite stands in for PostgreSQL; tests/deploy/test_replicas.py runs the real thing."""
    lines = lines_of(DOCS / "scaling.md")
    assert lines[-1].startswith("quietswap serve")
    port, log = str(free_port()), tmp_path / "log"
    here = {
        "QUIETSWAP_NODE__URLS": town.facts["rpcUrl"],
        "QUIETSWAP_STORAGE__URL": f"sqlite:///{tmp_path / 'own.sqlite3'}",
        "QUIETSWAP_SERVER__PORT": port,
    }
    with (
        running(lines, town, log, **here) as server,
        loopback.Client(base_url=f"http://127.0.0.1:{port}", timeout=LONG_S) as api,
    ):
        _until_it_answers(server, api, log)
    assert "applied" in log.read_text("utf-8")
