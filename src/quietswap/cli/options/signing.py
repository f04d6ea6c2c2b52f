"""Signers: a keystore file, a private key from the environment, or an external command.

A private key is never an option, never printed and never passed to a child process.
"""

import functools
import json
import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from quietswap.cli.options.secret_files import read_secret
from quietswap.cli.output.tokens import wallet_address

if TYPE_CHECKING:
    from quietswap.client.signing import Signer

PASSWORD = "QUIETSWAP_KEYSTORE_PASSWORD"
_TRIES = 3


class Keystore:
    """Signs with an encrypted key file (Web3 Secret Storage, as geth and most wallets have it).

    `wallet` is needed if the file has no address.
    """

    def __init__(
        self, file: Path, password_file: Path | None = None, wallet: str | None = None
    ) -> None:
        self._file = file
        self._password_file = password_file
        self._account: Any = None
        self._sealed = _read(file)
        named = self._sealed.get("address")
        if isinstance(named, str):
            self.address = wallet_address("0x" + named.removeprefix("0x").lower())
        elif wallet is not None:
            self.address = wallet
        else:
            raise click.UsageError(f"{file} does not name its wallet: give --wallet ADDRESS")

    def __call__(self, transaction: dict[str, Any]) -> bytes:
        """Return the signed transaction. Unlocks the key first if it is locked."""
        self.unlock()
        return bytes(self._account.sign_transaction(transaction).raw_transaction)

    def unlock(self) -> None:
        """Decrypt the key. A prompt accepts three attempts. Raises click.ClickException."""
        password = self._given_password()
        tries = _TRIES if password is None and sys.stdin.isatty() else 1
        for left in reversed(range(tries)):
            if self._account is None:
                self._account = self._opened(self._asked() if password is None else password)
            if self._account is not None:
                return
            if not left:
                text = f"{self._file} cannot be decrypted: the password is wrong"
                raise click.ClickException(text)
            click.echo("The password is wrong.", err=True)

    @property
    def has_password(self) -> bool:
        return self._password_file is not None or PASSWORD in os.environ

    def _opened(self, password: str) -> Any:
        """Return the account; None if the password is wrong. Raises click.ClickException."""
        from eth_account import Account

        try:
            account = Account.from_key(Account.decrypt(self._sealed, password))
        except Exception as error:  # noqa: BLE001  several unrelated families, all about the file
            if "MAC mismatch" in str(error):
                return None
            reason = str(error) or type(error).__name__
            reason = f"it has no {error}" if isinstance(error, KeyError) else reason
            text = f"{self._file} is not a keystore that can be opened: {reason}"
            raise click.ClickException(text) from None
        if account.address != self.address:
            text = f"{self._file} holds the key of another wallet than {self.address}"
            raise click.ClickException(text)
        return account

    def _given_password(self) -> str | None:
        if self._password_file is not None:
            return read_secret(self._password_file, "password")
        return os.environ.get(PASSWORD)

    def _asked(self) -> str:
        if sys.stdin.isatty():
            return str(click.prompt(f"Password of {self._file.name}", hide_input=True, err=True))
        line = sys.stdin.readline()
        if not line:
            raise click.UsageError(
                f"standard input has no password: give --password-file, or set {PASSWORD}"
            )
        return line.rstrip("\r\n")


def _read(file: Path) -> dict[str, Any]:
    try:
        sealed = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise click.UsageError(f"{file} cannot be read: {error.strerror}") from None
    except ValueError:
        sealed = None
    if not isinstance(sealed, dict) or not {"crypto", "Crypto"} & sealed.keys():
        raise click.UsageError(f"{file} is not a keystore: it holds no encrypted key in JSON")
    return sealed


_KEY = "QUIETSWAP_PRIVATE_KEY"
_NO_KEY = f"{_KEY} must hold a private key: 64 hexadecimal digits"
_SECRETS = (_KEY, PASSWORD, "QUIETSWAP_API_KEY", "QUIETSWAP_MCP_TOKEN")
_COMMAND_SECONDS = 300
SIGNING = ("wallet", "keystore", "password-file", "sign-with")
"""Options that select the signer. None holds a secret."""


