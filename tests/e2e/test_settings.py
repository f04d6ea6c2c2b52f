"""Settings as an operator gives them: files, the environment, and what is refused."""

import os
import re
import subprocess
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from quietswap.cli import command
from quietswap.service.base.clock import SystemClock
from quietswap.service.server import asgi
from quietswap.service.server.settings import BadSettings, load, setting_names
from tests import forked

SOURCES = Path(__file__).parents[2] / "src" / "quietswap"
NODE = {"QUIETSWAP_NODE__URLS": "http://127.0.0.1:9"}


def check(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return forked.run(["serve", "--check", *options], forked.without_settings() | environment)


def test_without_a_node_it_names_the_setting_and_the_way_out() -> None:
    done = check()
    assert done.returncode == 2
    assert "node.urls is not set" in done.stderr
    assert "QUIETSWAP_NODE__URLS" in done.stderr
    assert "quietswap sandbox" in done.stderr


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("[source.openocean]\naccept_unbound = true\n", "source.openocean.accept_unbound"),
        ("[source.openocean]\n", "source.openocean"),
        ("[source.sushi]\naccept_unbound = false\n", "source.sushi.accept_unbound"),
    ],
)
def test_a_file_with_what_was_removed_is_told_so(text: str, name: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(text)
    done = check("--settings", str(file), **NODE)
    assert done.returncode == 2
    assert f"{name}: OpenOcean and accept_unbound were removed: only routes" in done.stderr


def test_what_commands_read_of_the_environment_is_no_setting() -> None:
    """A shell that has a variable of the sandbox or of a client starts the service, too."""
    files = [file for room in ("cli", "sandbox") for file in (SOURCES / room).rglob("*.py")]
    pattern = re.compile(r"\bQUIETSWAP(?:_[A-Z]+)+\b(?!_)")
    names = {name for file in files for name in pattern.findall(file.read_text("utf-8"))}
    assert {"QUIETSWAP_GETH", "QUIETSWAP_MCP_TOKEN", "QUIETSWAP_CA_FILE"} <= names
    assert setting_names(dict.fromkeys(names, "x")) == []


def test_with_a_node_the_defaults_are_good() -> None:
    assert check(**NODE).returncode == 0


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("QUIETSWAP_NODE__URL", "x", "there is no setting url"),
        ("QUIETSWAP_SERVR__PORT", "1", "there is no setting servr"),
        ("QUIETSWAP_NODE_URLS", "x", "did you mean QUIETSWAP_NODE__URLS?"),
        ("QUIETSWAP_SERVER", "1", "a whole section"),
        ("QUIETSWAP_SERVER__PORT", "99999", "<= 65535"),
        ("QUIETSWAP_SERVER__PORT", "http", "must be a whole number"),
        ("QUIETSWAP_QUOTES__SOURCES", "kyberswap,odos", "there is no source odos"),
        ("QUIETSWAP_QUOTES__SOURCES", "zeroex", "needs a key"),
        ("QUIETSWAP_QUOTES__SOURCES", "sushi,openocean", "OpenOcean and accept_unbound were rem"),
        ("QUIETSWAP_SOURCE__OPENOCEAN__URL", "http://x", "OpenOcean and accept_unbound were rem"),
        ("QUIETSWAP_SOURCE__SUSHI__ACCEPT_UNBOUND", "true", "OpenOcean and accept_unbound were"),
        ("QUIETSWAP_SOURCE__KYBERSWAP__ROUTERS", "0x00", "source.kyberswap.routers"),
        ("QUIETSWAP_STORAGE__URL", "mysql://x", "postgresql://"),
        ("QUIETSWAP_RELAY__FIRST__KIND", "public", "mev_blocker and private_rpc"),
        ("QUIETSWAP_RELAY__SWAP_ENDPOINT", "slow", "fast, noreverts and fullprivacy"),
        ("QUIETSWAP_QUOTES__TOKEN_ALLOW_LIST", "/nowhere.json", "token list: No such file"),
        ("QUIETSWAP_QUOTES__TOKEN_DENY_LIST", "package.json", "the member tokens is missing"),
        ("QUIETSWAP_SERVER__WORKERS", "2", "storage.redis_url"),
        ("QUIETSWAP_SERVER__TLS_CERT", "/x", "server.tls_key is not set"),
        ("QUIETSWAP_SERVER__TLS_KEY", "/x", "server.tls_cert is not set"),
        ("QUIETSWAP_SERVER__CORS_ORIGINS", "https://a.example,*", "server.cors_origins: *"),
        ("QUIETSWAP_NODE__URLS", "ftp://user:hush@node", "node.urls, number 1"),
        ("QUIETSWAP_SOURCE__ZEROEX__URL", "user:hush@host", "source.zeroex.url"),
        ("QUIETSWAP_PRICES__COINGECKO_URL", "hush", "prices.coingecko_url"),
        ("QUIETSWAP_STORAGE__URL", "postgresql://user:hush/hush@host/db", "storage.url: its host"),
        ("QUIETSWAP_STORAGE__URL", "postgresql://user:hu[sh@host/db", "storage.url: its host"),
        ("QUIETSWAP_STORAGE__REDIS_URL", "redis://:hush/hush@host", "storage.redis_url: its host"),
        ("QUIETSWAP_STORAGE__REDIS_URL", "http://:hush@host", "redis://, rediss://"),
        ("QUIETSWAP_STORAGE__REDIS_URL", "redis+sentinel://:hush@h:26379/m", "no Sentinel or"),
        ("QUIETSWAP_STORAGE__REDIS_URL", "redis+cluster://:hush@h:7000", "no Sentinel or Cluster"),
        ("QUIETSWAP_RELAY__FIRST__URL", "http://user:hush@relay.example", "relay.first.url"),
        ("QUIETSWAP_OBSERVE__OTLP_ENDPOINT", "collector:4318", "observe.otlp_endpoint"),
        ("QUIETSWAP_OBSERVE__OTLP_ENDPOINT", "https://u:hush@[bad", "observe.otlp_endpoint"),
        ("QUIETSWAP_NODE__URLS", "http://h, https://u:hush@[bad", "node.urls, number 2"),
        ("QUIETSWAP_NODE__URLS", "http://h:99999", "node.urls, number 1"),
        ("QUIETSWAP_NODE__URLS", "http://h:abc", "node.urls, number 1"),
        ("QUIETSWAP_NODE__URLS", "http://a b/", "node.urls, number 1"),
        ("QUIETSWAP_NODE__URLS", "https://u:12@hush/hush@node.example", "write %40 for @"),
        ("QUIETSWAP_NODE__URLS", "https://u:12?hush@node.example", "node.urls, number 1"),
        ("QUIETSWAP_RELAY__FIRST__URL", "https://u:12@hush/hush@relay.example", "relay.first.url"),
        ("QUIETSWAP_STORAGE__REDIS_URL", "redis://:12?hush@host", "%3F for ?"),
        ("QUIETSWAP_SOURCE__VELORA__URL", "http://127.0.0.1:3740 ", "source.velora.url"),
        ("QUIETSWAP_SOURCE__VELORA__URL", "https://hush.example ", "without blanks and #"),
        ("QUIETSWAP_SOURCE__VELORA__URL", "https://a.example/#hush", "source.velora.url"),
        ("QUIETSWAP_SOURCE__VELORA__URL", "https://a.example/\nhush", "source.velora.url"),
        ("QUIETSWAP_SOURCE__VELORA__URL", "https://a.example?k=hush", "must not contain a ?"),
        ("QUIETSWAP_RELAY__FIRST__URL", "https://a.example/?k=hush", "relay.first.url: paths are"),
        ("QUIETSWAP_RELAY__FIRST__URL", "https://a.example/#hush", "relay.first.url"),
        ("QUIETSWAP_QUOTES__CLIENT_NAME", "hush\nhush", "quotes.client_name: it holds"),
        ("QUIETSWAP_RELAY__REFERRER", "hush\udcff", "relay.referrer: it holds"),
        ("QUIETSWAP_SOURCE__VELORA__URL", "https://u:hush@[bad", "source.velora.url"),
        ("QUIETSWAP_RELAY__FIRST__URL", "https://u:hush@[bad", "relay.first.url"),
        ("QUIETSWAP_RELAY__FIRST__TRACKING_URL", "hush", "relay.first.tracking_url"),
        ("QUIETSWAP_TRACKING__EXPLORER_URL", "ftp://hush", "tracking.explorer_url"),
        ("QUIETSWAP_SERVER__TRUSTED_PROXIES", "10.0.0.0/8,proxy.example", "'proxy.example'"),
        ("QUIETSWAP_SERVER__TRUSTED_PROXIES", "10.0.0.1/8", "server.trusted_proxies"),
        ("QUIETSWAP_QUOTES__SOURCES", "velora,velora", "named twice"),
        ("QUIETSWAP_QUOTES__SOFT_DEADLINE_S", "3.5", "later than quotes.hard_deadline_s"),
        ("QUIETSWAP_STORAGE__REDIS_URL", "redis://127.0.0.1:99999", "its host and port"),
        ("QUIETSWAP_STORAGE__REDIS_URL", "redis://:hush@h/0?foo=1", "storage.redis_url"),
        ("QUIETSWAP_STORAGE__REDIS_URL", "redis://:hush@h/rates", "the database is a number"),
        ("QUIETSWAP_SERVER__ALLOWED_HOSTS", "api.example:443", "server.allowed_hosts"),
        ("QUIETSWAP_SERVER__ALLOWED_HOSTS", "*", "server.allowed_hosts"),
        ("QUIETSWAP_SERVER__MAX_KEY_BODIES_BYTES", "2048", "below server.max_body_bytes"),
        ("QUIETSWAP_TRACKING__WATCH_S", "99999999999", "<= 31536000"),
        ("QUIETSWAP_QUOTES__VALIDITY_S", "99999999999", "<= 86400"),
        ("QUIETSWAP_NODE__TIMEOUT_S", "inf", "<= 300"),
    ],
)
def test_a_bad_setting_is_refused_by_name(name: str, value: str, said: str) -> None:
    """In this process: the tests around it show that a process of its own says the same."""
    unset = {given: None for given in os.environ if "QUIETSWAP" in given}
    done = CliRunner().invoke(command, ["serve", "--check"], env=unset | NODE | {name: value})
    assert done.exit_code == 2
    assert isinstance(done.exception, SystemExit)
    assert said in done.stderr
    assert "hush" not in done.stderr + done.stdout


