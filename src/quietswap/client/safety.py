"""What may be signed, whatever the service says: it need not be the wallet's own.

Everything here is decided from the quote, the request and, for calldata that binds no router to
anything, a rehearsal on the caller's own node.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import msgspec

from quietswap.client import calls, chain
from quietswap.client.errors import NodeRefused, UnsafeQuote
from quietswap.client.flow import Flow, ask
from quietswap.client.resources import SwapQuote, TransactionParams
from quietswap.domain import calldata, money_rules
from quietswap.domain.address import from_any_case
from quietswap.domain.route import Route
from quietswap.domain.route import SwapRequest as Terms
from quietswap.domain.token import Token
from quietswap.domain.transaction import GAS_LIMIT_CAP, MAINNET, TYPE_2

Approval = Literal["exact", "max", "never"]
"""How much to approve when the allowance is short: the sell amount, everything, or nothing."""
DEFAULT_SLIPPAGE_BPS = 50

_ALLOWANCE_HOLDER = "0x0000000000001fF3684f28c67538d4D072C22734"
"""0x's: it lets the contract named in the calldata take the tokens, and pins none."""

ROUTERS = frozenset(
    {
        "0x6131B5fae19EA4f9D964eAc0408E4408b66337b5",  # KyberSwap
        "0x6A000F20005980200259B80c5102003040001068",  # Velora
        "0xAC4c6e212A361c968F1725b4d055b47E63F80b75",  # Sushi
        "0x6352a56caadC4F1E25CD6c75970Fa768A3304e64",  # OpenOcean
        _ALLOWANCE_HOLDER,
        "0x111111125421cA6dc452d289314280a0f8842A65",  # 1inch
    }
)
"""Contracts that are known to be aggregators' routers: no other is approved or called."""


@dataclass(frozen=True, slots=True)
class SwapRequest:
    """What to swap. `sell_amount` in smallest units.

    `at_least` (smallest units) and `accept` are conditions a quote must meet before it is signed.
    `routers` are further contracts that may be approved and called, beside `ROUTERS`.
    """

    sell_token: str
    buy_token: str
    sell_amount: int
    wallet: str
    slippage_bps: int = DEFAULT_SLIPPAGE_BPS
    approval: Approval = "exact"
    at_least: int | None = None
    accept: Callable[[SwapQuote], bool] | None = None
    routers: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.approval not in get_args(Approval):
            raise ValueError(f"approval must be exact, max or never, not {self.approval!r}")

    def call(self) -> calls.Call[SwapQuote]:
        """Return the call for a quote."""
        return calls.quote(
            sell_token=self.sell_token,
            buy_token=self.buy_token,
            sell_amount=self.sell_amount,
            wallet=self.wallet,
            slippage_bps=self.slippage_bps,
        )


def check_params(params: TransactionParams) -> list[str]:
    """Return what no transaction of a quote may have, in words."""
    faults = {
        "a priority fee": params.max_priority_fee_per_gas != 0,
        "another chain or type": (params.chain_id, params.type) != (MAINNET, TYPE_2),
        "more gas than a transaction may have": params.gas_limit > GAS_LIMIT_CAP,
    }
    return [name for name, is_so in faults.items() if is_so]


def check_quote(quote: SwapQuote, request: SwapRequest) -> None:
    """Refuse a quote that is not what was asked for. Raises UnsafeQuote.

    The router must be known, and what its calldata enforces be the request: both tokens, the
    amount, the wallet as the receiver, and a minimum within the slippage.
    """
    params, route = quote.mev_protection.transaction_params, quote.dex_route
    faults = {
        "another sell token": quote.sell_token.lower() != request.sell_token.lower(),
        "another buy token": quote.buy_token.lower() != request.buy_token.lower(),
        "another amount": quote.sell_amount != request.sell_amount,
        "a target that is not the router": params.to.lower() != route.target.lower(),
        "other calldata than the route's": params.data.lower() != route.data.lower(),
        "ETH to be sent along": params.value != 0,
        "no nonce": params.nonce is None,
    }
    found = [name for name, is_so in faults.items() if is_so] + check_params(params)
    if found:
        raise UnsafeQuote(f"the quote has {', '.join(found)}: not signed")
    try:
        broken = _broken_rule(quote, request)
    except ValueError as error:
        raise UnsafeQuote(f"the quote cannot be read: {error}: not signed") from error
    if broken is not None:
        raise UnsafeQuote(f"the quote is not safe: {broken}: not signed")


def _broken_rule(quote: SwapQuote, request: SwapRequest) -> str | None:
    """Return the money rule that the quote breaks, by the very code the service goes by."""
    target, data = from_any_case(quote.dex_route.target), _octets(quote.dex_route.data)
    known = {from_any_case(each) for each in ROUTERS | request.routers}
    if target not in known:
        return f"{target} is not a router known here, nor one you named"
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
        sell_amount=request.sell_amount,
        wallet=from_any_case(request.wallet),
        slippage_bps=request.slippage_bps,
        gas_price_wei=0,
        deadline=0,
    )
    return money_rules.check_route(route, terms, known)


def _octets(text: str) -> bytes:
    if not text.startswith("0x"):
        raise ValueError("its calldata is not 0x-prefixed hex")
    return bytes.fromhex(text[2:])


def rehearse(quote: SwapQuote, request: SwapRequest, *, has_node: bool) -> Flow[None]:
    """Try a call whose outcome no known router enforces on the caller's own node first.

    That is calldata of a method not known here, and 0x's, whose contract is not pinned. A router
    the caller named in `routers` is the caller's choice. Raises UnsafeQuote.
    """
    target = from_any_case(quote.dex_route.target)
    is_bound = calldata.decode(_octets(quote.dex_route.data)) and target != _ALLOWANCE_HOLDER
    if is_bound or target in {from_any_case(each) for each in request.routers}:
        return
    if not has_node:
        raise UnsafeQuote(
            f"what the call of {target} enforces cannot be read here, and without `rpc_url` it"
            " cannot be tried: not signed"
        )
    try:
        gained = yield from ask(_trial(quote, request))
    except NodeRefused as error:
        raise UnsafeQuote(f"your node cannot try the swap ({error}): not signed") from error
    if gained < quote.min_buy_amount:
        raise UnsafeQuote(
            f"tried on your node it delivers {gained}, not {quote.min_buy_amount}: not signed"
        )


def _trial(quote: SwapQuote, request: SwapRequest) -> chain.NodeCall[int]:
    params = quote.mev_protection.transaction_params
    held = {"to": request.buy_token, "data": chain.balance_data(request.wallet)}
    swap = {
        "from": request.wallet,
        "to": params.to,
        "data": params.data,
        "gas": hex(int(params.gas_limit)),
    }
    state = {"blockStateCalls": [{"calls": [held, swap, held]}], "validation": False}
    return chain.NodeCall("eth_simulateV1", (state, "latest"), _gained)


class _Tried(msgspec.Struct, frozen=True, rename="camel"):
    status: str
    return_data: str = "0x"


class _Block(msgspec.Struct, frozen=True):
    calls: tuple[_Tried, _Tried, _Tried]


def _gained(result: Any) -> int:
    (block,) = msgspec.convert(result, tuple[_Block])
    before, swap, after = block.calls
    if chain.number(swap.status) != 1:
        return 0
    return chain.first_word(after.return_data) - chain.first_word(before.return_data)
