"""POST /api/v1/mev/wrap/quote: a transaction that wraps or unwraps ETH one to one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from quietswap.domain import fees
from quietswap.domain.address import Address
from quietswap.domain.protection import EndpointType, ShareMode
from quietswap.domain.quote import Operation, WrapQuote
from quietswap.domain.refusals import ServiceUnavailable
from quietswap.domain.requests import WrapAsk
from quietswap.domain.terms import issued_wrap
from quietswap.domain.token import WETH
from quietswap.domain.transaction import TransactionParams
from quietswap.domain.wrap import TYPICAL_GAS, calldata, value_of
from quietswap.ports.outside import Chain, ChainDown, Clock, Relay
from quietswap.ports.stores import ApiKey, QuoteStore, StoreDown
from quietswap.services.choose_relay import protect


@dataclass(frozen=True, slots=True)
class WrapTerms:
    """The operator's choices; nothing about a wrap is worth sharing with a searcher."""

    endpoint_type: EndpointType = EndpointType.FULLPRIVACY
    share_mode: ShareMode = ShareMode.NONE
    validity_ms: int = 300_000


class QuoteWrap:
    """`relays` is keyed by tier, `new_suffix` makes the last part of a quote id."""

    def __init__(
        self,
        *,
        chain: Chain,
        quotes: QuoteStore,
        relays: Mapping[int, Relay],
        terms: WrapTerms,
        clock: Clock,
        new_suffix: Callable[[], str],
    ) -> None:
        self._chain = chain
        self._quotes = quotes
        self._relays = relays
        self._terms = terms
        self._clock = clock
        self._new_suffix = new_suffix

    async def __call__(self, key: ApiKey, ask: WrapAsk) -> WrapQuote:
        """Return an issued, stored quote. Raises ServiceUnavailable."""
        try:
            quote = await self._quote(ask)
            await self._quotes.save(issued_wrap(quote, key.id))
        except ChainDown as error:
            raise ServiceUnavailable("the Ethereum node does not answer") from error
        except StoreDown as error:
            raise ServiceUnavailable("the database does not answer") from error
        return quote

    async def _quote(self, ask: WrapAsk) -> WrapQuote:
        head = await self._chain.head()
        eth, _ = await self._chain.balances(ask.wallet, WETH)
        gas = await self._gas(ask)
        limit = fees.gas_limit_for(gas, fees.WRAP_GAS_FLOOR)
        now = self._clock.now_ms()
        value = value_of(ask.operation, ask.amount)
        cap = fees.max_fee_per_gas(
            head.next_base_fee, fees.WRAP_FEE_MULTIPLE, gas_limit=limit, balance=eth, value=value
        )
        return WrapQuote(
            quote_id=f"weth_{ask.operation.value}_{now}_{self._new_suffix()}",
            operation=ask.operation,
            amount=ask.amount,
            wallet=ask.wallet,
            gas=gas,
            protection=protect(
                self._relays, self._terms.endpoint_type, self._terms.share_mode, None
            ),
            params=_params(ask.operation, ask.amount, limit, cap),
            issued_at_ms=now,
            valid_until_ms=now + self._terms.validity_ms,
        )

    async def _gas(self, ask: WrapAsk) -> int:
        """Return the node's estimate, or the typical use while the wallet cannot cover the call."""
        probe = _params(ask.operation, ask.amount, fees.WRAP_GAS_FLOOR, 0)
        estimate = await self._chain.estimate_gas(ask.wallet, probe)
        return TYPICAL_GAS[ask.operation] if estimate is None else estimate


def _params(operation: Operation, amount: int, gas_limit: int, cap: int) -> TransactionParams:
    to: Address = WETH
    return TransactionParams(
        to=to,
        data=calldata(operation, amount),
        value=value_of(operation, amount),
        gas_limit=gas_limit,
        max_fee_per_gas=cap,
        nonce=None,
    )
