"""The operations of RPC URLs for wallets."""

from quietswap.api.handlers import wallet_rpc
from quietswap.api.operation import Operation
from quietswap.contract.wallet_rpc import (
    RevokedRpcTokenEnvelope,
    RpcTokenBody,
    RpcTokenEnvelope,
    RpcTokenListEnvelope,
    RpcTokenPath,
)

RPC_TOKEN_OPERATIONS = (
    Operation(
        "rpc_token_create",
        "POST",
        "/api/v1/mev/rpc",
        "Create an RPC URL for wallets",
        wallet_rpc.create_rpc_token,
        ("MISSING_PARAMETER", "INVALID_ADDRESS", "INVALID_PARAMETER", "SERVICE_UNAVAILABLE"),
        (RpcTokenEnvelope,),
        body=RpcTokenBody,
    ),
    Operation(
        "rpc_token_list",
        "GET",
        "/api/v1/mev/rpc",
        "RPC URLs of the client, without their secrets",
        wallet_rpc.list_rpc_tokens,
        ("SERVICE_UNAVAILABLE",),
        (RpcTokenListEnvelope,),
    ),
    Operation(
        "rpc_token_revoke",
        "DELETE",
        "/api/v1/mev/rpc/{tokenId}",
        "Revoke an RPC URL",
        wallet_rpc.revoke_rpc_token,
        ("RPC_TOKEN_NOT_FOUND", "SERVICE_UNAVAILABLE"),
        (RevokedRpcTokenEnvelope,),
        path_params=RpcTokenPath,
    ),
)
