"""What may use a sandbox's service: a key, an RPC URL and an operator, made by the commands.

Run as a program with the settings file and the ids of the wallets; one start of Python for three
commands. The first line of standard input names the operator, the next three are the secrets, or
empty.
"""

import contextlib
import io
import json
import sys
from typing import Any

import click

from quietswap.cli import command


def main() -> None:
    """Print what was made as one JSON object."""
    settings, *wallets = sys.argv[1:]
    name, *typed = sys.stdin.read().split("\n")
    key = _made(typed[0], settings, "keys", "create", "--name", "sandbox")
    allowed = [word for wallet in wallets for word in ("--wallet", wallet)]
    rpc = _made(
        typed[1], settings, "rpc", "create", "--key", key["id"], "--name", "sandbox", *allowed
    )
    operator = _made(typed[2], settings, "operators", "create", name)
    made = {"apiKey": key["key"], "walletRpcUrl": rpc["url"], "operatorSecret": operator["secret"]}
    click.echo(json.dumps(made))


def _made(secret: str, settings: str, *words: str) -> dict[str, Any]:
    """Run one command and return what it made. Ends with the command's error and exit code."""
    told, sys.stdin = io.StringIO(), io.StringIO(secret)
    with contextlib.redirect_stdout(told):
        try:
            command(
                [*words, "--json", "--settings", settings, *["--secret-stdin"] * bool(secret)],
                prog_name="quietswap",
            )
        except SystemExit as end:
            if end.code:
                raise
    made: dict[str, Any] = json.loads(told.getvalue())
    return made


if __name__ == "__main__":
    main()
