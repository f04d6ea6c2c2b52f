"""The operations of RPC URLs for wallets."""

from typing import Any, cast

from quietswap.rules.contract import clients as contract
from quietswap.rules.contract import request_limits
from quietswap.rules.errors.clients import RpcTokenNotFound
from quietswap.rules.errors.requests import InvalidAddress, InvalidParameter
from quietswap.rules.tx.address import Address
from quietswap.rules.wallet_rpc_token import UnmatchedPolicy, WalletRpcToken
from quietswap.service.api.json import iso_timestamp
from quietswap.service.api.operation import ApiRequest, operation
from quietswap.service.api.parsing.query import shown
from quietswap.service.api.parsing.requests import parse_wallet


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


def _name(text: str | None) -> str:
    name = text or ""
    if len(name) > request_limits.MAX_RPC_NAME or not name.isprintable():
        reason = f"it must be at most {request_limits.MAX_RPC_NAME} printable characters"
        raise InvalidParameter(parameter="name", provided=shown(name), reason=reason)
    return name


def _wallets(values: list[Any]) -> list[Address]:
    if not 1 <= len(values) <= request_limits.MAX_RPC_WALLETS:
        raise InvalidParameter(
            parameter="wallets",
            provided=f"{len(values)} addresses",
            reason=f"it must have 1 to {request_limits.MAX_RPC_WALLETS} addresses",
            maximum=request_limits.MAX_RPC_WALLETS,
        )
    for place, value in enumerate(values):
        if not isinstance(value, str):
            reason = "it must be a string"
            raise InvalidAddress(
                provided=shown(str(value)), reason=reason, field=f"wallets[{place}]"
            )
    return [parse_wallet(value, f"wallets[{place}]") for place, value in enumerate(values)]


def _unmatched(body: dict[str, Any]) -> UnmatchedPolicy:
    policy = body.get("unmatched") or "refuse"
    if policy not in ("refuse", "private"):
        reason = "it must be refuse or private"
        raise InvalidParameter(parameter="unmatched", provided=shown(policy), reason=reason)
    return cast("UnmatchedPolicy", policy)


@operation(
    "POST /api/v1/mev/rpc",
    "MISSING_PARAMETER INVALID_ADDRESS INVALID_PARAMETER SERVICE_UNAVAILABLE",
    body=contract.RpcTokenBody,
)
async def rpc_token_create(request: ApiRequest) -> contract.RpcTokenEnvelope:
    """Create an RPC URL for wallets."""
    body = request.body
    name, wallets, unmatched = _name(body.get("name")), _wallets(body["wallets"]), _unmatched(body)
    token, url = await request.use.rpc_tokens.create(request.key, name, wallets, unmatched)
    data = contract.RpcTokenData(token=contract.CreatedRpcToken(**_members(token), url=url))
    return contract.RpcTokenEnvelope(ok=True, data=data)


@operation("GET /api/v1/mev/rpc", "SERVICE_UNAVAILABLE")
async def rpc_token_list(request: ApiRequest) -> contract.RpcTokenListEnvelope:
    """RPC URLs of the client, without their secrets."""
    tokens = await request.use.rpc_tokens.list(request.key)
    data = contract.RpcTokenListData(
        tokens=tuple(contract.RpcToken(**_members(each)) for each in tokens)
    )
    return contract.RpcTokenListEnvelope(ok=True, data=data)


@operation(
    "DELETE /api/v1/mev/rpc/{tokenId}",
    "RPC_TOKEN_NOT_FOUND SERVICE_UNAVAILABLE",
    path_params=contract.RpcTokenPath,
)
async def rpc_token_revoke(request: ApiRequest) -> contract.RevokedRpcTokenEnvelope:
    """Revoke an RPC URL."""
    token_id = request.path_params["tokenId"]
    is_plain = token_id.isascii() and token_id.isprintable() and len(token_id) < 64
    if not (is_plain and token_id.startswith("rpc_")):  # such an id cannot exist
        raise RpcTokenNotFound
    revoked_at_ms = await request.use.rpc_tokens.revoke(request.key, token_id)
    data = contract.RevokedRpcToken(id=token_id, revoked_at=iso_timestamp(revoked_at_ms))
    return contract.RevokedRpcTokenEnvelope(ok=True, data=data)
