"""The operations of tokens, balances and prices."""

from quietswap.api.handlers import tokens
from quietswap.api.operation import Operation
from quietswap.contract.prices import PriceEnvelope
from quietswap.contract.requests import (
    BalancesQuery,
    PriceQuery,
    TokensQuery,
    WalletPath,
)
from quietswap.contract.tokens import BalancesEnvelope, TokensEnvelope

TOKEN_OPERATIONS = (
    Operation(
        "token_price",
        "GET",
        "/api/v1/price",
        "Indicative price, without wallet, transaction or verification",
        tokens.price,
        (
            "INVALID_TOKEN_ADDRESS",
            "NATIVE_ETH_NOT_SUPPORTED",
            "INVALID_AMOUNT",
            "INVALID_PARAMETER",
            "INSUFFICIENT_LIQUIDITY",
            "TOKEN_NOT_SUPPORTED",
            "SERVICE_UNAVAILABLE",
        ),
        (PriceEnvelope,),
        query=PriceQuery,
    ),
    Operation(
        "token_list",
        "GET",
        "/api/v1/tokens",
        "Listed tokens, and any token by its address, with warnings",
        tokens.list_tokens,
        ("INVALID_PARAMETER", "SERVICE_UNAVAILABLE"),
        (TokensEnvelope,),
        query=TokensQuery,
    ),
    Operation(
        "token_balances",
        "GET",
        "/api/v1/mev/balances/{userAddress}",
        "Balances and router allowances of a wallet at one block",
        tokens.balances,
        (
            "INVALID_ADDRESS",
            "INVALID_TOKEN_ADDRESS",
            "NATIVE_ETH_NOT_SUPPORTED",
            "INVALID_PARAMETER",
            "SERVICE_UNAVAILABLE",
        ),
        (BalancesEnvelope,),
        path_params=WalletPath,
        query=BalancesQuery,
    ),
)
