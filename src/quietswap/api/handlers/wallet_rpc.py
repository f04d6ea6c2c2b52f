"""The handlers that create, list and revoke RPC URLs of wallets."""

from quietswap.api.handlers.request import AuthenticatedRequest
from quietswap.api.request_parsing.parse_rpc_tokens import parse_rpc_token, parse_rpc_token_id
from quietswap.api.responses import wallet_rpc
from quietswap.api.responses.json_values import iso_timestamp
from quietswap.api.use_cases import UseCases
from quietswap.contract.wallet_rpc import (
    RevokedRpcToken,
    RevokedRpcTokenEnvelope,
    RpcTokenData,
    RpcTokenEnvelope,
    RpcTokenListData,
    RpcTokenListEnvelope,
)


async def create_rpc_token(use_cases: UseCases, request: AuthenticatedRequest) -> RpcTokenEnvelope:
    """POST /api/v1/mev/rpc."""
    name, wallets, unmatched = parse_rpc_token(request.body)
    token, url = await use_cases.create_rpc_token(request.key, name, wallets, unmatched)
    data = RpcTokenData(token=wallet_rpc.created_rpc_token_response(token, url))
    return RpcTokenEnvelope(ok=True, data=data)


async def list_rpc_tokens(
    use_cases: UseCases, request: AuthenticatedRequest
) -> RpcTokenListEnvelope:
    """GET /api/v1/mev/rpc."""
    tokens = await use_cases.list_rpc_tokens(request.key)
    data = RpcTokenListData(tokens=tuple(map(wallet_rpc.rpc_token_response, tokens)))
    return RpcTokenListEnvelope(ok=True, data=data)


async def revoke_rpc_token(
    use_cases: UseCases, request: AuthenticatedRequest
) -> RevokedRpcTokenEnvelope:
    """DELETE /api/v1/mev/rpc/:tokenId."""
    token_id = parse_rpc_token_id(request.path_params["tokenId"])
    revoked_at_ms = await use_cases.revoke_rpc_token(request.key, token_id)
    data = RevokedRpcToken(id=token_id, revoked_at=iso_timestamp(revoked_at_ms))
    return RevokedRpcTokenEnvelope(ok=True, data=data)
