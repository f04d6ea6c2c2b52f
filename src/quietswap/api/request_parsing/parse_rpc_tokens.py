"""The body of a new RPC URL to domain values."""

from typing import Any, cast

from quietswap.api.request_parsing.parse_requests import parse_wallet
from quietswap.api.request_parsing.query_string import shown
from quietswap.contract import limits
from quietswap.domain.address import Address
from quietswap.domain.errors.request import InvalidAddress, InvalidParameter, RpcTokenNotFound
from quietswap.ports.wallet_rpc import UnmatchedPolicy

_POLICIES = ("refuse", "private")


def parse_rpc_token(body: dict[str, Any]) -> tuple[str, list[Address], UnmatchedPolicy]:
    """Return name, wallets and treatment of unmatched transactions.

    Raises InvalidAddress and InvalidParameter.
    """
    return _name(body.get("name")), _wallets(body["wallets"]), _unmatched(body.get("unmatched"))


def _name(text: str | None) -> str:
    name = text or ""
    if len(name) > limits.MAX_RPC_NAME or not name.isprintable():
        reason = f"it must be at most {limits.MAX_RPC_NAME} printable characters"
        raise InvalidParameter(parameter="name", provided=shown(name), reason=reason)
    return name


def _wallets(values: list[Any]) -> list[Address]:
    if not 1 <= len(values) <= limits.MAX_RPC_WALLETS:
        raise InvalidParameter(
            parameter="wallets",
            provided=f"{len(values)} addresses",
            reason=f"there must be 1 to {limits.MAX_RPC_WALLETS}",
            maximum=limits.MAX_RPC_WALLETS,
        )
    for place, value in enumerate(values):
        if not isinstance(value, str):
            reason = f"wallets[{place}] is not a string"
            raise InvalidAddress(provided="", reason=reason, field=f"wallets[{place}]")
    return [parse_wallet(value, f"wallets[{place}]") for place, value in enumerate(values)]


def _unmatched(text: str | None) -> UnmatchedPolicy:
    policy = text or "refuse"
    if policy not in _POLICIES:
        reason = "it must be refuse or private"
        raise InvalidParameter(parameter="unmatched", provided=shown(policy), reason=reason)
    return cast("UnmatchedPolicy", policy)


def parse_rpc_token_id(text: str) -> str:
    """Return an id that could exist. Raises RpcTokenNotFound for any other text."""
    if not (text.startswith("rpc_") and text.isascii() and text.isprintable() and len(text) < 64):
        raise RpcTokenNotFound
    return text
