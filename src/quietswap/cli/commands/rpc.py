"""`quietswap rpc`: create, list and revoke the RPC URLs of wallets. A URL is shown once."""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import click

from quietswap.chain.address import Address, BadAddress, from_any_case, parse
from quietswap.cli.options.audit_log import audit_entry, recorded_in_audit_log
from quietswap.cli.options.settings import read_settings, settings_option, storage_url, with_storage
from quietswap.cli.options.times import time_text
from quietswap.clients.client import ApiKey, KeyScope
from quietswap.clock import SystemClock
from quietswap.contract.base import MAX_RPC_NAME, MAX_RPC_WALLETS
from quietswap.server.web import public_url
from quietswap.storage.factory import Storage
from quietswap.wallet_rpc.tokens import (
    UnmatchedPolicy,
    WalletRpcToken,
    hash_token,
    new_wallet_rpc_token,
    rpc_url,
)


@click.group()
def rpc() -> None:
    """Create, list and revoke RPC URLs, through which any wallet sends privately.

    Put the URL into the wallet in place of its own RPC URL: docs/wallets.md.
    """


@rpc.command()
@settings_option
@click.option("--key", "key_id", required=True, metavar="KEY_ID",
              help="API key whose client owns the orders (see `quietswap keys list`).")  # fmt: skip
@click.option(
    "--wallet", "wallets", required=True, multiple=True, metavar="ADDRESS",
    help="Wallet that may send through the URL; give it again for each further one.",
)  # fmt: skip
@click.option("--name", default="", help="What the URL is for.")
@click.option(
    "--unmatched", type=click.Choice(["refuse", "private"]), default="refuse", show_default=True,
    help="What happens to a transaction that belongs to no live quote: an error, or the private "
    "relay. It is never sent publicly.",
)  # fmt: skip
@click.option(
    "--secret-stdin",
    is_flag=True,
    help="Read the secret from standard input: qr_ and 64 hexadecimal digits of 256 random bits.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def create(
    settings_path: Path | None, key_id: str, wallets: tuple[str, ...], name: str, unmatched: str,
    secret_stdin: bool, as_json: bool,
) -> None:  # fmt: skip
    """Create an RPC URL and show it. It contains a secret and cannot be shown again."""
    owned = _addresses(wallets)
    if len(name) > MAX_RPC_NAME or not name.isprintable():
        raise click.UsageError(f"--name: at most {MAX_RPC_NAME} printable characters")
    policy = cast("UnmatchedPolicy", unmatched)
    typed = _typed_secret() if secret_stdin else None

    async def add(storage: Storage) -> tuple[WalletRpcToken, str]:
        now = SystemClock().now_ms()
        keys = [key for key in await storage.keys.list() if key.id == key_id]
        _check_key(key_id, keys, now)
        made, new = new_wallet_rpc_token(keys[0], name, owned, policy, now)
        secret = typed or new
        if (known := await storage.rpc_tokens.find(hash_token(secret))) is not None:
            raise click.ClickException(f"this secret is stored already, as {known.id}")
        audit = audit_entry("rpc_url_created", rpc=made.id, key=key_id, client=made.client_id)
        return await storage.rpc_tokens.add(made, hash_token(secret), audit), secret

    settings = read_settings(settings_path, "server", "wallet_rpc", "storage", "observe")
    with recorded_in_audit_log(settings_path, "rpc_url_created", key=key_id[:64]) as found:
        token, secret = with_storage(settings_path, add)
        found["rpc"] = token.id
    url = rpc_url(public_url(settings), secret)
    if as_json:
        click.echo(json.dumps({"id": token.id, "url": url, **_row(token)}))
        return
    click.echo(f"{url}\n")
    click.echo(
        f"RPC URL {token.id}. Keep it now: its secret is stored only as a hash. How to put it into "
        "a wallet: docs/wallets.md",
        err=True,
    )