_SECOND = {"URL": "https://relay.example", "NAME": "Second", "KIND": "mev_blocker"}


@pytest.mark.parametrize(
    ("backup", "endpoint", "said"),
    [
        ({}, "fast", "it needs a second relay"),
        (_SECOND | {"URL": "https://boost.rpc.mevblocker.io"}, "fast", "of one operator"),
        (_SECOND | {"NAME": "MEV Blocker"}, "fast", "are equal"),
        (_SECOND | {"KIND": "private_rpc"}, "noreverts", "does not drop what would revert"),
        (_SECOND | {"KIND": "private_rpc"}, "fast", ""),
        (_SECOND, "noreverts", ""),
    ],
)
def test_a_backup_that_could_get_no_order_is_refused(
    backup: dict[str, str], endpoint: str, said: str
) -> None:
    unset = {given: None for given in os.environ if "QUIETSWAP" in given}
    own = {f"QUIETSWAP_RELAY__BACKUP__{name}": value for name, value in backup.items()}
    own |= {"QUIETSWAP_RELAY__BACKUP_AFTER_BLOCKS": "3"}
    own |= {"QUIETSWAP_RELAY__SWAP_ENDPOINT": endpoint}
    done = CliRunner().invoke(command, ["serve", "--check"], env=unset | NODE | own)
    assert ("relay.backup_after_blocks" in done.stderr, said in done.stderr) == (bool(said), True)
    assert (done.exit_code == 2) is bool(said), done.stderr


