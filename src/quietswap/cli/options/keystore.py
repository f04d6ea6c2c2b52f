"""A private key in an encrypted file (Web3 Secret Storage, the format of geth and most wallets)."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from quietswap.cli.options.secret_files import read_secret
from quietswap.cli.output.tokens import wallet_address

PASSWORD = "QUIETSWAP_KEYSTORE_PASSWORD"
_TRIES = 3


class Keystore:
    """Signs with an encrypted key file. `wallet` is needed if the file has no address."""

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
        given = self._given_password()
        tries = _TRIES if given is None and sys.stdin.isatty() else 1
        for left in reversed(range(tries)):
            if self._account is not None:
                return
            password = self._asked() if given is None else given
            try:
                self._account = self._opened(password)
            except _WrongPassword as error:
                if not left:
                    raise click.ClickException(
                        f"{self._file} cannot be decrypted: {error}"
                    ) from None
                click.echo("The password is wrong.", err=True)

    def _opened(self, password: str) -> Any:
        from eth_account import Account

        try:
            account = Account.from_key(Account.decrypt(self._sealed, password))
        except Exception as error:  # noqa: BLE001  several unrelated families, all about the file
            if "MAC mismatch" in str(error):
                raise _WrongPassword("the password is wrong") from None
            why = str(error) or type(error).__name__
            raise click.ClickException(
                f"{self._file} is not a keystore that can be opened: {why}"
            ) from None
        if account.address != self.address:
            raise click.ClickException(
                f"{self._file} holds the key of another wallet than {self.address}"
            )
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


class _WrongPassword(Exception):
    """The keystore is valid, but the password does not decrypt it."""


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
