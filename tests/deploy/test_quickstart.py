"""Every command of the quickstart runs, in its order, against a live sandbox."""

import os
import subprocess
import sys
from pathlib import Path

from quietswap.cli.sandbox import _welcome
from tests.deploy.files import DOCS, ROOT, shell_lines
from tests.e2e.conftest import Town

NOT_HERE = ("make sandbox", "quietswap sandbox ")
"""The fixture starts the sandbox as these lines do."""


def bash(script: str, town: Town) -> subprocess.CompletedProcess[str]:
    usual = {name: text for name, text in os.environ.items() if "QUIETSWAP" not in name}
    wallet = town.facts["wallets"][0]
    environment = usual | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "QUIETSWAP_URL": town.facts["baseUrl"],
        "QUIETSWAP_API_KEY": town.facts["apiKey"],
        "QUIETSWAP_RPC_URL": town.facts["rpcUrl"],
        "QUIETSWAP_PRIVATE_KEY": wallet["privateKey"],
        "QUIETSWAP_SETTINGS": town.facts["settingsFile"],
    }
    return subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", script],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_quickstart_works_as_written(town: Town) -> None:
    lines = [li for li in shell_lines(DOCS / "quickstart.md") if not li.startswith(NOT_HERE)]
    assert len(lines) >= 10
    done = bash("\n".join(lines), town)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert done.stdout.count("confirmed") >= 3
    assert '"openapi": "3.1' in done.stdout or '"openapi":"3.1' in done.stdout


def test_the_nodes_test_on_the_mainnet_page_works(town: Town) -> None:
    [line] = [li for li in shell_lines(DOCS / "running-on-mainnet.md") if "eth_simulateV1" in li]
    done = bash(line, town)
    assert done.returncode == 0, done.stderr
    assert '"result"' in done.stdout
    assert '"error"' not in done.stdout


def test_the_sandbox_prints_what_the_quickstart_has_the_reader_paste(town: Town) -> None:
    lines = [line.strip() for line in _welcome(town.facts, 0.5).splitlines()]
    exported = " ".join(line for line in lines if line.startswith("export "))
    for name, fact in (("URL", "baseUrl"), ("API_KEY", "apiKey"), ("RPC_URL", "rpcUrl")):
        assert f"QUIETSWAP_{name}={town.facts[fact]}" in exported
    assert f"QUIETSWAP_PRIVATE_KEY={town.facts['wallets'][0]['privateKey']}" in exported
    [settings] = [line.split()[1] for line in lines if line.startswith("settings ")]
    assert Path(settings).exists()