class EnvironmentKey:
    """Signs with a private key in hex. Raises click.UsageError for text that is none."""

    def __init__(self, private_key: str) -> None:
        self._key = private_key.strip()
        self.address = _address(self._key)

    def __call__(self, transaction: dict[str, Any]) -> bytes:
        """Return the signed transaction."""
        from eth_account import Account

        return bytes(Account.from_key(self._key).sign_transaction(transaction).raw_transaction)


@dataclass(frozen=True, slots=True)
class WalletSigner:
    """A wallet address and its signer; `how` describes the signer in the prompt."""

    wallet: str
    signer: "Signer"
    how: str

    def ready(self) -> None:
        """Decrypt a keystore before the flow, because a quote expires while a password is typed."""
        if isinstance(self.signer, Keystore):
            self.signer.unlock()

    def load(self) -> None:
        """Import what signs here, while the command waits for its first answers."""
        if not isinstance(self.signer, CommandSigner):
            threading.Thread(target=import_module, args=("eth_account",)).start()

    @property
    def must_ask(self) -> bool:
        """Whether a keystore's password has to be typed."""
        return isinstance(self.signer, Keystore) and not self.signer.has_password

    @property
    def is_quiet(self) -> bool:
        """Whether the signer itself prints nothing to the terminal."""
        return not isinstance(self.signer, CommandSigner)


class RecordingSigner:
    """Signs and records each `to` address in `called`, and the last hash and nonce."""

    def __init__(self, signer: WalletSigner) -> None:
        self._wallet_signer = signer
        self.called: list[str] = []
        self.tx_hash: str | None = None
        self.nonce: int | None = None

    def __call__(self, transaction: dict[str, Any]) -> str:
        """Return the signed transaction as hex. Raises SignerMismatch and the signer's errors."""
        from quietswap.cli.signed_orders import SignedApprovals
        from quietswap.client.signing import hash_of, sign

        raw = sign(transaction, self._wallet_signer.signer, self._wallet_signer.wallet)
        self.called.append(transaction["to"])
        self.tx_hash, self.nonce = hash_of(raw), transaction["nonce"]
        SignedApprovals().keep(self._wallet_signer.wallet, transaction, self.tx_hash)
        return raw

    def signed(self) -> dict[str, Any]:
        """Return the JSON members for hash and nonce of the transaction signed last."""
        return {"txHash": self.tx_hash, "nonce": self.nonce}


wallet_option = click.option(
    "--wallet", metavar="ADDRESS", help="The wallet; default: the signing key's own."
)


def signer_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that select the signer; `chosen_signer` takes their values."""
    for option in (
        click.option(
            "--sign-with", metavar="COMMAND",
            help="External signer: transaction JSON on its standard input, raw hex on its output;"
            " needs --wallet.",
        ),
        click.option(
            "--password-file", type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help=f"Password of the keystore, instead of {PASSWORD} or a prompt.",
        ),
        click.option(
            "--keystore", type=click.Path(exists=True, dir_okay=False, path_type=Path),
            envvar="QUIETSWAP_KEYSTORE", show_envvar=True,
            help=f"Encrypted key (JSON). Without it {_KEY} signs.",
        ),
        wallet_option,
    ):  # fmt: skip
        function = option(function)
    return function


def signing_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that select the signer, and pass a `signer` to the command."""

    @signer_options
    @functools.wraps(function)
    def command(
        *, wallet: str | None, keystore: Path | None, password_file: Path | None,
        sign_with: str | None, **rest: Any,
    ) -> None:  # fmt: skip
        signer = chosen_signer(wallet, keystore, password_file, sign_with)
        function(signer=signer, **rest)

    return command


def chosen_signer(
    wallet: str | None, keystore: Path | None, password_file: Path | None, sign_with: str | None
) -> WalletSigner:
    """Return the signer of these options. Raises click.UsageError."""
    named_wallet = wallet_address(wallet) if wallet else None
    signer = _wallet_signer(named_wallet, keystore, password_file, sign_with)
    if named_wallet is not None and signer.wallet != named_wallet:
        raise click.UsageError(
            f"--wallet is {named_wallet}, but the key is that of {signer.wallet}"
        )
    return signer


