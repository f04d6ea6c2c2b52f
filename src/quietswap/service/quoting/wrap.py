"""POST /api/v1/mev/wrap/quote: a transaction that wraps or unwraps ETH one to one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from quietswap.rules.chain.records import CallReverts, ChainReader, WalletSnapshot
from quietswap.rules.clients import ApiKey
from quietswap.rules.orders.checks import CONTRACT_NOTE, WRAP_QUOTE, is_contract, would_revert
from quietswap.rules.quotes.issued_quote import issued_wrap
from quietswap.rules.quotes.quote import WrapQuote
from quietswap.rules.quotes.request import WrapBalances, WrapQuoteRequest
from quietswap.rules.relays import EndpointType, ShareMode
from quietswap.rules.tokens.erc20 import TYPICAL_GAS, calldata, value_of
from quietswap.rules.tokens.token import WETH, WrapOperation
from quietswap.rules.tx import fees
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import UnsignedTransaction
from quietswap.service.base.clock import Clock
from quietswap.service.clients.failures import (
    require_no_fork,
    require_within_limits,
    service_unavailable,
)
from quietswap.service.relays.choice import protect
from quietswap.service.relays.relay import Relay
from quietswap.service.storage.client_usage import UsageStore
from quietswap.service.storage.quotes import QuoteStore


@dataclass(frozen=True, slots=True)
class WrapQuotePolicy:
    """The operator's settings; `validity_ms` in ms. A wrap offers nothing to a searcher."""

    endpoint_type: EndpointType
    share_mode: ShareMode
    validity_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QuoteWrap:
    """`relays` by tier; `new_suffix` returns the last part of a quote id."""

    chain: ChainReader
    quotes: QuoteStore
    usage: UsageStore
    relays: Mapping[int, Relay]
    terms: WrapQuotePolicy
    clock: Clock
    new_suffix: Callable[[], str]

    async def __call__(self, key: ApiKey, ask: WrapQuoteRequest) -> WrapQuote:
        """Return an issued, stored quote. Raises ValidationError and ServiceUnavailable."""
        await require_within_limits(self.usage, self.clock, key, ask.wallet, WETH)
        with service_unavailable():
            quote = await self._quote(ask)
            await self.quotes.save(issued_wrap(quote, key.client_id))
        return quote

    async def _quote(self, ask: WrapQuoteRequest) -> WrapQuote:
        probe = _params(ask.operation, ask.amount, fees.WRAP_GAS_FLOOR, 0)
        head, facts, gas = await self.chain.wallet_and_gas(ask.wallet, WETH, probe)
        await require_no_fork(self.chain, head.time)
        if not _covers(facts, ask):
            gas = None
        elif gas is None:
            gas = await self._estimate(ask.wallet, probe)
        if gas is None:
            first = fees.NEW_SLOT_GAS if head.is_amsterdam and _is_wrap(ask) else 0
            gas = TYPICAL_GAS[ask.operation] + first
        limit = fees.gas_limit_for(gas, fees.WRAP_GAS_FLOOR)
        now = self.clock.now_ms()
        value = value_of(ask.operation, ask.amount)
        cap = fees.max_fee_per_gas(
            head.next_base_fee,
            fees.WRAP_FEE_MULTIPLE,
            gas_limit=limit,
            balance=facts.eth_balance,
            value=value,
        )
        return WrapQuote(
            quote_id=f"weth_{ask.operation.value}_{now}_{self.new_suffix()}",
            operation=ask.operation,
            amount=ask.amount,
            wallet=ask.wallet,
            gas=gas,
            gas_wei=gas * head.next_base_fee,
            protection=protect(self.relays, self.terms.endpoint_type, self.terms.share_mode, None),
            params=_params(ask.operation, ask.amount, limit, cap),
            issued_at_ms=now,
            valid_until_ms=now + self.terms.validity_ms,
            notes=(CONTRACT_NOTE,) if is_contract(facts.code) else (),
        )

    async def _estimate(self, wallet: Address, probe: UnsignedTransaction) -> int | None:
        """Return the node's estimate of a call that failed in the batch.

        Raises ValidationError with reason WOULD_REVERT: the wallet's code may refuse the ETH.
        """
        try:
            return await self.chain.estimate_gas(wallet, probe)
        except CallReverts as error:
            raise would_revert(WRAP_QUOTE, str(error)) from error


def _is_wrap(ask: WrapQuoteRequest) -> bool:
    return ask.operation is WrapOperation.WRAP


def _covers(facts: WalletSnapshot, ask: WrapQuoteRequest) -> bool:
    """Return whether the wallet has the amount; if not, the typical gas is told."""
    return (facts.eth_balance if _is_wrap(ask) else facts.token_balance) >= ask.amount


def _params(operation: WrapOperation, amount: int, gas_limit: int, cap: int) -> UnsignedTransaction:
    return UnsignedTransaction(
        to=WETH,
        data=calldata(operation, amount),
        value=value_of(operation, amount),
        gas_limit=gas_limit,
        max_fee_per_gas=cap,
        nonce=None,
    )


class GetWrapInfo:
    """Name and symbol are constants of WETH9."""

    def __init__(self, chain: ChainReader) -> None:
        self._chain = chain

    async def __call__(self, key: ApiKey, wallet: Address) -> WrapBalances:
        """Return balances in wei. Raises ServiceUnavailable if the node does not answer."""
        with service_unavailable():
            eth, weth = await self._chain.balances(wallet, WETH)
        return WrapBalances(name="Wrapped Ether", symbol="WETH", eth=eth, weth=weth)
