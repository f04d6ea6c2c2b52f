"""The page "A week of operation": every block of it, in its order, on real servers.

`tests/deploy/one_host.py` stands in for the hosts; what installs packages is tested by `make dist`.
"""

import io
import re
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from stat import S_IMODE

import pytest

from quietswap.sandbox.ports import free_port
from tests import waiting
from tests.deploy.files import DOCS, ROOT
from tests.deploy.one_host import Hosts, running_hosts
from tests.e2e.conftest import Town, running_town
from tests.e2e.test_release_before import BEFORE
from tests.spec.api_client import ApiClient
from tests.spec.wire import data, refused

PAGE = (DOCS / "operation.md").read_text("utf-8")
SECTIONS = [
    (title, re.findall(r"^```sh\n# (\w+)\n(.*?)^```", text, re.M | re.S))
    for title, text in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
]
_INSTALLS = re.compile(r'^(?:python3 -m venv|"/opt/[^"]+/bin/pip") .*\n', re.M)
RELEASE, NEXT = "9.9.0", "9.9.1"


@pytest.fixture
def town() -> Iterator[Town]:
    with running_town("--block-time", "0.5") as found:
        yield found


class Week:
    """The page's sections, executed one after the other."""

    def __init__(self, hosts: Hosts, town: Town) -> None:
        self.hosts, self.town = hosts, town
        self.read: list[str] = []
        self.api_key = ""

    def section(self, title: str, *, blocks: slice = slice(None), **more: str) -> list[str]:
        """Run a section's blocks and return what each printed."""
        self.read.append(title)
        return [
            self.hosts.run(host, _INSTALLS.sub("", self._here(lines)), **more)
            for host, lines in dict(SECTIONS)[title][blocks]
        ]

    def _here(self, lines: str) -> str:
        settings = Path(self.town.facts["settingsFile"]).read_text("utf-8")
        [relay] = re.findall(r'name = "Backup relay"\nurl = "(.+)"', settings)
        lines = re.sub("https://(your|second)-ethereum-node", self.town.facts["rpcUrl"], lines)
        return lines.replace("https://relay.example", relay)

    def wheel(self, release: str) -> None:
        """Let `dist/` have the wheel of a release, and its folder what pip installs from it."""
        for old in (self.hosts.folder / "dist").iterdir():
            old.unlink()
        (self.hosts.folder / "dist" / f"quietswap-{release}-py3-none-any.whl").touch()
        self.hosts.install(release)

    def desk(self) -> ApiClient:
        """Return a user of the service with the key that the page has made."""
        base = f"http://127.0.0.1:{self.hosts.port}"
        here = replace(self.town, facts={**self.town.facts, "baseUrl": base})
        folder = self.hosts.folder
        found = ApiClient(here, f"postgresql://postgres:@/quietswap?host={folder}/db1,{folder}/db2"
                                "&target_session_attrs=read-write")  # fmt: skip
        found.secret = self.api_key
        found.api = found.client(found.secret)
        return found

    def until_reloaded(self, times: int) -> None:
        """Wait until the service has loaded its settings so many times."""
        waiting.wait_until(
            lambda: self.hosts.log().count('"settings_loaded"') >= times, "no reload"
        )

    def loads(self) -> int:
        """Return how many times the service has loaded its settings."""
        return self.hosts.log().count('"settings_loaded"')


def _confirmed(desk: ApiClient) -> str:
    """Return the order of a new swap once the chain has decided."""
    order_id: str = desk.order(desk.wallet())["orderId"]
    assert desk.follow(order_id)["status"] == "confirmed"
    return order_id


def test_the_week(town: Town, tmp_path: Path) -> None:
    with running_hosts(town.facts) as hosts:
        week = Week(hosts, town)
        _install(week)
        with week.desk() as desk:
            _back_up_and_restore(week, desk)
            _fail_over(week, desk)
            _upgrade_and_back(week, desk, tmp_path)
            _rotate(week, desk)
        with week.desk() as desk:
            _lose_the_relay(week, desk)
            _lose_the_node(week, desk)
    assert set(week.read) == {title for title, blocks in SECTIONS if blocks}


def _install(week: Week) -> None:
    week.wheel(RELEASE)
    *_, printed = week.section("Install")
    [week.api_key] = re.findall(r"qs_[0-9a-f]{64}", printed)
    assert '"ok":true' in printed.replace(" ", "")
    secrets = week.hosts.folder / "etc/secrets"
    modes = {file.name: S_IMODE(file.stat().st_mode) for file in secrets.iterdir()}
    assert modes["owner_database"] == 0o600, "the service must not read it"


