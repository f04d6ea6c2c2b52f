"""The text of a sandbox that is ready, and its environment file."""

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import click

_MARK = "# written by: quietswap sandbox --env-file"


def environment(facts: dict[str, Any]) -> dict[str, str]:
    """Return the variables for clients, operator commands and examples."""
    return {
        "QUIETSWAP_URL": facts["baseUrl"],
        "QUIETSWAP_API_KEY": facts["apiKey"],
        "QUIETSWAP_RPC_URL": facts["rpcUrl"],
        "QUIETSWAP_WALLET_RPC_URL": facts["walletRpcUrl"],
        "QUIETSWAP_PRIVATE_KEY": facts["wallets"][0]["privateKey"],
        "QUIETSWAP_SETTINGS": facts["settingsFile"],
        "CONTROL": facts["controlUrl"],
    }


def check_env_file(file: Path) -> None:
    """Raise click.UsageError if the file was not written by the sandbox, or has no folder."""
    if not file.parent.is_dir():
        raise click.UsageError(f"--env-file {file}: there is no folder {file.parent}")
    try:
        is_ours = not file.exists() or file.read_text("utf-8").startswith(_MARK)
    except (OSError, UnicodeDecodeError):
        is_ours = False
    if not is_ours:
        raise click.UsageError(
            f"--env-file {file} exists and was not written by the sandbox: name another file"
        )


def write_env_file(file: Path, facts: dict[str, Any]) -> None:
    """Write NAME=value lines, readable by the owner alone. Raises OSError."""
    lines = [f"{name}={shlex.quote(value)}" for name, value in environment(facts).items()]
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write("\n".join([_MARK, *lines]) + "\n")


def path_to_program() -> tuple[str | None, str]:
    """Return the line that adds this `quietswap` to PATH, and the command to run it.

    Without an installed script the line is None, and the command uses the Python interpreter.
    """
    folder = Path(sys.executable).parent
    if shutil.which("quietswap", path=str(folder)) is None:
        return None, f"{shlex.quote(sys.executable)} -m quietswap"
    return f"export PATH={shlex.quote(str(folder))}:$PATH", "quietswap"


def welcome(facts: dict[str, Any], block_time: float, env_file: Path | None) -> str:
    path, program = path_to_program()
    # not secret: keys of anvil's public test mnemonic
    wallets = [f"    {one['address']}  {one['privateKey']}" for one in facts["wallets"]]
    if env_file is None:
        exports = [f"export {n}={shlex.quote(v)}" for n, v in environment(facts).items()]
    else:
        exports = [f"set -a; . {shlex.quote(str(env_file.resolve()))}; set +a"]
    lines = [
        "quietswap sandbox: a miniature mainnet, nothing here is worth anything",
        "",
        f"  page       {facts['baseUrl']}/   swap in a browser with an injected wallet",
        f"  API        {facts['baseUrl']}   documentation: {facts['baseUrl']}/docs",
        f"  API key    {facts['apiKey']}",
        f"  node       {facts['rpcUrl']}   chain 1, a block every {block_time:g} s",
        f"  relay      {facts['relayUrl']}",
        f"  wallet RPC {facts['walletRpcUrl']}",
        f"  operators  {facts['operatorUrl']}   log in with {facts['operatorSecret']}",
        f"  control    {facts['controlUrl']}   faults, mining, reorganisations",
        f"  settings   {facts['settingsFile']}",
        "",
        "  Wallets and their private keys; each holds ETH and some of every token:",
        *wallets,
        "",
        "  Paste into another terminal:",
        *(f"    {line}" for line in ([path] if path else []) + exports),
        f"    {program} swap 1 WETH USDC",
        "",
        "Ctrl-C stops everything.",
    ]
    return "\n".join(lines)
