"""Tokens and holdings: domain values to contract Structs."""

from quietswap.api.responses.json_values import amount
from quietswap.contract import tokens as contract
from quietswap.contract.wraps import Balance
from quietswap.domain.amounts import format_ether
from quietswap.domain.token_view import TokenHolding, TokenPage, TokenView, WalletHoldings


def tokens_response(page: TokenPage, limit: int, offset: int) -> contract.TokensResponse:
    """Return `data` of GET /api/v1/tokens."""
    end = offset + len(page.tokens)
    return contract.TokensResponse(
        tokens=tuple(map(_token, page.tokens)),
        total=page.total,
        has_more=end < page.total,
        pagination=contract.TokensPagination(limit=limit, offset=offset, next_offset=end),
    )


def _token(token: TokenView) -> contract.TokenEntry:
    return contract.TokenEntry(
        address=token.address,
        symbol=token.symbol,
        name=token.name,
        decimals=token.decimals,
        logo_uri=token.logo_uri,
        lists=token.lists,
        transfer_fee_bps=token.transfer_fee_bps,
        warnings=tuple(warning.value for warning in token.warnings),
    )


def balances_response(found: WalletHoldings) -> contract.BalancesResponse:
    """Return `data` of GET /api/v1/mev/balances/:userAddress."""
    return contract.BalancesResponse(
        user_address=found.wallet,
        block_number=found.block_number,
        eth=Balance(wei=amount(found.eth), ether=format_ether(found.eth)),
        tokens=tuple(map(_holding, found.tokens)),
    )


def _holding(held: TokenHolding) -> contract.TokenBalance:
    return contract.TokenBalance(
        address=held.token,
        symbol=held.details.symbol if held.details else "",
        decimals=held.details.decimals if held.details else None,
        balance=None if held.balance is None else amount(held.balance),
        allowances=tuple(
            contract.RouterAllowance(
                router=router, allowance=None if allowed is None else amount(allowed)
            )
            for router, allowed in held.allowances.items()
        ),
    )
