"""The operations of RPC URLs for wallets."""

from typing import Any, cast

from quietswap.api.json import iso_timestamp
from quietswap.api.operation import ApiRequest, operation
from quietswap.api.parsing.query import shown
from quietswap.api.parsing.requests import parse_wallet
from quietswap.chain.address import Address
from quietswap.contract import base
from quietswap.contract import clients as contract
from quietswap.contract.clients import (
    RevokedRpcToken,
    RevokedRpcTokenEnvelope,
    RpcTokenBody,
    RpcTokenData,
    RpcTokenEnvelope,
    RpcTokenListData,
    RpcTokenListEnvelope,
    RpcTokenPath,
)
from quietswap.errors.clients import RpcTokenNotFound
from quietswap.errors.requests import InvalidAddress, InvalidParameter
from quietswap.wallet_rpc.tokens import UnmatchedPolicy, WalletRpcToken

# RPC URLs of wallets: domain values to contract Structs.


def rpc_token_response(token: WalletRpcToken) -> contract.RpcToken:
    """Return one entry of `data.tokens` of GET /api/v1/mev/rpc."""
    return contract.RpcToken(**_members(token))


def created_rpc_token_response(token: WalletRpcToken, url: str) -> contract.CreatedRpcToken:
    """Return `data.token` of POST /api/v1/mev/rpc."""
    return contract.CreatedRpcToken(**_members(token), url=url)


def _members(token: WalletRpcToken) -> dict[str, Any]:
    revoked = token.revoked_at_ms
    return {
        "id": token.id,
        "name": token.name,
        "wallets": tuple(sorted(token.wallets)),
        "unmatched": token.unmatched,
        "created_at": iso_timestamp(token.created_at_ms),
        "revoked_at": None if revoked is None else iso_timestamp(revoked),
    }


# The body of a new RPC URL to domain values.


_POLICIES = ("refuse", "private")


def parse_rpc_token(body: dict[str, Any]) -> tuple[str, list[Address], UnmatchedPolicy]:
    """Return name, wallets and treatment of unmatched transactions.

    Raises InvalidAddress and InvalidParameter.
    """
    return _name(body.get("name")), _wallets(body["wallets"]), _unmatched(body.get("unmatched"))


def _name(text: str | None) -> str:
    name = text or ""
    if len(name) > base.MAX_RPC_NAME or not name.isprintable():
        reason = f"it must be at most {base.MAX_RPC_NAME} printable characters"
        raise InvalidParameter(parameter="name", provided=shown(name), reason=reason)
    return name


def _wallets(values: list[Any]) -> list[Address]:
    if not 1 <= len(values) <= base.MAX_RPC_WALLETS:
        raise InvalidParameter(
            parameter="wallets",
            provided=f"{len(values)} addresses",
            reason=f"it must have 1 to {base.MAX_RPC_WALLETS} addresses",
            maximum=base.MAX_RPC_WALLETS,
        )
    for place, value in enumerate(values):
        if not isinstance(value, str):
            reason = "it must be a string"
            raise InvalidAddress(
                provided=shown(str(value)), reason=reason, field=f"wallets[{place}]"
            )
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


# The handlers that create, list and revoke RPC URLs of wallets.


@operation(
    "POST /api/v1/mev/rpc",
    "MISSING_PARAMETER INVALID_ADDRESS INVALID_PARAMETER SERVICE_UNAVAILABLE",
    body=RpcTokenBody,
)
async def rpc_token_create(request: ApiRequest) -> RpcTokenEnvelope:
    """Create an RPC URL for wallets."""
    name, wallets, unmatched = parse_rpc_token(request.body)
    token, url = await request.use.rpc_tokens.create(request.key, name, wallets, unmatched)
    data = RpcTokenData(token=created_rpc_token_response(token, url))
    return RpcTokenEnvelope(ok=True, data=data)


@operation("GET /api/v1/mev/rpc", "SERVICE_UNAVAILABLE")
async def rpc_token_list(request: ApiRequest) -> RpcTokenListEnvelope:
    """RPC URLs of the client, without their secrets."""
    tokens = await request.use.rpc_tokens.list(request.key)
    data = RpcTokenListData(tokens=tuple(map(rpc_token_response, tokens)))
    return RpcTokenListEnvelope(ok=True, data=data)


@operation(
    "DELETE /api/v1/mev/rpc/{tokenId}",
    "RPC_TOKEN_NOT_FOUND SERVICE_UNAVAILABLE",
    path_params=RpcTokenPath,
)
async def rpc_token_revoke(request: ApiRequest) -> RevokedRpcTokenEnvelope:
    """Revoke an RPC URL."""
    token_id = parse_rpc_token_id(request.path_params["tokenId"])
    revoked_at_ms = await request.use.rpc_tokens.revoke(request.key, token_id)
    data = RevokedRpcToken(id=token_id, revoked_at=iso_timestamp(revoked_at_ms))
    return RevokedRpcTokenEnvelope(ok=True, data=data)
