"""The commands of the pages about clients, wallets, webhooks and accounting run as written."""

import re
from pathlib import Path

from quietswap.sandbox.ports import free_port
from tests.deploy.files import DOCS, ROOT
from tests.deploy.test_commands import bash, lines_of
from tests.e2e.conftest import Town


def test_the_accounting_page(town: Town, tmp_path: Path) -> None:
    lines = lines_of(DOCS / "accounting.md")
    wallet, settings = town.facts["wallets"][0]["address"], town.facts["settingsFile"]
    done = bash(lines, town, tmp_path, WALLET=wallet, QUIETSWAP_SETTINGS=settings)
    assert done.stdout.count("orderId,kind,status") == 1
    assert (tmp_path / "export.csv").read_text("utf-8").startswith("orderId,kind,status")


def test_the_webhooks_page(town: Town) -> None:
    lines = lines_of(DOCS / "webhooks.md")
    port = str(free_port())
    lines = [line.replace("127.0.0.1:9000", f"127.0.0.1:{port}") for line in lines]
    done = bash(lines, town, WEBHOOK_PORT=port)
    assert re.search(r"webhook.test +HTTP 204", done.stdout)
    assert re.search(r"^webhook.test *$", done.stdout, re.M)  # what the receiver prints
    # the receiver prints between the lines of the swap, and may print within one
    assert re.search(r"order.confirmed ord_\S+ confirmed$", done.stdout, re.M), done.stdout
    assert re.search(r"order.confirmed #\d+ +HTTP 204", done.stdout)
    assert "is deleted" in done.stdout


def test_the_page_shows_the_example_receiver() -> None:
    code = (ROOT / "examples" / "webhook_receiver.py").read_text("utf-8")
    assert f"```python\n{code}```" in (DOCS / "webhooks.md").read_text("utf-8")


def test_the_wallets_page(town: Town) -> None:
    lines = lines_of(DOCS / "wallets.md")
    here = {"QUIETSWAP_SETTINGS": town.facts["settingsFile"]}
    [key, *_] = re.findall(r"^key_\S+", bash(["quietswap keys list"], town, **here).stdout, re.M)
    lines = [line.replace("key_1a2b3c4d5e6f7081", key) for line in lines]
    done = bash(lines, town, **here)
    assert re.search(rf"^{town.facts['baseUrl']}/rpc/qr_[0-9a-f]{{64}}$", done.stdout, re.M)
    assert re.search(rf"^rpc_\S+ +live +desk +refuse +{key} ", done.stdout, re.M)


def test_the_page_of_clients(town: Town, tmp_path: Path) -> None:
    lines = lines_of(DOCS / "clients.md")
    url = f"sqlite:///{tmp_path / 'own.sqlite3'}"
    done = bash(lines, town, QUIETSWAP_STORAGE__URL=url)
    assert len(re.findall(r"^qs_[0-9a-f]{64}$", done.stdout, re.M)) == 3
    for event in ("client_created", "key_rotated", "client_limited", "client_enabled"):
        assert event in done.stdout


def test_the_page_of_operators(town: Town, tmp_path: Path) -> None:
    lines = lines_of(DOCS / "operator.md")
    url = f"sqlite:///{tmp_path / 'own.sqlite3'}"
    done = bash(lines, town, QUIETSWAP_STORAGE__URL=url)
    assert len(re.findall(r"^qo_[0-9a-f]{64}$", done.stdout, re.M)) == 1
    assert re.search(r"^velora +paused .*wrong prices since noon$", done.stdout, re.M)
    for event in ("operator_created", "source_paused", "source_resumed"):
        assert event in done.stdout
