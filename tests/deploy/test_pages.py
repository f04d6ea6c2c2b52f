"""The pages of `docs/`: links lead somewhere, named tests and commands exist, numbers are ours."""

import re
import shlex
from pathlib import Path

import pytest

from quietswap.rules.trial.codec import METHOD
from quietswap.service.clients import credentials
from quietswap.service.orders import retention
from quietswap.service.storage import factory as opening
from quietswap.service.storage.postgres_locks import _LOST_HOST
from tests.deploy.files import DOCS, ROOT, parse_command

PAGES = sorted(DOCS.glob("*.md"))
WITH_COMMANDS = [
    *(page for page in PAGES if page.name not in {"cli.md", "spec-coverage.md"}),
    ROOT / "README.md",
    ROOT / "examples" / "README.md",
]
WRITTEN = re.compile(r"\]\(([^)\s]+)\)")


def heading_ids(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


LINKING = [
    *DOCS.rglob("*.md"),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    ROOT / "examples" / "README.md",
]


@pytest.mark.parametrize("page", LINKING, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_links_lead_somewhere(page: Path) -> None:
    for link in WRITTEN.findall(page.read_text("utf-8")):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in heading_ids(target), link


def test_the_index_lists_every_page() -> None:
    linked = set(WRITTEN.findall((DOCS / "README.md").read_text("utf-8")))
    assert {page.name for page in PAGES} - {"README.md"} <= linked


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_commands_within_the_text_exist(page: Path) -> None:
    """Fenced commands are run by test_commands.py."""
    for text in re.findall(r"`quietswap ((?!cannot)[^`]+)`", page.read_text("utf-8")):
        words = [word for word in shlex.split(text) if word not in {"--help", "--version", "…"}]
        assert not words or parse_command(words)


def test_security_names_files_and_tests_that_exist() -> None:
    text = (DOCS / "security.md").read_text("utf-8")
    tests = re.findall(r"`([\w/]+\.py)::(\w+)`", text)
    files = re.findall(r"`([\w/]+\.py)`", text)
    assert len(tests) > 40
    for file, name in tests:
        source = (ROOT / "tests" / file).read_text("utf-8")
        assert re.search(rf"^\s*(?:async )?def {name}\(", source, re.M), f"{file}::{name}"
    for file in files:
        assert (ROOT / "src" / "quietswap" / file).exists(), file


def test_every_threat_has_an_answer_and_a_test() -> None:
    text = (DOCS / "security.md").read_text("utf-8")
    tables = re.findall(r"^\|[^\n]*\| shown by \|\n\|[-|]+\n((?:\|.*\n)+)", text, re.M)
    rows = [row for table in tables for row in table.splitlines()]
    assert len(rows) > 30
    for row in rows:
        _, _threat, answer, shown, _ = row.split("|")
        assert re.search(r"\.(py|tsx?)`|quietswap keys", answer), row
        assert "::" in shown, row


def test_the_node_must_serve_what_the_code_asks_for() -> None:
    text = (DOCS / "running-on-mainnet.md").read_text("utf-8")
    [listed] = re.findall(r"JSON-RPC batches, and\n\n(.*?)\n\n", text, re.S)
    asked = set()
    package = ROOT / "src" / "quietswap"
    readers = [
        file
        for name in (
            "rules/chain",
            "rules/trial",
            "service/node",
            "service/tokens",
            "service/prices",
        )
        for file in (package / name).rglob("*.py")
    ]
    for file in (*readers, package / "service" / "wallet_rpc" / "node.py"):
        asked |= set(re.findall(r'"(eth_\w+|debug_\w+|trace_\w+)"', file.read_text("utf-8")))
    clients = {"eth_getTransactionByHash", "eth_sendRawTransaction"}  # of the caller's own node
    assert set(re.findall(r"`(\w+)`", listed)) == asked - clients
    assert METHOD in asked


def test_the_numbers_of_the_scaling_page_are_those_of_the_code() -> None:
    text = " ".join((DOCS / "scaling.md").read_text("utf-8").split())
    assert f"at most {opening.CONNECTIONS} for its requests and 1 for the lock" in text
    assert f"after at most {opening.PATIENCE_S:g} seconds" in text
    lost_s = int(_LOST_HOST["tcp_user_timeout"]) // 1000
    assert f"within {lost_s} seconds when its host disappears" in text
    assert credentials.LASTS_MS == 1000
    assert "API keys, remembered for one second" in text
    assert retention._QUOTES_KEPT_MS == 24 * 3600 * 1000
    assert "Quotes are deleted a day after they were issued" in text
    assert retention._BYTES_KEPT_MS == 3600 * 1000
    assert "signed bytes about an hour after their order is final" in text
