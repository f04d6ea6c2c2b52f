"""The checks of a quote before signing. They do not trust the service.

They use only the quote and the request. Calldata that no router is proven to enforce is refused.
"""

import inspect
import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, Self, TypeVar, get_args

import msgspec

from quietswap.client.api_calls import API, ApiCall, in_weth, swap_query
from quietswap.client.errors import QuoteDeclined, UnsafeQuote
from quietswap.rules.amounts import BPS
from quietswap.rules.contract.quotes import StreamedRoute, SwapQuoteEnvelope, SwapQuoteResponse
from quietswap.rules.contract.request_limits import DEFAULT_SLIPPAGE_BPS
from quietswap.rules.contract.transactions import TransactionParams
from quietswap.rules.quotes import route_policy
from quietswap.rules.quotes.quote import Route
from quietswap.rules.quotes.quote import RouteRequest as Terms
from quietswap.rules.routers import batch
from quietswap.rules.safety import methods as routers
from quietswap.rules.safety.loss import Loss
from quietswap.rules.tokens import token as tokens
from quietswap.rules.tokens.token import ETH, WETH, WITHOUT_TRANSFER_FEE, Token
from quietswap.rules.trial import swap_trial
from quietswap.rules.tx.address import Address, from_any_case
from quietswap.rules.tx.fees import TRANSACTION_GAS
from quietswap.rules.tx.signed import GAS_LIMIT_CAP, MAINNET, TYPE_2, UnsignedTransaction
from quietswap.rules.vendors import zeroex
from quietswap.rules.wire import WrapOperation

Approval = Literal["exact", "max", "never"]
"""What to approve when the allowance is too low: the sell amount, the maximum, or nothing."""
Q = TypeVar("Q")
MAX_FEE_WEI = 5 * 10**16
"""0.05 ETH: 500,000 gas at a fee cap of 100 gwei."""
MAX_FEE_OPTION = "max_fee_wei (--max-fee)"

_HEX = re.compile(r"0x(?:[0-9a-fA-F]{2})*", re.ASCII)
ABSURD_FEE = 10**13
"""10,000 gwei, in wei per gas: more than any base fee so far."""

ALLOWANCE_HOLDER = zeroex.ROUTER
"""0x's contract. The contract that it lets move the tokens is read from the chain, not pinned."""

ROUTERS = frozenset(routers.ROUTERS)
"""The router pin: only these contracts are approved or called."""