def test_each_faulty_setting_has_a_line_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "quietswap.toml"
    file.write_text("[tracking]\npoll_s = 0\n[server]\nprot = 1\n")
    bad = {"QUIETSWAP_QUOTES__VALIDITY_S": "0", "QUIETSWAP_NODE__URL": "x"}
    done = check("--settings", str(file), **NODE, **bad)
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if line.startswith("- ")]
    named = ("NODE__URL", "QUOTES__VALIDITY_S", "tracking.poll_s", "prot")
    assert len(lines) == len(named)
    for name in named:
        assert any(name in line for line in lines)


def test_the_environment_overrides_the_file(tmp_path: Path) -> None:
    file = tmp_path / "quietswap.toml"
    file.write_text('[server]\nport = 1234\n[source.velora]\nurl = "http://a"\n')
    settings = load(
        file,
        {
            "QUIETSWAP_SERVER__PORT": "4321",
            "QUIETSWAP_NODE__URLS": "http://one, http://two",
            "QUIETSWAP_SOURCE__VELORA__PER_SECOND": "2.5",
            "QUIETSWAP_RELAY__BACKUP__NAME": "Second",
            "HOME": "/",
        },
    )
    assert settings.server.port == 4321
    assert settings.node.urls == ("http://one", "http://two")
    assert settings.source["velora"].per_second == 2.5
    assert settings.source["velora"].url == "http://a"
    assert settings.relay.backup is not None
    assert settings.relay.backup.name == "Second"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[server]\nprot = 1\n", "server: there is no setting `prot`"),
        ("[server]\nport = 'x'\n", "server.port: must be a whole number, not text"),
        ("[server]\nport = 1.5\n", "server.port: must be a whole number, not a fraction"),
        ("[server]\nport = -1\n", "server.port: must be a whole number >= 0"),
        ("[node]\nurls = 'x'\n", "node.urls: must be a list, not text"),
        ("[web]\nenabled = 'a'\n", "web.enabled: must be true or false, not text"),
        ("server = 1\n", "server: must be a section, not a whole number"),
        ("[server\n", "not a TOML file"),
    ],
)
def test_a_bad_file_is_refused_with_the_place(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "quietswap.toml"
    file.write_text(text)
    with pytest.raises(BadSettings, match=said.replace("[", r"\[")):
        load(file, {"HOME": "/"})


def test_a_variable_of_a_wrong_type_is_named_with_what_it_must_be() -> None:
    with pytest.raises(BadSettings, match=r"^QUIETSWAP_SERVER__PORT: must be a whole number"):
        load(None, {"QUIETSWAP_SERVER__PORT": "abc"})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match="No such file"):
        load(tmp_path / "none.toml", {"HOME": "/"})