def _wallet_signer(
    wallet: str | None, keystore: Path | None, password_file: Path | None, sign_with: str | None
) -> WalletSigner:
    if sign_with is not None:
        if wallet is None:
            raise click.UsageError("--sign-with needs --wallet ADDRESS")
        return WalletSigner(wallet, CommandSigner(sign_with, wallet), "your command")
    if keystore is not None:
        store = Keystore(keystore, password_file, wallet)
        return WalletSigner(store.address, store, "the keystore")
    key = os.environ.get(_KEY)
    if not key:
        raise click.UsageError(
            f"nothing to sign with: give --keystore FILE or --sign-with COMMAND, or set {_KEY}"
        )
    own = EnvironmentKey(key)
    return WalletSigner(own.address, own, _KEY)


def own_wallet(wallet: str | None) -> str:
    """Return the given wallet address, or that of the keystore or private key in use."""
    if wallet:
        return wallet_address(wallet)
    if keystore := os.environ.get("QUIETSWAP_KEYSTORE"):
        return Keystore(Path(keystore)).address
    if key := os.environ.get(_KEY):
        return _address(key.strip())
    raise click.UsageError(
        f"which wallet? Give --wallet ADDRESS, or set {_KEY} or QUIETSWAP_KEYSTORE"
    )


def _address(private_key: str) -> str:
    """Return a private key's address. Importing eth_account takes about half a second."""
    from coincurve import PrivateKey

    from quietswap.rules.tx.address import from_bytes
    from quietswap.rules.tx.keccak import keccak256

    try:
        raw = bytes.fromhex(private_key.removeprefix("0x"))
        if len(raw) != 32:  # the library would pad a shorter one
            raise ValueError("a private key has 32 bytes")
        public = PrivateKey(raw).public_key
    except ValueError as error:
        raise click.UsageError(_NO_KEY) from error.with_traceback(None)
    return from_bytes(keccak256(public.format(compressed=False)[1:])[12:])


def transaction_json(transaction: dict[str, Any]) -> dict[str, Any]:
    """Return a transaction as JSON members in the interface's words; amounts are decimal text."""
    amounts = {
        "value": "value",
        "gasLimit": "gas",
        "maxFeePerGas": "maxFeePerGas",
        "maxPriorityFeePerGas": "maxPriorityFeePerGas",
    }
    return {
        **{name: transaction[name] for name in ("to", "data")},
        **{name: str(transaction[source]) for name, source in amounts.items()},
        **{name: transaction[name] for name in ("nonce", "chainId", "type")},
    }


class CommandSigner:
    """Signs by an external command, without a shell and without secrets in its environment."""

    def __init__(self, command: str, wallet: str) -> None:
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise click.UsageError(f"--sign-with cannot be read: {error}") from None
        self._wallet = wallet
        if not self._words:
            raise click.UsageError("--sign-with is empty")

    def __call__(self, transaction: dict[str, Any]) -> str:
        """Return the hex that the command printed. Raises click.ClickException if it fails."""
        spelled = {"from": self._wallet} | transaction_json(transaction)
        env = {name: value for name, value in os.environ.items() if name not in _SECRETS}
        try:
            done = subprocess.run(  # noqa: S603  the user's own command is the point
                self._words, input=json.dumps(spelled).encode(), stdout=subprocess.PIPE,
                env=env, timeout=_COMMAND_SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise _failed(f"did not end within {_COMMAND_SECONDS} seconds") from error
        except OSError as error:
            raise _failed(f"{self._words[0]} did not run: {error.strerror}") from error
        raw = done.stdout.decode("ascii", "replace").strip()
        if done.returncode != 0:
            raise _failed(f"refused (exit {done.returncode})")
        try:
            is_hex = bytes.fromhex(raw.removeprefix("0x")) != b""
        except ValueError:
            is_hex = False
        if not is_hex:
            raise _failed("did not print raw hex")
        return raw


def _failed(how: str) -> click.ClickException:
    return click.ClickException(f"the signing command {how}; nothing was sent")
