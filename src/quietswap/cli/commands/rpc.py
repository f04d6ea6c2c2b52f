"""`quietswap rpc`: create, list and revoke the RPC URLs of wallets. A URL is shown once."""

from typing import Any, cast

import click

from quietswap.cli.options.operator import OperatorContext, members, operator_command, secret_option
from quietswap.cli.options.times import time_text
from quietswap.rules.contract.request_limits import MAX_RPC_NAME, MAX_RPC_WALLETS
from quietswap.rules.tx.address import Address, BadAddress, from_any_case, parse
from quietswap.rules.wallet_rpc_token import UnmatchedPolicy, WalletRpcToken
from quietswap.service.base.clock import SystemClock
from quietswap.service.clients.credentials import hash_secret, trading_key
from quietswap.service.server.public_url import public_url
from quietswap.service.storage.factory import Storage
from quietswap.service.wallet_rpc import tokens


@click.group()
def rpc() -> None:
    """Create, list and revoke RPC URLs, through which any wallet sends privately.

    Put the URL into the wallet in place of its own RPC URL: docs/wallets.md.
    """


@operator_command(rpc)
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
@secret_option("qr", "secret")
def create(
    context: OperatorContext, key_id: str, wallets: tuple[str, ...], name: str, unmatched: str,
    typed_secret: str | None,
) -> None:  # fmt: skip
    """Create an RPC URL and show it. It contains a secret and cannot be shown again."""
    owned = _addresses(wallets)
    if len(name) > MAX_RPC_NAME or not name.isprintable():
        raise click.UsageError(f"--name: at most {MAX_RPC_NAME} printable characters")
    policy = cast("UnmatchedPolicy", unmatched)

    async def add(storage: Storage) -> tuple[WalletRpcToken, str]:
        now = SystemClock().now_ms()
        key = trading_key(await storage.keys.by_id(key_id), key_id, now)
        made, new = tokens.new_wallet_rpc_token(key, name, owned, policy, now)
        secret = typed_secret or new
        if (known := await storage.rpc_tokens.find(hash_secret(secret))) is not None:
            raise click.ClickException(f"this secret is stored already, as {known.id}")
        audit = context.audit("rpc_url_created", rpc=made.id, key=key_id, client=made.client_id)
        return await storage.rpc_tokens.add(made, hash_secret(secret), audit), secret

    settings = context.settings("server", "wallet_rpc", "storage", "observe")
    token, secret = context.change(
        "rpc_url_created", add, adds=lambda made: {"rpc": made[0].id}, key=key_id[:64]
    )
    url = tokens.rpc_url(public_url(settings), secret)
    context.result(
        {"id": token.id, "url": url, **_row(token)},
        f"{url}\n",
        f"RPC URL {token.id}. Keep it now: its secret is stored only as a hash. How to put it into "
        "a wallet: docs/wallets.md",
    )


def _addresses(texts: tuple[str, ...]) -> list[Address]:
    """Return the wallets; all in lower case passes, too. Raises click.UsageError."""
    if len(texts) > MAX_RPC_WALLETS:
        raise click.UsageError(f"--wallet: at most {MAX_RPC_WALLETS} wallets")
    try:
        wallets = [from_any_case(text) if text == text.lower() else parse(text) for text in texts]
    except BadAddress as error:
        raise click.UsageError(f"--wallet: {error}") from error
    if any(int(address, 16) == 0 for address in wallets):
        raise click.UsageError("--wallet: the zero address has no key")
    return wallets


def _row(token: WalletRpcToken) -> dict[str, Any]:
    names = ("name", "wallets", "unmatched", "key_id", "client_id", "created_at_ms")
    return members(token, *names, "revoked_at_ms") | {"wallets": sorted(token.wallets)}


@operator_command(rpc, "list", prints="a JSON array")
def list_urls(context: OperatorContext) -> None:
    """List all RPC URLs, oldest first, without their secrets. Times are UTC.

    Of several wallets the first is shown and +N for the others; --json has all.
    """
    tokens = context.run(lambda storage: storage.rpc_tokens.list())
    values = [{"id": token.id, **_row(token)} for token in tokens]
    header = ("rpc", "state", "name", "unmatched", "key", "created", "wallets")
    none = f"No RPC URLs yet in {context.url}. Create one with: quietswap rpc create"
    context.listing(values, header, [_cells(token) for token in tokens], none)


def _cells(token: WalletRpcToken) -> tuple[str, ...]:
    first, *others = sorted(token.wallets)
    state = "revoked" if token.revoked_at_ms else "live"
    wallets = f"{first} +{len(others)}" if others else first
    created = time_text(token.created_at_ms)
    return token.id, state, token.name or "-", token.unmatched, token.key_id, created, wallets


@operator_command(rpc)
@click.argument("rpc_id")
def revoke(context: OperatorContext, rpc_id: str) -> None:
    """Revoke the RPC URL RPC_ID (see `quietswap rpc list`) immediately. Its orders stay."""
    now = SystemClock().now_ms()
    audit = context.audit("rpc_url_revoked", rpc=rpc_id)

    async def work(storage: Storage) -> None:
        if not await storage.rpc_tokens.revoke(rpc_id, now, audit=audit):
            text = f"there is no live RPC URL {rpc_id}: see quietswap rpc list"
            raise click.ClickException(text)

    context.change("rpc_url_revoked", work, rpc=rpc_id[:64])
    context.result({"id": rpc_id, "revokedAt": now}, f"RPC URL {rpc_id} is revoked.")
