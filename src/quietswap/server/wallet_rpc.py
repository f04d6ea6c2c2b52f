"""The parts of the wallet RPC endpoint: its public address, reads of the node, and matching."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from quietswap.api.middleware.headers import is_loopback
from quietswap.clock import Clock
from quietswap.http_client import HttpClient, can_be_asked
from quietswap.relays.relay import Relay
from quietswap.server.factories import chosen_routers, token_catalogue, wallet_rpc_policy
from quietswap.server.settings.load import BadSettings
from quietswap.server.settings.schema import Settings
from quietswap.storage.factory import Storage
from quietswap.wallet_rpc.match import MatchTransaction
from quietswap.wallet_rpc.node import WalletNodeClient


def check_public_url(settings: Settings) -> None:
    """Raise BadSettings unless `wallet_rpc.public_url` is an origin that wallets accept."""
    url = settings.wallet_rpc.public_url
    if url is None:
        return
    parts = urlsplit(url) if can_be_asked(url) else None
    if parts is None or parts.path.strip("/") or parts.query or parts.username:
        raise BadSettings("wallet_rpc.public_url: it must be https://host, with or without a port")
    if parts.scheme != "https" and not is_loopback((parts.hostname or "").strip("[]")):
        raise BadSettings(
            "wallet_rpc.public_url: it must be https://, because the URLs of wallets are secrets; "
            "http:// is for localhost only"
        )


def make_wallet_node(settings: Settings, http: HttpClient, clock: Clock) -> WalletNodeClient:
    """Return the client of the nodes for reads of wallets."""
    node = settings.node
    return WalletNodeClient(
        http,
        node.urls,
        clock,
        timeout_s=node.timeout_s,
        max_lag_blocks=node.max_lag_blocks,
        max_bytes=settings.wallet_rpc.max_result_bytes,
        batch_size=node.batch_size,
    )


def make_match(
    settings: Settings, relays: Mapping[int, Relay], storage: Storage, clock: Clock
) -> MatchTransaction:
    """Return the rule that says what a wallet's transaction is."""
    return MatchTransaction(
        tokens=token_catalogue(settings),
        routers=chosen_routers(settings),
        quotes=storage.quotes,
        orders=storage.orders,
        relays=relays,
        clock=clock,
        policy=wallet_rpc_policy(settings),
    )
