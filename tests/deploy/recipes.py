"""Running the recipes of docs/cookbook.md and their examples as programs of a wallet."""

import re
import subprocess
from pathlib import Path

from eth_account.signers.local import LocalAccount

from tests.deploy.files import DOCS, ROOT, shell_lines
from tests.deploy.test_commands import environment
from tests.spec.api_client import ApiClient
from tests.waiting import LONG_S

PAGE = (DOCS / "cookbook.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))
"""The text of each recipe by its title."""


def lines(title: str, folder: Path) -> list[str]:
    """Return the commands of one recipe."""
    page = folder / "section.md"
    page.write_text(SECTIONS[title], "utf-8")
    found = list(shell_lines(page))
    assert found
    return found


def client(desk: ApiClient, account: LocalAccount) -> dict[str, str]:
    """Return the variables of a program with a key and a wallet of its own."""
    return {
        "QUIETSWAP_API_KEY": desk.secret,
        "QUIETSWAP_PRIVATE_KEY": "0x" + bytes(account.key).hex(),
        "QUIETSWAP_SETTINGS": desk.town.facts["settingsFile"],
        "POLL_SECONDS": "0.2",
    }


def example(
    desk: ApiClient, account: LocalAccount, command: str, **more: str
) -> "subprocess.CompletedProcess[str]":
    """Run one command in the project's folder; its exit code is for the test."""
    return subprocess.run(
        ["bash", "-c", command], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True,
        env=environment(desk.town, **client(desk, account) | more), text=True, timeout=LONG_S,
        check=False,
    )  # fmt: skip
