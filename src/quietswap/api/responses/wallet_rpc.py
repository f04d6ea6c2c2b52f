"""RPC URLs of wallets: domain values to contract Structs."""

from typing import Any

from quietswap.api.responses.json_values import iso_timestamp
from quietswap.contract import wallet_rpc as contract
from quietswap.ports.wallet_rpc import WalletRpcToken


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
