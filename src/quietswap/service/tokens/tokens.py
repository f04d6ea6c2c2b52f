"""GET /api/v1/tokens: listed tokens, and any ERC-20 by its address, with warnings."""

import asyncio
from collections.abc import Sequence

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.clients import ApiKey
from quietswap.rules.foreign_text import harmless
from quietswap.rules.tokens import token as view
from quietswap.rules.tokens.token import Token, TokenPage, TokenPolicy, TokenView, TokenWarning
from quietswap.rules.tokens.token_list import BUILT_IN, ListedToken, TokenCatalogue
from quietswap.rules.tx.address import Address, BadAddress, from_any_case
from quietswap.service.clients.failures import service_unavailable
from quietswap.service.node.token_metadata import TokenReader

_LONGEST_SEARCH = 100
_BUILT_IN_DECIMALS = {token.address: token.decimals for token in BUILT_IN}
"""What the contracts of well-known tokens say. It never changes."""


class ListTokens:
    """A search for text asks nobody: lists, and what is known. A whole address asks the node."""

    def __init__(self, catalogue: TokenCatalogue, reader: TokenReader, policy: TokenPolicy) -> None:
        self._catalogue = catalogue
        self._reader = reader
        self._policy = policy

    async def __call__(self, key: ApiKey, search: str, limit: int, offset: int) -> TokenPage:
        """Return one page of the tokens that `search` finds.

        Raises ServiceUnavailable for an unlisted address while the node does not answer.
        """
        address = _address(search)
        if address is not None:
            view = await self._one(address, key.client_id)
            views = (view,) if view and offset == 0 else ()
            return TokenPage(views, 1 if view else 0)
        tokens = self._catalogue.search(harmless(search, _LONGEST_SEARCH))
        page = tokens[offset : offset + limit]
        return TokenPage(tuple(self._listed(token) for token in page), len(tokens))

    def _listed(self, token: ListedToken) -> TokenView:
        """Return a token without a request, with the decimals of the contract if they are known."""
        details = self._reader.known_details(token.address)
        decimals = details.decimals if details else _BUILT_IN_DECIMALS.get(token.address)
        return self._view(token, self._reader.measured_fee(token.address), decimals)

    async def _one(self, address: Address, client_id: str) -> TokenView | None:
        listed = self._catalogue.get(address)
        if listed is None:
            with service_unavailable():
                details = await self._reader.details(address, client_id)
            return await self._unlisted(details, client_id) if details else None
        try:
            details, fee = await asyncio.gather(
                self._reader.details(address, client_id),
                self._reader.transfer_fee(address, client_id),
            )
        except NodeUnavailable:
            return self._listed(listed)
        if details is None:
            return self._view(listed, None, None, TokenWarning.NOT_A_TOKEN)
        return self._view(listed, fee, details.decimals)

    async def _unlisted(self, details: Token, client_id: str) -> TokenView:
        warnings = [TokenWarning.UNLISTED]
        if self._catalogue.has_symbol(details.symbol):
            warnings.append(TokenWarning.IMITATES)
        if self._catalogue.has_name(details.name):
            warnings.append(TokenWarning.IMITATES_NAME)
        fee = await self._reader.transfer_fee(details.address, client_id)
        plain = ListedToken(details.address, details.symbol, details.name, details.decimals)
        return self._view(plain, fee, None, *warnings)

    def _view(
        self,
        token: ListedToken,
        fee: view.TransferFee | None,
        decimals: int | None,
        *warnings: TokenWarning,
    ) -> TokenView:
        """Return a token; `decimals` are those of the contract, None if they are not known."""
        if decimals is not None and decimals != token.decimals:
            warnings += (TokenWarning.WRONG_DECIMALS,)
        if self._policy.refusal(token.address):
            warnings += (TokenWarning.REFUSED,)
        return TokenView(
            address=token.address,
            symbol=token.symbol,
            name=token.name,
            decimals=token.decimals if decimals is None else decimals,
            logo_uri=token.logo_uri,
            lists=token.lists,
            transfer_fee_bps=fee.bps if fee else None,
            warnings=(*warnings, *view.own_warnings(token.address, fee)),
        )


def _address(text: str) -> Address | None:
    try:
        return from_any_case(text.strip())
    except BadAddress:
        return None


class GetBalances:
    """Balances and router allowances at one block.

    `routers`: the contracts that quotes of this service can name as the one to approve.
    """

    def __init__(self, reader: TokenReader, routers: Sequence[Address]) -> None:
        self._reader = reader
        self._routers = tuple(dict.fromkeys(routers))

    async def __call__(
        self, key: ApiKey, wallet: Address, tokens: Sequence[Address]
    ) -> view.WalletHoldings:
        """Return ETH, and each token once. Raises ServiceUnavailable."""
        with service_unavailable():
            once = tuple(dict.fromkeys(tokens))
            return await self._reader.holdings(wallet, once, self._routers, key.client_id)
