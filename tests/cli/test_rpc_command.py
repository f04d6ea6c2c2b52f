"""`quietswap rpc`: the RPC URLs of wallets, made, listed and revoked by the operator."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from quietswap.cli import command
from quietswap.cli.options.times import time_text

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
OTHER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    file = tmp_path / "quietswap.toml"
    file.write_text(
        f'[storage]\nurl = "sqlite:///{tmp_path}/own.db"\n'
        f'[observe]\naudit_file = "{tmp_path}/audit.jsonl"\n[server]\nport = 9090\n',
        "utf-8",
    )
    return file


def quietswap(settings: Path, *words: str, code: int = 0, **options: Any) -> Result:
    done = CliRunner().invoke(command, [*words, "--settings", str(settings)], **options)
    assert done.exit_code == code, done.output
    return done


def as_json(settings: Path, *words: str, **options: Any) -> Any:
    return json.loads(quietswap(settings, *words, "--json", **options).stdout)


@pytest.fixture
def key(settings: Path) -> str:
    made: str = as_json(settings, "keys", "create")["id"]
    return made


def test_a_url_is_made_shown_once_listed_and_revoked(settings: Path, key: str) -> None:
    words = ("--key", key, "--wallet", OTHER, "--wallet", WALLET, "--name", "desk")
    made = as_json(settings, "rpc", "create", *words, "--unmatched", "private")
    base, _, secret = made["url"].rpartition("/")
    assert base == "http://127.0.0.1:9090/rpc"
    assert secret.startswith("qr_")
    assert len(secret) == 67
    assert made["wallets"] == [OTHER, WALLET]
    assert (made["name"], made["unmatched"], made["keyId"]) == ("desk", "private", key)
    [listed] = as_json(settings, "rpc", "list")
    assert listed == {name: value for name, value in made.items() if name != "url"}
    assert secret not in quietswap(settings, "rpc", "list").output
    assert as_json(settings, "rpc", "revoke", made["id"])["id"] == made["id"]
    assert as_json(settings, "rpc", "list")[0]["revokedAt"] is not None
    again = quietswap(settings, "rpc", "revoke", made["id"], code=1)
    assert f"there is no live RPC URL {made['id']}" in again.output


def test_the_text_output_is_for_people(settings: Path, key: str) -> None:
    empty = quietswap(settings, "rpc", "list")
    assert "Create one with: quietswap rpc create" in empty.stderr
    done = quietswap(settings, "rpc", "create", "--key", key, "--wallet", WALLET.lower())
    [url] = done.stdout.split()
    assert url.startswith("http://127.0.0.1:9090/rpc/qr_")
    assert "Keep it now" in done.stderr
    head, line = quietswap(settings, "rpc", "list").stdout.splitlines()
    assert head.split() == ["rpc", "state", "name", "unmatched", "key", "created", "wallets"]
    rpc_id, *facts, day, clock, wallet = line.split()
    assert (facts, wallet) == (["live", "-", "refuse", key], WALLET)
    created_ms = as_json(settings, "rpc", "list")[0]["createdAt"]
    assert f"{day} {clock}" == time_text(created_ms)
    assert "is revoked" in quietswap(settings, "rpc", "revoke", rpc_id).stdout
    assert "revoked" in quietswap(settings, "rpc", "list").stdout


def test_many_wallets_are_one_short_cell(settings: Path, key: str) -> None:
    wallets = [f"0x{number:040x}" for number in range(11, 19)]
    words = [word for wallet in wallets for word in ("--wallet", wallet)]
    as_json(settings, "rpc", "create", "--key", key, "--name", "the desk", *words)
    _, line = quietswap(settings, "rpc", "list").stdout.splitlines()
    assert "  the desk  refuse " in line
    first = as_json(settings, "rpc", "list")[0]["wallets"][0]
    assert line.endswith(f"  {first} +7")


def test_each_action_is_in_the_audit_file_without_the_secret(
    settings: Path, key: str, tmp_path: Path
) -> None:
    made = as_json(settings, "rpc", "create", "--key", key, "--wallet", WALLET)
    quietswap(settings, "rpc", "revoke", made["id"])
    quietswap(settings, "rpc", "create", "--key", "key_none", "--wallet", WALLET, code=1)
    text = (tmp_path / "audit.jsonl").read_text("utf-8")
    lines = [json.loads(line) for line in text.splitlines()][-3:]
    assert [(line["event"], line["outcome"]) for line in lines] == [
        ("rpc_url_created", "done"), ("rpc_url_revoked", "done"), ("rpc_url_created", "failed"),
    ]  # fmt: skip
    assert [line.get("rpc") for line in lines] == [made["id"], made["id"], None]
    assert "qr_" not in text


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--wallet", WALLET), 1, "there is no live key key_none"),
        ((), 2, "Missing option '--wallet'"),
        (("--wallet", "0x12"), 2, "an address is 0x followed by 40"),
        (("--wallet", WALLET.replace("F", "f")), 2, "checksum"),
        (("--wallet", "0x" + "0" * 40), 2, "zero address"),
        (("--wallet", WALLET) * 51, 2, "at most 50 wallets"),
        (("--wallet", WALLET, "--unmatched", "public"), 2, "'public' is not one of"),
        (("--wallet", WALLET, "--name", "x" * 101), 2, "at most 100"),
        (("--wallet", WALLET, "--name", "a\nb"), 2, "printable"),
    ],
)
def test_bad_input_is_refused_and_named(
    settings: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    done = quietswap(settings, "rpc", "create", "--key", "key_none", *words, code=code)
    assert said in done.output
    assert as_json(settings, "rpc", "list") == []


def test_a_revoked_key_gets_no_url_and_its_urls_end(settings: Path, key: str) -> None:
    as_json(settings, "rpc", "create", "--key", key, "--wallet", WALLET)
    quietswap(settings, "keys", "revoke", key)
    assert as_json(settings, "rpc", "list")[0]["revokedAt"] is not None
    done = quietswap(settings, "rpc", "create", "--key", key, "--wallet", WALLET, code=1)
    assert f"there is no live key {key}" in done.output


def test_a_rotated_key_passes_its_urls_on(settings: Path, key: str) -> None:
    made = as_json(settings, "rpc", "create", "--key", key, "--wallet", WALLET)
    new = as_json(settings, "keys", "rotate", key, "--overlap", "0m")["id"]
    [listed] = as_json(settings, "rpc", "list")
    assert (listed["id"], listed["keyId"], listed["revokedAt"]) == (made["id"], new, None)
    refused = quietswap(settings, "rpc", "create", "--key", key, "--wallet", WALLET, code=1)
    assert f"there is no live key {key}" in refused.output


def test_a_url_made_during_the_overlap_belongs_to_the_new_key(settings: Path, key: str) -> None:
    new = as_json(settings, "keys", "rotate", key)["id"]
    made = as_json(settings, "rpc", "create", "--key", key, "--wallet", WALLET)
    assert made["keyId"] == new
    quietswap(settings, "keys", "revoke", key)
    [listed] = as_json(settings, "rpc", "list")
    assert (listed["keyId"], listed["revokedAt"]) == (new, None)


def test_only_a_key_that_may_trade_gets_a_url(settings: Path, key: str) -> None:
    reading = as_json(settings, "keys", "create", "--name", "auditors", "--scope", "read")
    refused = quietswap(
        settings, "rpc", "create", "--key", reading["id"], "--wallet", WALLET, code=1
    )
    assert "may only read" in refused.output
    [owner] = [k["clientId"] for k in as_json(settings, "keys", "list") if k["id"] == key]
    quietswap(settings, "clients", "disable", owner)
    refused = quietswap(settings, "rpc", "create", "--key", key, "--wallet", WALLET, code=1)
    assert "is disabled" in refused.output


def test_both_actions_are_in_the_log_of_administrators(settings: Path, key: str) -> None:
    made = as_json(settings, "rpc", "create", "--key", key, "--wallet", WALLET)
    quietswap(settings, "rpc", "revoke", made["id"])
    told = [(e["event"], e["details"].get("rpc")) for e in as_json(settings, "audit", "list")]
    assert told[-2:] == [("rpc_url_created", made["id"]), ("rpc_url_revoked", made["id"])]


def test_a_secret_made_elsewhere_is_stored_once(settings: Path, key: str) -> None:
    words = ("rpc", "create", "--key", key, "--wallet", WALLET, "--secret-stdin")
    secret = "qr_" + "0f" * 32
    assert as_json(settings, *words, input=secret + "\n")["url"].endswith(f"/rpc/{secret}")
    again = quietswap(settings, *words, input=secret, code=1)
    assert "this secret is stored already, as rpc_" in again.output
    wrong = quietswap(settings, *words, input="hunter2", code=2)
    assert "hunter2" not in wrong.output
    assert "64 lower-case hexadecimal digits" in wrong.output


@pytest.mark.parametrize(
    ("server", "base"),
    [
        ("", "http://127.0.0.1:8080"),
        ('host = "::1"', "http://[::1]:8080"),
        ('host = "0.0.0.0"\nbehind_tls_proxy = true', "http://localhost:8080"),
        ('behind_tls_proxy = true\nallowed_hosts = ["swap.example"]', "https://swap.example"),
        (
            'host = "::"\nport = 443\ntls_cert = "c"\ntls_key = "k"\nallowed_hosts = ["a.example"]',
            "https://a.example:443",
        ),
        ('[wallet_rpc]\npublic_url = "https://rpc.example/"', "https://rpc.example"),
    ],
)  # fmt: skip
def test_the_url_is_the_one_that_wallets_reach(tmp_path: Path, server: str, base: str) -> None:
    file = tmp_path / "own.toml"
    storage = f'[storage]\nurl = "sqlite:///{tmp_path}/own.db"\n'
    file.write_text(f"{storage}[server]\n{server}\n", "utf-8")
    key = as_json(file, "keys", "create")["id"]
    made = as_json(file, "rpc", "create", "--key", key, "--wallet", WALLET)
    assert made["url"].rpartition("/rpc/")[0] == base
