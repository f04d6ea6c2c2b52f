"""How commands end: exit codes, one line of JSON whatever happens, and what to do next."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from quietswap.rules import errors
from tests.cli.conftest import Quietswap
from tests.client.fake_chain import FakeChain
from tests.client.fake_servers import WALLET, FakeServers, FakeService, Reply, refused
from tests.stored_orders import USDC

WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (("quote", "-1", "WETH", "USDC"), 2, "USAGE"),
        (("quote", "1", "WETH"), 2, "USAGE"),
        (("swap", "1", "WETH", "USDC"), 2, "USAGE"),
        (("swap", "1", "WETH", "USDC", "--keystore", "/no/such"), 2, "USAGE"),
        (("balances", "--url", "nonsense"), 2, "USAGE"),
        (("balances", "--url", "http://127.0.0.1:1"), 3, "Unreachable"),
        (("no-such-command",), 2, "USAGE"),
        (("keys", "list", "--settings", "/no/such"), 2, "USAGE"),
        (("sandbox", "--fault", "nobody=x"), 2, "USAGE"),
    ],
)
def test_json_whatever_happens(
    quietswap: Quietswap, words: tuple[str, ...], code: int, error: str
) -> None:
    result = quietswap(*words, "--json")
    assert result.exit_code == code
    assert result.stdout.count("\n") == 1
    answer = json.loads(result.stdout)
    assert (answer["ok"], answer["error"]) == (False, error)
    assert answer["message"] in result.stderr.replace("\n", "") + result.stderr


@pytest.mark.parametrize("words", [("keys", "list"), ("migrate",), ("orders", "list")])
def test_an_unreachable_database(
    quietswap: Quietswap, environment: dict[str, str | None], words: tuple[str, ...]
) -> None:
    environment["QUIETSWAP_STORAGE__URL"] = "postgresql://127.0.0.1:1/none"
    for name in ("URL", "API_KEY", "RPC_URL", "PRIVATE_KEY"):
        environment[f"QUIETSWAP_{name}"] = None
    result = quietswap(*words, "--json")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["error"] == "UNREACHABLE"
    assert "is storage.url right" in result.stderr


def test_keys_and_migrations_in_json(
    quietswap: Quietswap, environment: dict[str, str | None], tmp_path: Path
) -> None:
    environment["QUIETSWAP_STORAGE__URL"] = f"sqlite:///{tmp_path}/keys.sqlite"
    applied = json.loads(quietswap("migrate", "--json").stdout)["applied"]
    assert applied
    key = json.loads(quietswap("keys", "create", "--json").stdout)
    revoked = json.loads(quietswap("keys", "revoke", key["id"], "--json").stdout)
    assert (revoked["id"], revoked["revokedAt"] > 0) == (key["id"], True)
    assert quietswap("keys", "revoke", key["id"]).exit_code == 1


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (
            errors.InsufficientBalance(asset="ETH", required=2 * 10**18, available=5 * 10**17),
            "It needs 2 ETH and holds 0.5 ETH.",
        ),
        (
            errors.InsufficientBalance(asset=USDC, required=2_500_000, available=1),
            "It needs 2.5 USDC and holds 0.000001 USDC.",
        ),
        (
            errors.InsufficientLiquidity(
                sources=[{"source": "sushi", "outcome": "no_route", "reason": "none"}]
            ),
            "sushi: no route: none",
        ),
        (
            errors.InsufficientAllowance(token=WETH, router=USDC, required=10**18, current=0),
            "may move 0 WETH, the swap needs 1 WETH",
        ),
        (errors.RateLimitExceeded(retry_after=7, limit=300, window=60), "Try again in 7 s."),
    ],
)
def test_the_figures_behind_a_refusal(
    quietswap: Quietswap, service: FakeService, error: errors.RequestError, says: str
) -> None:
    service.next("quote", refused(error))
    result = quietswap("quote", "1", "WETH", "USDC")
    assert result.exit_code == 1
    assert says in result.stdout


def test_json_says_when_to_try_again(quietswap: Quietswap, service: FakeService) -> None:
    service.next("quote", refused(errors.RateLimitExceeded(retry_after=7, limit=300, window=60)))
    answer = json.loads(quietswap("quote", "1", "WETH", "USDC", "--json").stdout)
    assert (answer["retryAfter"], answer["limit"], answer["window"]) == (7, 300, 60)


def test_output_that_cannot_be_written(outside: FakeServers) -> None:
    words = ("quote", "1", "WETH", "USDC", "--url", outside.url, "--wallet", WALLET)
    env = {"QUIETSWAP_API_KEY": "qs_right", "PATH": os.environ["PATH"]}
    for more in ((), ("--json",)):
        with Path("/dev/full").open("w", encoding="utf-8") as full:
            done = subprocess.run(
                [sys.executable, "-m", "quietswap", *words, *more], env=env, stdout=full,
                stderr=subprocess.PIPE, text=True, check=False,
            )  # fmt: skip
        assert done.returncode == 1
        why = "the output cannot be written: No space left on device"
        assert done.stderr == f"Error: {why}; what the command has done stays done\n"


def test_a_web_page_instead_of_the_service(quietswap: Quietswap, service: FakeService) -> None:
    service.next("wrap info", Reply(b"<html>"))
    result = quietswap("balances")
    assert result.exit_code == 3
    assert "something else than a quietswap service answered there" in result.stdout
    assert "Is --url (QUIETSWAP_URL) a quietswap service" in result.stdout


@pytest.mark.parametrize(
    "body",
    [
        {"error": "not found", "routes": ["GET /"]},
        {"ok": True, "error": "not found"},
        {"ok": "false", "error": "not found"},
    ],
)
def test_an_error_of_another_server_is_none_of_this_service(
    quietswap: Quietswap, service: FakeService, body: dict[str, object]
) -> None:
    service.next("quote", Reply(body, 404))
    result = quietswap("quote", "1", "WETH", "USDC", "--json")
    assert result.exit_code == 3
    answer = json.loads(result.stdout)
    assert (answer["error"], answer["ok"]) == ("BadAnswer", False)
    assert "(HTTP 404" in answer["message"]
    assert "Is --url (QUIETSWAP_URL) a quietswap service" in result.stderr


def test_a_code_of_a_newer_service_is_a_refusal(quietswap: Quietswap, service: FakeService) -> None:
    service.next("quote", Reply({"ok": False, "error": "NEWER_CODE"}, 404))
    result = quietswap("quote", "1", "WETH", "USDC", "--json")
    assert (result.exit_code, json.loads(result.stdout)["error"]) == (1, "NEWER_CODE")


def test_the_wallets_own_node_is_away(
    quietswap: Quietswap, environment: dict[str, str | None]
) -> None:
    environment["QUIETSWAP_RPC_URL"] = "http://127.0.0.1:1"
    result = quietswap("wrap", "1", "--yes")
    assert result.exit_code == 3
    assert "Is --rpc-url (QUIETSWAP_RPC_URL) right" in result.stdout


@pytest.mark.parametrize(
    "reply",
    [
        Reply({"ok": True, "data": {}}),
        Reply({"result": None}),
        Reply({"result": "0x"}),
        Reply({"result": "0x1"}, 404),
        Reply({"error": "NOT_FOUND"}, 404),
        Reply(b"<html>"),
    ],
)
@pytest.mark.parametrize("words", [("balances",), ("wrap", "1", "--yes")])
def test_something_else_at_the_nodes_address(
    quietswap: Quietswap,
    environment: dict[str, str | None],
    service: FakeService,
    reply: Reply,
    words: tuple[str, ...],
) -> None:
    environment["QUIETSWAP_RPC_URL"] = f"{environment['QUIETSWAP_URL']}/elsewhere"
    service.next("status", reply)
    result = quietswap(*words)
    assert result.exit_code == 3
    assert "something else than an Ethereum node answered there" in result.stdout


def test_a_token_balance_that_did_not_come_is_not_zero(
    quietswap: Quietswap, node: FakeChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node, "eth_call", lambda *_: "0x")
    result = quietswap("balances", "--json")
    assert result.exit_code == 3
    assert "no token contract" in json.loads(result.stdout)["message"]


@pytest.mark.parametrize(
    "words",
    [
        ("balances",),
        ("wrap", "1", "--yes"),
        ("swap", "1", "WETH", "USDC", "--yes"),
        ("quote", "1", "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984", "USDC"),
    ],
)
def test_a_node_of_another_chain_is_not_the_services_fault(
    quietswap: Quietswap, node: FakeChain, service: FakeService, words: tuple[str, ...]
) -> None:
    node.chain_id = 11155111
    result = quietswap(*words, "--json")
    assert result.exit_code == 1
    answer = json.loads(result.stdout)
    assert answer["error"] == "WrongChain"
    assert "your RPC URL leads to a node of chain 11155111" in answer["message"]
    assert "trust" not in result.stderr
    assert service.bodies("order") == service.bodies("wrap order") == []


def test_a_token_that_is_none(quietswap: Quietswap, node: FakeChain) -> None:
    node.decimals = None
    result = quietswap("quote", "1.5", "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984", "USDC")
    assert result.exit_code == 2
    assert "is not an ERC-20 token" in result.stderr


def test_what_the_service_says_cannot_paint(quietswap: Quietswap, service: FakeService) -> None:
    body = {"ok": False, "error": "X", "message": "\x1b[2Jfine\x07\r", "suggestion": "a\u202eb"}
    service.next("quote", Reply(body, 400))
    text = quietswap("quote", "1", "WETH", "USDC").stdout
    assert "fine" in text
    assert all(character.isprintable() or character == "\n" for character in text)


@pytest.mark.parametrize(("mode", "warns"), [(0o600, False), (0o644, True)])
def test_a_key_file_others_can_read(
    quietswap: Quietswap,
    environment: dict[str, str | None],
    tmp_path: Path,
    mode: int,
    warns: bool,
) -> None:
    environment["QUIETSWAP_API_KEY"] = None
    file = tmp_path / "key"
    file.write_text("qs_file", "utf-8")
    file.chmod(mode)
    result = quietswap("balances", "--api-key-file", str(file))
    assert result.exit_code == 0
    assert (f"chmod 600 {file}" in result.stderr) is warns
    file.write_bytes(b"\xff\xfe")
    assert "it is not text" in quietswap("balances", "--api-key-file", str(file)).stderr


@pytest.mark.parametrize(
    ("url", "warns"),
    [
        ("http://quietswap.invalid", True),
        ("https://quietswap.invalid", False),
        ("http://quietswap:1", False),
        ("http://127.0.0.1:1", False),
        ("http://[::1]:1", False),
        ("http://[", False),
    ],
)
def test_a_key_in_clear_on_the_way_to_strangers(
    quietswap: Quietswap, url: str, warns: bool
) -> None:
    assert ("shows your API key" in quietswap("balances", "--url", url).stderr) is warns