@dataclass(frozen=True, slots=True)
class SwapRequest:
    """What to swap. `sell_amount` is in smallest units.

    A token is an address, or "ETH": its WETH is quoted and planned, and `swap` wraps it before the
    swap, or unwraps exactly what arrived. While an earlier swap of the same pair with ETH is
    unfinished it is declined, unless `new_trade` begins another one.

    Without it (None) the least amount is sold whose minimum is `at_least`: `at_least` is then
    required, and so is `max_sell`, the most that may be sold. No quote bounds that amount, so the
    caller does: with any amount of a token a router is bound to no price. An "exact" approval is
    then one of `max_sell`, because the quote that follows it may need a little more.

    `at_least` is the lowest minimum output to sign for, in smallest units. `accept` is called with
    the quote before signing; False declines it. `max_impact_percent` declines a quote that is
    further below Chainlink's prices at the caller's own node. `max_fee_wei` is the highest gas cost
    (gas limit x fee cap) to sign for, in wei; None sets no limit.

    A quote that may lose 3 % or more by `quietswap.rules.safety.loss` is declined, also one without
    a known price unless `at_least` is set. `max_loss_percent` accepts more, or less;
    `max_impact_percent` accepts it, too. With `confirm` such a quote is not declined: it is called
    with the quote and its loss after `accept`, and False declines it.

    `batch`: a needed approval is part of the swap's transaction (`quietswap.rules.routers.batch`).
    It takes a client with a node and a wallet that is delegated (EIP-7702); otherwise the quote is
    declined, and nothing is approved. With ETH that transaction also wraps what is sold, or unwraps
    the minimum; what arrives above it stays WETH. `batch_conversion` says which of both, in the
    request of the WETH that a plan has.

    `nonce` is the only nonce to sign with. If it is None and the client has a node, the quote must
    have that node's next nonce, unless `any_nonce` accepts the service's. `replace` allows an
    approval to use the nonce of an open order.
    """

    sell_token: str
    buy_token: str
    sell_amount: int | None
    wallet: str
    slippage_bps: int = DEFAULT_SLIPPAGE_BPS
    approval: Approval = "exact"
    at_least: int | None = None
    accept: Callable[[SwapQuoteResponse], bool] | None = None
    max_impact_percent: Decimal | None = None
    nonce: int | None = None
    any_nonce: bool = False
    replace: bool = False
    max_fee_wei: int | None = MAX_FEE_WEI
    max_loss_percent: Decimal | None = None
    confirm: Callable[[SwapQuoteResponse, Loss], bool] | None = None
    batch: bool = False
    max_sell: int | None = None
    new_trade: bool = False
    batch_conversion: WrapOperation | None = None

    def __post_init__(self) -> None:
        if self.approval not in get_args(Approval):
            raise ValueError(f"approval must be exact, max or never, not {self.approval!r}")
        if self.batch and self.approval != "exact":
            raise ValueError(
                f"batch approves exactly the amount, so approval is no {self.approval!r}"
            )
        self._require_conversion()
        # a guard that compares with nothing, as nan does, or with too little would guard nothing
        self._require_amounts()
        require_int("slippage_bps", self.slippage_bps, 1)
        if self.slippage_bps >= BPS:
            raise ValueError(f"slippage_bps must be below {BPS}, not {self.slippage_bps}")
        for name, least in (("at_least", 1), ("max_fee_wei", 0), ("nonce", 0)):
            if getattr(self, name) is not None:
                require_int(name, getattr(self, name), least)
        require_percent("max_impact_percent", self.max_impact_percent)
        require_percent("max_loss_percent", self.max_loss_percent)

    def _require_amounts(self) -> None:
        """Refuse anything but an amount to sell, or a minimum with the most to sell for it."""
        if self.sell_amount is not None:
            require_int("sell_amount", self.sell_amount, 1)
            if self.max_sell is not None:
                raise ValueError(
                    "max_sell bounds the amount that at_least needs: give no sell_amount"
                )
            return
        for name in ("at_least", "max_sell"):
            if getattr(self, name) is None:
                raise ValueError(f"without sell_amount {name} is required")
            require_int(name, getattr(self, name), 1)

    def _require_conversion(self) -> None:
        """Refuse a conversion of anything but WETH, or without the batch that makes it."""
        converted = {"wrap": self.sell_token, "unwrap": self.buy_token}
        token = converted.get(self.batch_conversion or "")
        if self.batch_conversion and (not self.batch or (token or "").lower() != WETH.lower()):
            raise ValueError("batch_conversion wraps sold WETH or unwraps bought WETH, in a batch")

    @property
    def conversion(self) -> WrapOperation | None:
        """What ETH needs in a transaction of its own: a wrap before, or an unwrap after the swap.

        None with `batch`, whose transaction does it.
        """
        return None if self.batch else self._ether

    @property
    def has_ether(self) -> bool:
        """Whether it sells or buys ETH, in one transaction or several."""
        return self._ether is not None

    @property
    def _ether(self) -> WrapOperation | None:
        if self.sell_token == ETH:
            return "wrap"
        return "unwrap" if self.buy_token == ETH else None

    @property
    def in_weth(self) -> Self:
        """The request of the swap itself, which has WETH where this one has ETH.

        Raises ValueError for ETH into WETH, and for what bounds one transaction of several.
        """
        sell, buy = in_weth(self.sell_token), in_weth(self.buy_token)
        if self._ether and sell.lower() == buy.lower():
            raise ValueError("ETH into WETH is a wrap, and WETH into ETH an unwrap: no swap")
        if self.conversion and (self.any_nonce or self.nonce is not None):
            raise ValueError("a swap with ETH is several transactions: give no nonce")
        inside = self._ether if self.batch else None
        inside = inside or self.batch_conversion
        return replace(self, sell_token=sell, buy_token=buy, batch_conversion=inside)

    @property
    def approval_amount(self) -> int:
        """How much an exact approval is of: what is sold, or the most that may be."""
        return self.sell_amount or self.max_sell or 0

    def call(
        self, verified: Callable[[StreamedRoute], None] | None = None
    ) -> ApiCall[SwapQuoteResponse]:
        """Return the call that requests a quote; as a stream with `verified`."""
        query = swap_query(self.sell_token, self.buy_token)
        if self.sell_amount is None:
            query |= {"minBuyAmount": str(self.at_least)}
        else:
            query |= {"sellAmount": str(self.sell_amount)}
        query |= {"userAddress": self.wallet, "slippageBps": str(self.slippage_bps)}
        if self.batch_conversion is not None:
            query |= {"conversion": self.batch_conversion}
        path = f"{API}/quote/stream" if verified else f"{API}/quote"
        return ApiCall("GET", path, SwapQuoteEnvelope, _with_timestamp, query, verified=verified)


