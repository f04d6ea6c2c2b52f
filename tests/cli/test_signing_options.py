"""Who signs: keystore, environment, or a command; and nothing leaks."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account

from tests.api.scripted_use_cases import ROUTER
from tests.cli.conftest import KEY, Quietswap
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_servers import ETHER, WALLET, FakeService

SWAP = ("swap", "1", "WETH", "USDC", "--poll", "0.2", "--yes")
OTHER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


@pytest.fixture(autouse=True)
def _approved(node: FakeChain) -> None:
    node.allowances[ROUTER.lower()] = ETHER


@pytest.fixture
def keystore(tmp_path: Path) -> Path:
    file = tmp_path / "wallet.json"
    sealed = Account.encrypt(KEY, "open sesame", kdf="pbkdf2", iterations=10)
    file.write_text(json.dumps(sealed), "utf-8")
    return file


def was_signed(service: FakeService) -> bool:
    (body,) = service.bodies("order")
    return bool(Account.recover_transaction(body["signedTransaction"]) == WALLET)


def test_keystore_with_a_prompt(
    quietswap: Quietswap,
    service: FakeService,
    environment: dict[str, str | None],
    keystore: Path,
) -> None:
    environment["QUIETSWAP_PRIVATE_KEY"] = None
    result = quietswap(*SWAP, "--keystore", str(keystore), input="open sesame\n")
    assert result.exit_code == 0, result.output
    assert was_signed(service)
    assert "sesame" not in result.output


@pytest.mark.parametrize("way", ["file", "environment"])
def test_keystore_without_a_prompt(
    quietswap: Quietswap,
    service: FakeService,
    environment: dict[str, str | None],
    keystore: Path,
    way: str,
) -> None:
    environment["QUIETSWAP_KEYSTORE"] = str(keystore)
    words = SWAP
    if way == "file":
        password = keystore.with_name("password")
        password.write_text("open sesame\n", "utf-8")
        words = (*SWAP, "--password-file", str(password))
    else:
        environment["QUIETSWAP_KEYSTORE_PASSWORD"] = "open sesame"
    assert quietswap(*words).exit_code == 0
    assert was_signed(service)


@pytest.mark.parametrize(("typed", "code"), [("nope\n", 1), ("\n", 1), ("", 2)])
def test_a_wrong_password(
    quietswap: Quietswap, service: FakeService, keystore: Path, typed: str, code: int
) -> None:
    result = quietswap(*SWAP, "--keystore", str(keystore), "--json", input=typed)
    assert result.exit_code == code
    says = (
        "cannot be decrypted: the password is wrong" if typed else "standard input has no password"
    )
    assert says in result.stderr
    assert json.loads(result.stdout)["ok"] is False
    assert service.bodies("order") == []


@pytest.mark.parametrize("text", ["{}", "[1]", "not json", "\x00", '{"address": "0x1"}', "null"])
def test_a_file_that_is_no_keystore(quietswap: Quietswap, tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text(text, "utf-8")
    result = quietswap(*SWAP, "--keystore", str(tmp_path / "x"))
    assert result.exit_code == 2
    assert "is not a keystore" in result.stderr


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"version": 9}, "is not a keystore that can be opened"),
        ({"crypto": {"cipher": "none"}}, "that can be opened: it has no 'kdf'"),
        ({"address": OTHER[2:].lower()}, "holds the key of another wallet"),
    ],
)
def test_a_broken_keystore(
    quietswap: Quietswap, service: FakeService, keystore: Path, change: dict[str, Any], says: str
) -> None:
    sealed = json.loads(keystore.read_text("utf-8")) | change
    keystore.write_text(json.dumps(sealed), "utf-8")
    result = quietswap("wrap", "1", "--yes", "--keystore", str(keystore), input="open sesame\n")
    assert result.exit_code == 1
    assert says in result.stderr
    assert service.bodies("wrap order") == []


def test_a_keystore_that_does_not_name_its_wallet(
    quietswap: Quietswap, service: FakeService, keystore: Path
) -> None:
    sealed = json.loads(keystore.read_text("utf-8"))
    del sealed["address"]
    keystore.write_text(json.dumps(sealed), "utf-8")
    words = (*SWAP, "--keystore", str(keystore))
    assert "give --wallet" in quietswap(*words).stderr
    right = quietswap(*words, "--wallet", WALLET, input="open sesame\n")
    assert right.exit_code == 0, right.output
    assert quietswap(*words, "--wallet", OTHER, input="open sesame\n").exit_code == 1


def test_a_password_file_others_can_read(quietswap: Quietswap, keystore: Path) -> None:
    password = keystore.with_name("password")
    password.write_text("open sesame\n", "utf-8")
    words = (*SWAP, "--keystore", str(keystore), "--password-file", str(password))
    password.chmod(0o644)
    assert f"chmod 600 {password}" in quietswap(*words).stderr
    password.chmod(0o600)
    assert "chmod" not in quietswap(*words).stderr


SCRIPT = f"""
import json, os, sys
from eth_account import Account
tx = json.load(sys.stdin)
assert not any(name in os.environ for name in ("QUIETSWAP_PRIVATE_KEY", "QUIETSWAP_API_KEY"))
assert tx.pop("from") == "{WALLET}"
tx["gas"] = tx.pop("gasLimit")
tx = {{k: int(v) if k in ("value", "gas", "maxFeePerGas", "maxPriorityFeePerGas") else v
      for k, v in tx.items()}}