def _back_up_and_restore(week: Week, desk: ApiClient) -> None:
    kept = _confirmed(desk)
    printed = week.section("Backup")
    assert len(list((week.hosts.folder / "var/backups/base").iterdir())) == 1, printed
    after_backup = _confirmed(desk)
    quoted = desk.swap(desk.wallet())
    time = datetime.now(UTC).isoformat(sep=" ", timespec="milliseconds")
    without_quote = desk.swap(desk.wallet())
    orders = [data(desk.submit(each))["order"] for each in (quoted, without_quote)]
    for order in orders:
        assert desk.follow(order["orderId"])["status"] == "confirmed"
    week.section("Restore", blocks=slice(3), TIME=time)
    for order_id in (kept, after_backup):
        assert desk.follow(order_id)["status"] == "confirmed"
    for order in orders:
        refused(desk.api.get(f"/api/v1/mev/orders/{order['orderId']}"), 404, "ORDER_NOT_FOUND")
    again = data(desk.submit(quoted))["order"]
    assert again["txHash"] == orders[0]["txHash"]
    assert desk.follow(again["orderId"])["status"] == "confirmed"
    told = refused(desk.submit(without_quote), 409, "NONCE_TOO_LOW")["details"]
    assert (told["txHash"], told["mayBeMined"]) == (orders[1]["txHash"], True)
    [printed] = week.section("Restore", blocks=slice(3, None), HASH=orders[1]["txHash"])
    [order_id] = re.findall(r"txn_\w+", printed)
    assert desk.follow(order_id)["txHash"] == orders[1]["txHash"]
    week.section("Install", blocks=slice(2, 3))
    week.section("Backup", blocks=slice(1))


def _fail_over(week: Week, desk: ApiClient) -> None:
    before = _confirmed(desk)
    week.section("Failover")
    assert desk.follow(before)["status"] == "confirmed"
    _confirmed(desk)


def _upgrade_and_back(week: Week, desk: ApiClient, folder: Path) -> None:
    week.wheel(NEXT)
    week.section("Upgrade")
    _confirmed(desk)
    archive = ["git", "-C", str(ROOT), "archive", BEFORE, "src"]
    done = subprocess.run(archive, capture_output=True, check=False)
    if done.returncode == 0:  # this copy of the repository has the release before
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as files:
            files.extractall(folder, filter="data")
        week.hosts.install("0.3.0", folder / "src")
        week.section("Rollback", OLD="0.3.0")
        _confirmed(desk)
    week.section("Rollback", OLD=NEXT)
    _confirmed(desk)


def _rotate(week: Week, desk: ApiClient) -> None:
    loads = week.loads()
    printed, *_ = week.section("Rotate keys")
    [secret] = re.findall(r"qs_[0-9a-f]{64}", printed)
    week.until_reloaded(loads + 1)
    assert desk.api.get("/api/v1/mev/usage").status_code == 200, "the old key works for a day"
    week.api_key = secret


def _lose_the_relay(week: Week, desk: ApiClient) -> None:
    week.town.fault("relay", "down")
    loads = week.loads()
    week.section("Dead relay")
    week.until_reloaded(loads + 1)
    desk.until(lambda: _names_the_second(desk))
    _confirmed(desk)
    week.town.heal("relay")


def _names_the_second(desk: ApiClient) -> bool:
    """Return whether a quote names the second relay; the first one takes no order until then."""
    signed = desk.swap(desk.wallet())
    if signed.quote["mevProtection"]["provider"] == "Second relay":
        return True
    told = refused(desk.submit(signed), 503, "PROVIDER_UNAVAILABLE")
    assert told["details"]["reason"] == "NOT_SENT"
    return False


def _lose_the_node(week: Week, desk: ApiClient) -> None:
    (week.hosts.folder / "etc/secrets/node").write_text(
        f"http://127.0.0.1:{free_port()}\n", "utf-8"
    )
    loads = week.loads()
    week.hosts.run("app", "systemctl reload quietswap")
    week.until_reloaded(loads + 1)
    refused(desk.ask_quote(desk.wallet()), 503, "SERVICE_UNAVAILABLE")
    [printed] = week.section("Dead node")
    assert "warning: node.urls, number 1:" in printed
    assert "node.urls, number 2:" not in printed.replace("number 2: from", "")
    week.until_reloaded(loads + 2)
    _confirmed(desk)