def _with_timestamp(envelope: SwapQuoteEnvelope) -> SwapQuoteResponse:
    return msgspec.structs.replace(envelope.data, timestamp=envelope.timestamp)


def require_int(name: str, number: object, least: int) -> None:
    """Refuse a number of a request that is no int of `least` or more. Raises ValueError."""
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise ValueError(f"{name} must be an int of {least} or more, not {number!r}")


def is_accepted(accept: Callable[[Q], object] | None, quote: Q) -> bool:
    """Return the answer of a caller's `accept`. Raises TypeError if it is asynchronous."""
    if accept is None:
        return True
    answer = accept(quote)
    if inspect.isawaitable(answer):  # it would count as yes
        if inspect.iscoroutine(answer):
            answer.close()
        raise TypeError("accept must return a bool, and must not be asynchronous")
    return bool(answer)


def require_percent(name: str, number: object) -> None:
    """Refuse a bound that is no percentage; None sets no bound. Raises ValueError."""
    is_number = isinstance(number, int | float | Decimal) and math.isfinite(number)
    if number is not None and not (is_number and 0 <= Decimal(str(number)) <= 100):
        raise ValueError(f"{name} must be 0 to 100, not {number}")


def check_params(params: TransactionParams) -> list[str]:
    """Return the faults of a transaction's parameters, as text."""
    faults = {
        "a priority fee": params.max_priority_fee_per_gas != 0,
        "another chain or type": (params.chain_id, params.type) != (MAINNET, TYPE_2),
        "more gas than a transaction may have": params.gas_limit > GAS_LIMIT_CAP,
        "less gas than a transaction needs": params.gas_limit < TRANSACTION_GAS,
        "an absurd fee cap": params.max_fee_per_gas > ABSURD_FEE,
    }
    return [name for name, is_so in faults.items() if is_so]


def check_quote(
    quote: SwapQuoteResponse,
    request: SwapRequest,
    settlers: Collection[Address] = (),
    *,
    batched: bool = False,
) -> None:
    """Refuse a quote that does not match the request.

    The router must be in the router pin. It must be proven to enforce both tokens, the amount, the
    wallet as the receiver, and a minimum within the slippage. `settlers` are 0x's genuine Settler
    contracts, which only the caller's own node can name. `batched`: the transaction must be the
    batched form, with the exact approval of that router. Raises UnsafeQuote, and QuoteDeclined if
    only the gas cost or the amount sold is above the limit.
    """
    params, route = quote.mev_protection.transaction_params, quote.dex_route
    called, data = _call_of(quote, request) if batched else (params.to, params.data)
    faults = {
        "another sell token": quote.sell_token.lower() != request.sell_token.lower(),
        "another buy token": quote.buy_token.lower() != request.buy_token.lower(),
        "another amount": request.sell_amount not in (None, quote.sell_amount),
        "a lower minimum than was asked for": request.sell_amount is None
        and quote.min_buy_amount < (request.at_least or 0),
        "a target that is not the router": called.lower() != route.target.lower(),
        "other calldata than the route's": data.lower() != route.data.lower(),
        "ETH to be sent along": params.value != 0,
        "no nonce": params.nonce is None,
    }
    violations = [name for name, is_so in faults.items() if is_so] + check_params(params)
    if violations:
        raise UnsafeQuote(f"the quote has {', '.join(violations)}: not signed")
    require_cost("its gas", params.max_gas_cost, request.max_fee_wei, MAX_FEE_OPTION)
    if request.max_sell is not None and quote.sell_amount > request.max_sell:
        raise QuoteDeclined(
            f"it sells {quote.sell_amount} smallest units, more than {request.max_sell}: not"
            " signed; max_sell (--max-sell) allows more",
            short=(request.sell_token, request.max_sell, int(quote.sell_amount)),
        )
    try:
        broken = _broken_rule(quote, request, settlers)
    except ValueError as error:
        raise UnsafeQuote(f"the quote cannot be read: {error}: not signed") from error
    if broken is not None:
        raise UnsafeQuote(f"the quote is not safe: {broken}: not signed")