def test_all_bad_settings_of_a_section_are_named_at_once(tmp_path: Path) -> None:
    file = tmp_path / "quietswap.toml"
    file.write_text("[server]\nport = 'x'\nprot = 1\n[source.velora]\nurl = 1\nper_day = 'x'\n")
    with pytest.raises(BadSettings) as found:
        load(file, {"HOME": "/"})
    assert [line.partition(": must be")[0] for line in str(found.value).splitlines()] == [
        "server.port",
        "server: there is no setting `prot`",
        "source.velora.url",
        "source.velora.per_day",
    ]


async def test_a_start_that_fails_at_its_last_step_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that is told nothing would serve an application that answers 500 to everything."""

    def broken(*_: object) -> None:
        raise RuntimeError("the last step")

    monkeypatch.setattr(asgi, "_api", broken)
    url = f"sqlite:///{tmp_path / 'own.db'}"
    own = {"QUIETSWAP_STORAGE__URL": url, "QUIETSWAP_TRACKING__ENABLED": "false", "HOME": "/"}
    app = asgi.ServiceApp(load(None, NODE | own), SystemClock())
    told: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "lifespan.startup"}

    async def send(message: MutableMapping[str, Any]) -> None:
        told.append(dict(message))

    await app({"type": "lifespan"}, receive, send)
    assert told == [{"type": "lifespan.startup.failed", "message": "the last step"}]
