"""ERC-20 tokens and the holdings of wallets, read from the operator's nodes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from cachetools import TLRUCache

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.chain.rpc_wire import RpcErrorObject
from quietswap.rules.tokens import erc20
from quietswap.rules.tokens.token import Token, TokenHolding, TransferFee, WalletHoldings
from quietswap.rules.tx.address import Address
from quietswap.service.base.clock import Clock
from quietswap.service.node import multicall
from quietswap.service.node.multicall import MULTICALL3, ViewCall, read_views
from quietswap.service.node.rpc import NodeReads
from quietswap.service.node.simulation.transfer_fee import TransferFeeMeter

_MOST_DECIMALS = 255


def views(address: Address) -> list[ViewCall]:
    """Return the views that identify an ERC-20 contract.

    They include `balanceOf`, because price feeds and vault adapters also have decimals.
    """
    calldata = (erc20.DECIMALS, erc20.SYMBOL, erc20.balance_of(MULTICALL3))
    return [ViewCall(address, data) for data in calldata]


def token(address: Address, answers: list[bytes | None]) -> Token | None:
    """Return the token that the answers to `views` describe; None if it is not an ERC-20."""
    decimals, balance = erc20.read_uint(answers[0]), erc20.read_uint(answers[2])
    if decimals is None or balance is None or decimals > _MOST_DECIMALS:
        return None
    return Token(address, decimals, erc20.read_symbol(answers[1]))


class TokenMetadataCache(TLRUCache[Address, Token | None]):
    """The last `size` tokens, without expiry. None (no token) is cached for `unknown_for_s`."""

    def __init__(self, clock: Clock, *, size: int = 10_000, unknown_for_s: float = 60.0) -> None:
        def expires(_: Address, found: Token | None, now: float) -> float:
            return now + unknown_for_s if found is None else math.inf

        super().__init__(size, expires, timer=clock.monotonic)


_DETAILS_TTL_S, _NO_TOKEN_TTL_S = 3600.0, 60.0
_TOKENS_CACHED = 10_000
_DETAIL_GAS = 3_000_000
_OWN_GAS, _TOKEN_GAS = 1_000_000, 500_000
"""Gas of one eth_call: a base, and more for each token. A proxy's view needs some 40,000."""
_MOST_GAS = 25_000_000
"""A hostile token burns all gas that it gets."""
_ALONE_GAS = 3_000_000


class TokenReader:
    """What tokens say of themselves, and what they do. Hostile tokens are expected.

    `client_id` is the client that asks: its reads take turns with those of others. `nodes` returns
    the node reads of a client.
    """

    def __init__(
        self, nodes: Callable[[str], NodeReads], clock: Clock, meter: TransferFeeMeter
    ) -> None:
        self._nodes = nodes
        self._meter = meter
        self._details: TLRUCache[Address, Token | None] = TLRUCache(
            _TOKENS_CACHED,
            lambda _, found, now: now + (_DETAILS_TTL_S if found else _NO_TOKEN_TTL_S),
            timer=clock.monotonic,
        )

    async def details(self, address: Address, client_id: str) -> Token | None:
        """Return metadata, cached; None if it is not an ERC-20. Raises NodeUnavailable."""
        await self._learn([address], self._nodes(client_id))
        return self._details.get(address)

    def known_details(self, address: Address) -> Token | None:
        """Return metadata that was read lately, without a request; None if there is none."""
        return self._details.get(address)

    async def transfer_fee(self, address: Address, client_id: str) -> TransferFee:
        """Simulate transfers and return what they lose, cached. Never raises."""
        token = self._details.get(address)
        decimals = token.decimals if token else 18
        return await self._meter(address, decimals, self._nodes(client_id))

    def measured_fee(self, address: Address) -> TransferFee | None:
        """Return a fee that was measured lately, without a request."""
        return self._meter.known(address)

    async def holdings(
        self,
        wallet: Address,
        tokens: Sequence[Address],
        spenders: Sequence[Address],
        client_id: str,
    ) -> WalletHoldings:
        """Return ETH, balances and allowances at one block. Raises NodeUnavailable.

        A token that does not answer, or burns all gas, affects only its own numbers.
        """
        nodes = self._nodes(client_id)
        await self._learn(tokens, nodes)
        views = [_views(token, wallet, spenders) for token in tokens]
        both = [ViewCall(MULTICALL3, multicall.BLOCK_NUMBER), multicall.eth_balance(wallet)]
        every = [*both, *(view for of_token in views for view in of_token)]
        gas = min(_OWN_GAS + _TOKEN_GAS * len(tokens), _MOST_GAS)
        call = multicall.call(every, gas=gas)
        [result] = await nodes.batch([call])
        if isinstance(result, RpcErrorObject) and result.is_verdict:
            number, eth = multicall.amounts(await read_views(nodes, both, gas=_OWN_GAS))
            rows: list[list[int | None]] = [[None] * (1 + len(spenders)) for _ in tokens]
        else:
            answers = [erc20.read_uint(one) for one in call.value(result)]
            number, eth = _known(answers[0]), _known(answers[1])
            width = 1 + len(spenders)
            rows = [answers[at : at + width] for at in range(2, len(answers), width)]
        await _ask_alone(rows, number, views, nodes)
        token_holdings = []
        for each, (balance, *amounts) in zip(tokens, rows, strict=True):
            allowed = dict(zip(spenders, amounts, strict=True))
            token_holdings.append(TokenHolding(each, self._details.get(each), balance, allowed))
        return WalletHoldings(wallet, number, eth, tuple(token_holdings))

    async def _learn(self, tokens: Sequence[Address], nodes: NodeReads) -> None:
        """Read the metadata of tokens that are not cached, each in a call of its own."""
        missing = [token for token in tokens if token not in self._details]
        if not missing:
            return
        views_of = ([*views(each), ViewCall(each, erc20.NAME)] for each in missing)
        calls = [multicall.call(each, gas=_DETAIL_GAS) for each in views_of]
        for address, call, result in zip(missing, calls, await nodes.batch(calls), strict=True):
            if isinstance(result, RpcErrorObject) and result.is_verdict:
                await multicall.require_runs(nodes)
                self._details[address] = None
            else:
                self._details[address] = _details(address, call.value(result))


async def _ask_alone(
    rows: list[list[int | None]], number: int, asked: Sequence[Sequence[ViewCall]], nodes: NodeReads
) -> None:
    """Ask each token without all answers again, at the same block.

    Another token of the batch may have burned the gas of its views.
    """
    failed = [at for at, row in enumerate(rows) if None in row]
    if not failed or len(rows) == 1:
        return
    calls = [multicall.call(asked[at], gas=_ALONE_GAS, at=hex(number)) for at in failed]
    for at, call, result in zip(failed, calls, await nodes.batch(calls), strict=True):
        if isinstance(result, RpcErrorObject) and result.is_verdict:
            rows[at] = [None] * len(asked[at])
        else:
            rows[at] = [erc20.read_uint(one) for one in call.value(result)]


def _known(number: int | None) -> int:
    """Return a number that every node can tell."""
    if number is None:
        raise NodeUnavailable("the node does not tell the block or the ETH balance")
    return number


def _views(token: Address, wallet: Address, spenders: Sequence[Address]) -> list[ViewCall]:
    calls = (
        erc20.balance_of(wallet),
        *(erc20.allowance(wallet, spender) for spender in spenders),
    )
    return [ViewCall(token, data) for data in calls]


def _details(address: Address, answers: list[bytes | None]) -> Token | None:
    details = token(address, answers)
    return details and replace(details, name=erc20.read_name(answers[3]))