def _call_of(quote: SwapQuoteResponse, request: SwapRequest) -> tuple[str, str]:
    """Return target and calldata of the swap in a batch with the exact approval before it.

    What was asked for is a batch, so nothing else is read instead, and none that wraps or unwraps
    anything else than was asked for. Raises UnsafeQuote.
    """
    swap = batch_of(quote.mev_protection.transaction_params, request.wallet)
    inside = request.batch_conversion
    if swap is None or swap != batch.swap_batch(
        from_any_case(request.sell_token),
        swap.router,
        int(quote.sell_amount),
        swap.data,
        min_buy_amount=int(quote.min_buy_amount),
        conversion=tokens.WrapOperation(inside) if inside else None,
    ):
        with_eth = {"wrap": "the wrap of what is sold, ", "unwrap": "the unwrap of the minimum, "}
        raise UnsafeQuote(
            f"the quote has another batch than {with_eth.get(inside or '', '')}the exact approval"
            " and the swap, in a transaction of the wallet to itself: not signed"
        )
    return swap.router, "0x" + swap.data.hex()


def with_params(quote: SwapQuoteResponse, params: TransactionParams) -> SwapQuoteResponse:
    protection = msgspec.structs.replace(quote.mev_protection, transaction_params=params)
    return msgspec.structs.replace(quote, mev_protection=protection)


def batch_of(params: TransactionParams, wallet: str) -> batch.SwapBatch | None:
    """Return the batch of approval and swap that a transaction is; None for any other."""
    try:
        sender, target, data = from_any_case(wallet), from_any_case(params.to), _octets(params.data)
    except ValueError:
        return None
    call = UnsignedTransaction(
        target, data, params.value, params.gas_limit, params.max_fee_per_gas, params.nonce
    )
    return batch.read(call, sender)


def require_cost(subject: str, cost: int, most: int | None, option: str) -> None:
    """Refuse gas that may cost more than `most`, both in wei; None sets no limit.

    `option` is the caller's name of the limit, for the message. Raises QuoteDeclined.
    """
    if most is not None and cost > most:
        raise QuoteDeclined(
            f"{subject} may cost {cost} wei, more than {most}: not signed; {option} allows more"
        )


def measures_itself(quote: SwapQuoteResponse) -> bool:
    """Return whether the router compares a balance of its own with the minimum; True if unknown.

    Such a router does not detect a fee that the buy token takes on the last transfer.
    """
    return swap_trial.measures_itself(
        from_any_case(quote.dex_route.target), _octets(quote.dex_route.data)
    )


def check_unsimulated(quote: SwapQuoteResponse) -> None:
    """Refuse a swap without simulation if a fee on transfer could lower the amount received.

    Raises UnsafeQuote.
    """
    if measures_itself(quote) and from_any_case(quote.buy_token) not in WITHOUT_TRANSFER_FEE:
        raise UnsafeQuote(
            f"{quote.source}'s router would not see a fee on transfer of {quote.buy_token}, and"
            " only a trial at your own node, one with eth_simulateV1, can rule it out (--rpc-url):"
            " not signed"
        )


def _broken_rule(
    quote: SwapQuoteResponse, request: SwapRequest, settlers: Collection[Address]
) -> str | None:
    """Return the fund-safety rule that the quote breaks, or None, by the service's own code."""
    target, data = from_any_case(quote.dex_route.target), _octets(quote.dex_route.data)
    if target not in ROUTERS:
        return f"{target} is not a router known here"
    route = Route(
        source=quote.source,
        dex=quote.dex_route.dex,
        target=target,
        spender=target,
        value=quote.mev_protection.transaction_params.value,
        data=data,
        path=(),
        buy_amount=quote.buy_amount,
        min_buy_amount=quote.min_buy_amount,
        gas=None,
        impact_percent=None,
    )
    terms = Terms(
        sell=Token(from_any_case(request.sell_token), 0),
        buy=Token(from_any_case(request.buy_token), 0),
        sell_amount=quote.sell_amount,
        wallet=from_any_case(request.wallet),
        slippage_bps=request.slippage_bps,
        gas_price_wei=0,
        deadline=0,
    )
    broken = route_policy.check_route(route, terms, ROUTERS, settlers=settlers)
    if broken is not None and target == ALLOWANCE_HOLDER and not settlers:
        broken += "; 0x is only taken with a node of your own that names its contracts (--rpc-url)"
    if broken is None and quote.verification is not None and quote.verification.bound is False:
        return "the service says that it is not bound by its router"
    return broken


def _octets(text: str) -> bytes:
    if not _HEX.fullmatch(text):
        raise ValueError("its calldata is not 0x-prefixed hex")
    return bytes.fromhex(text[2:])