def _check_key(key_id: str, found: Sequence[ApiKey], now_ms: int) -> None:
    """Refuse a key that may not trade. Raises click.ClickException."""
    key = found[0] if found else None
    is_over = key is not None and key.expires_at_ms is not None and key.expires_at_ms <= now_ms
    if key is None or key.revoked_at_ms is not None or is_over:
        raise click.ClickException(f"there is no live key {key_id}: see quietswap keys list")
    if key.is_client_disabled:
        raise click.ClickException(f"the client of {key_id} is disabled: see quietswap clients")
    if key.scope is not KeyScope.TRADE:
        raise click.ClickException(f"{key_id} may only read (scope read): a wallet must send")


_SECRET = re.compile(r"qr_[0-9a-f]{64}")


def _typed_secret() -> str:
    """Return the secret on standard input. Raises click.UsageError, which never shows the input."""
    secret = sys.stdin.read(256).strip()
    if not _SECRET.fullmatch(secret):
        raise click.UsageError(
            "--secret-stdin: a secret is qr_ and 64 lower-case hexadecimal digits; make one with: "
            'echo "qr_$(openssl rand -hex 32)"'
        )
    return secret


def _addresses(texts: tuple[str, ...]) -> list[Address]:
    """Return the wallets; all in lower case passes, too. Raises click.UsageError."""
    if len(texts) > MAX_RPC_WALLETS:
        raise click.UsageError(f"--wallet: at most {MAX_RPC_WALLETS} wallets")
    try:
        found = [from_any_case(text) if text == text.lower() else parse(text) for text in texts]
    except BadAddress as error:
        raise click.UsageError(f"--wallet: {error}") from error
    if any(int(address, 16) == 0 for address in found):
        raise click.UsageError("--wallet: the zero address has no key")
    return found


def _row(token: WalletRpcToken) -> dict[str, Any]:
    return {
        "name": token.name,
        "wallets": sorted(token.wallets),
        "unmatched": token.unmatched,
        "keyId": token.key_id,
        "clientId": token.client_id,
        "createdAt": token.created_at_ms,
        "revokedAt": token.revoked_at_ms,
    }


@rpc.command("list")
@settings_option
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_urls(settings_path: Path | None, as_json: bool) -> None:
    """List all RPC URLs, oldest first, without their secrets. Times are UTC.

    Of several wallets the first is shown and +N for the others; --json has all.
    """
    found = with_storage(settings_path, lambda storage: storage.rpc_tokens.list())
    if as_json:
        click.echo(json.dumps([{"id": token.id, **_row(token)} for token in found]))
    elif found:
        from quietswap.cli.output.tables import print_table

        header = ("rpc", "state", "name", "unmatched", "key", "created", "wallets")
        print_table(header, [_cells(token) for token in found])
    else:
        where = storage_url(settings_path)
        text = f"No RPC URLs yet in {where}. Create one with: quietswap rpc create"
        click.echo(text, err=True)


def _cells(token: WalletRpcToken) -> tuple[str, ...]:
    first, *others = sorted(token.wallets)
    return (
        token.id,
        "revoked" if token.revoked_at_ms else "live",
        token.name or "-",
        token.unmatched,
        token.key_id,
        time_text(token.created_at_ms),
        f"{first} +{len(others)}" if others else first,
    )


@rpc.command()
@settings_option
@click.argument("rpc_id")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def revoke(settings_path: Path | None, rpc_id: str, as_json: bool) -> None:
    """Revoke the RPC URL RPC_ID (see `quietswap rpc list`) immediately. Its orders stay."""
    now = SystemClock().now_ms()
    with recorded_in_audit_log(settings_path, "rpc_url_revoked", rpc=rpc_id[:64]):
        audit = audit_entry("rpc_url_revoked", rpc=rpc_id)
        if not with_storage(settings_path, lambda s: s.rpc_tokens.revoke(rpc_id, now, audit=audit)):
            text = f"there is no live RPC URL {rpc_id}: see quietswap rpc list"
            raise click.ClickException(text)
    if as_json:
        click.echo(json.dumps({"id": rpc_id, "revokedAt": now}))
        return
    click.echo(f"RPC URL {rpc_id} is revoked.")