print("0x" + Account.from_key("{KEY}").sign_transaction(tx).raw_transaction.hex())
"""


def test_a_command_signs(quietswap: Quietswap, service: FakeService, tmp_path: Path) -> None:
    script = tmp_path / "signer.py"
    script.write_text(SCRIPT, "utf-8")
    words = ("--sign-with", f"{sys.executable} {script}", "--wallet", WALLET.lower())
    result = quietswap(*SWAP, *words)
    assert result.exit_code == 0, result.output
    assert was_signed(service)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("false", "refused (exit 1)"),
        ("echo no", "did not print raw hex"),
        ("true", "did not print raw hex"),
        (r"printf \\377\\376", "did not print raw hex"),
        ("/no/such/file", "command /no/such/file did not run: No such file or directory;"),
        ("echo 0x02c0", "no usable transaction"),
    ],
)
def test_a_command_that_does_not_sign(
    quietswap: Quietswap, service: FakeService, command: str, says: str
) -> None:
    result = quietswap(*SWAP, "--sign-with", command, "--wallet", WALLET)
    assert result.exit_code == 1
    assert says in result.output
    assert service.bodies("order") == []


def test_a_command_that_signs_something_else(
    quietswap: Quietswap, service: FakeService, tmp_path: Path
) -> None:
    script = tmp_path / "signer.py"
    thief = SCRIPT.replace("print(", f"tx['to'] = '{OTHER}'\nprint(")
    script.write_text(thief, "utf-8")
    words = ("--sign-with", f"{sys.executable} {script}", "--wallet", WALLET)
    result = quietswap(*SWAP, *words)
    assert result.exit_code == 1
    assert "the signer changed the transaction (to): not sent" in result.stdout
    assert service.bodies("order") == []


def test_a_command_that_cannot_be_read(quietswap: Quietswap) -> None:
    result = quietswap(*SWAP, "--sign-with", "sign 'it", "--wallet", WALLET)
    assert result.exit_code == 2
    assert "cannot be read" in result.stderr


def test_a_command_needs_a_wallet(quietswap: Quietswap) -> None:
    assert quietswap(*SWAP, "--sign-with", "true").exit_code == 2


def test_another_wallet_than_the_keys(quietswap: Quietswap) -> None:
    result = quietswap(*SWAP, "--wallet", OTHER)
    assert result.exit_code == 2
    assert ACCOUNT.address in result.stderr


def test_nothing_to_sign_with(quietswap: Quietswap, environment: dict[str, str | None]) -> None:
    environment["QUIETSWAP_PRIVATE_KEY"] = None
    result = quietswap(*SWAP)
    assert result.exit_code == 2
    assert "QUIETSWAP_PRIVATE_KEY" in result.stderr


@pytest.mark.parametrize("broken", ["0xdeadbeef", "hello", "0x" + "0" * 64, "f" * 64, "ab" * 33])
def test_a_broken_key_is_not_repeated(
    quietswap: Quietswap, environment: dict[str, str | None], broken: str
) -> None:
    environment["QUIETSWAP_PRIVATE_KEY"] = broken
    for words in (SWAP, ("balances",)):
        result = quietswap(*words)
        assert result.exit_code == 2
        assert broken not in result.output
