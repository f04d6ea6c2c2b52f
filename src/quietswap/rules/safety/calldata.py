"""Decode the terms that a router's own code enforces; refuse all other calldata.

`decode` reads the terms at the places given by the row of `methods.METHODS`. The row is a proof for
its router only. Whatever pools, executors, partners and targets the calldata names, the wallet
loses at most `sell_amount` of `sell_token` and gets at least `min_buy_amount` of `buy_token`, or
the call reverts.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from quietswap.rules.amounts import BPS
from quietswap.rules.routers import swap_router02
from quietswap.rules.routers.known_pools import v2_pair, v2_pairs, v3_pool, v3_pools
from quietswap.rules.routers.method import BUY_FEE, CalldataLayout, Measure, RouterMethod
from quietswap.rules.routers.words import WORD, MalformedCalldata, UnboundCalldata, Words
from quietswap.rules.safety.methods import METHODS, ROUTERS
from quietswap.rules.tokens.token import NATIVE
from quietswap.rules.tx.address import Address, from_bytes, to_bytes

__all__ = [
    "DecodedCalldata",
    "MalformedCalldata",
    "NoMinimum",
    "UnboundCalldata",
    "deadline",
    "decode",
    "payer",
]

_NOBODY = Address("0x" + "0" * 40)
_ETHER = frozenset({_NOBODY, NATIVE})
"""Placeholders of routers for native ETH; as a recipient the first means no address."""
_ADDRESS_MASK = 2**160 - 1
_FEE_MASK = 0x3FFF
_MOST_FEE_BPS = 200
_UNKNOWN_PARTNER_BITS = sum(1 << bit for bit in range(14, 90))
_WRAP_BITS = 0b11 << 161
_ONE_FOR_ZERO_TOP: Final = 1 << 255

_LAST_SECOND = 253_402_300_799
"""The end of the year 9999: a later deadline is none."""
_DEX_PROTOCOL_SHIFT = 253
_DEX_ZERO_FOR_ONE = 1 << 247
_DEX_KNOWN = _ADDRESS_MASK | 0xFFFFFFFF << 160 | _DEX_ZERO_FOR_ONE | 1 << 251 | 7 << 253
"""Pool, fee numerator, direction, `no wrap` and protocol."""


@dataclass(frozen=True, slots=True)
class DecodedCalldata:
    """The terms that a router enforces; amounts in smallest units.

    `min_buy_amount` is the least the wallet gets after every fee, surplus and unit of dust that the
    calldata allows. `recipient` None means the sender. `settler` must be one of 0x's genuine
    Settlers; None for other routers. `pool` pays the wallet directly; None if the router pays.
    `deadline` is the last second in which the router executes the call; None if it has no deadline.
    """

    min_buy_amount: int
    recipient: Address | None
    sell_token: Address
    buy_token: Address
    sell_amount: int
    measure: Measure
    settler: Address | None = None
    pool: Address | None = None
    deadline: int | None = None


class NoMinimum(UnboundCalldata):
    """The minimum is 0; all other rules are kept, and `terms` can be read."""

    def __init__(self, terms: DecodedCalldata) -> None:
        super().__init__("its minimum is 0: nothing is enforced")
        self.terms = terms


@lru_cache(maxsize=256)  # a route is decoded on arrival, when checked and when simulated
def decode(router: Address, data: bytes, *, buy_token: Address | None = None) -> DecodedCalldata:
    """Return the terms that `router` enforces for `data`.

    `buy_token` is the wanted token: 1inch's `unoswap` names none, and is bound only if the pool
    proves it. Raises UnboundCalldata with the broken rule, and MalformedCalldata for a broken
    layout.
    """
    method = _method(router, data)
    if method.layout is None:
        raise UnboundCalldata(f"{method.name}: {method.refuses}")
    words = Words(data[4:])
    if method.layout.deadline is not None:
        terms = _multicall(method.measure, data)
    elif method.nested:
        terms = _settler(method.layout, method.nested, words)
    else:
        terms = _terms(method, method.layout, words, buy_token)
    if terms.sell_token in _ETHER or terms.buy_token in _ETHER:
        raise UnboundCalldata("it trades native ETH")
    if terms.sell_token == terms.buy_token:
        raise UnboundCalldata("it sells and buys the same token")
    if terms.sell_amount == 0:
        raise UnboundCalldata("it sells an amount of 0, which may mean another one")
    if terms.min_buy_amount <= 0:
        raise NoMinimum(terms)
    return terms


def deadline(router: Address, data: bytes) -> int | None:
    """Return the last second in which `router` executes the call; None if it has no such end."""
    try:
        end = decode(router, data).deadline
    except UnboundCalldata:
        return None
    return end if end is not None and end <= _LAST_SECOND else None


def payer(router: Address, data: bytes, buy_token: Address) -> Address:
    """Return the contract whose transfer pays the wallet: the router, 0x's Settler or a pool."""
    try:
        terms = decode(router, data, buy_token=buy_token)  # cached
    except UnboundCalldata:
        return router
    return terms.settler or terms.pool or router


def _method(router: Address, data: bytes) -> RouterMethod:
    if router not in ROUTERS:
        raise UnboundCalldata(f"nothing is known of what the router {router} enforces")
    method = METHODS.get((router, data[:4].hex()))
    if method is None:
        name = f"0x{data[:4].hex()}" if len(data) >= 4 else "without a selector"
        raise UnboundCalldata(f"the method {name} of {ROUTERS[router]} is not a known one")
    return method


def _terms(
    method: RouterMethod, layout: CalldataLayout, arguments: Words, buy_token: Address | None
) -> DecodedCalldata:
    words = arguments
    for index in layout.within:
        words = words.follow(index)
    _check_flags(layout, words)
    _check_permit(layout, words if layout.permit_within else arguments)
    if layout.wrap is not None and arguments.uint(layout.wrap) & _WRAP_BITS:
        raise UnboundCalldata("its wrap flag is set")
    sell = words.address(layout.sell)
    if layout.dex is not None:
        buy = _derived(sell, buy_token, words.uint(layout.dex))
    else:
        assert layout.buy is not None
        buy = words.address(layout.buy)
    _check_pools(layout, words, sell, buy)
    return DecodedCalldata(
        min_buy_amount=_least(layout, words, arguments),
        recipient=_recipient(layout, words),
        sell_token=sell,
        buy_token=buy,
        sell_amount=words.uint(layout.amount),
        measure=method.measure,
        pool=None if layout.dex is None else _pool(words.uint(layout.dex)),
    )


def _recipient(layout: CalldataLayout, words: Words) -> Address | None:
    if layout.recipient is None:
        return None
    recipient = words.address(layout.recipient)
    return None if recipient == _NOBODY and layout.zero_is_sender else recipient


def _check_flags(layout: CalldataLayout, words: Words) -> None:
    if layout.flags is None:
        return
    refused = words.uint(layout.flags) & ~layout.allowed_flags
    if refused & 1:
        raise UnboundCalldata("it may sell only a part: flag 0x1")
    if refused:
        raise UnboundCalldata(f"its flag 0x{refused & -refused:x} is not allowed")
    _check_sell_fee(layout.fees, words, words.uint(layout.flags))


def _check_sell_fee(fees: int | None, words: Words, flags: int) -> None:
    """Refuse a fee on the sold token. KyberSwap measures it at the wallet, after its transfers.

    If the token tells a receiver of a transfer, that may let somebody pay the wallet what it is
    owed. The fee then measures as nothing, and the whole amount is pulled beside it.
    """
    if fees is not None and not flags & BUY_FEE and words.follow(fees).uint(0):
        raise UnboundCalldata("it takes a fee from the token sold, beside the amount")


def _check_permit(layout: CalldataLayout, words: Words) -> None:
    if layout.permit is not None and words.raw(layout.permit):
        raise UnboundCalldata("it carries a permit")


def _least(layout: CalldataLayout, words: Words, arguments: Words) -> int:
    """Return the minimum less everything that may be taken from it.

    Augustus compares the minimum with the amount it received. Then it takes the partner's fee in
    bps (capped), the surplus above the quoted amount, and one unit of dust (`AugustusFees`).
    """
    minimum = words.uint(layout.minimum)
    if layout.quoted is not None and words.uint(layout.quoted) < minimum:
        raise UnboundCalldata("its quotedAmount lies below its minimum: all above it may be taken")
    if layout.partner is None:
        return minimum - layout.dust
    partner = arguments.uint(layout.partner)
    if partner & _UNKNOWN_PARTNER_BITS:
        raise UnboundCalldata("its partnerAndFee has unknown bits")
    fee_bps = min(partner & _FEE_MASK, _MOST_FEE_BPS)
    return minimum - minimum * fee_bps // BPS - layout.dust


def _check_pools(layout: CalldataLayout, words: Words, sell: Address, buy: Address) -> None:
    """Check Augustus' `pools`. The UniswapV3 form pulls the token of the first group."""
    if layout.pools is None:
        return
    pools = words.raw(layout.pools)
    if not pools or len(pools) % layout.pool_size:
        raise MalformedCalldata(f"its pools are no whole groups of {layout.pool_size} bytes")
    if layout.pool_size != 3 * WORD:
        return
    groups = Words(pools)
    token = sell
    for first in range(0, len(pools) // WORD, 3):
        head = groups.uint(first)
        if head & (_ONE_FOR_ZERO_TOP - 1) & ~_ADDRESS_MASK:
            raise MalformedCalldata("a pool's first word holds more than direction and token")
        low, high = from_bytes((head & _ADDRESS_MASK).to_bytes(20)), groups.address(first + 1)
        if not int(low, 16) < int(high, 16):
            raise MalformedCalldata("a pool's tokens are not in order")
        sold, bought = (low, high) if head & _ONE_FOR_ZERO_TOP else (high, low)
        if sold != token:
            raise UnboundCalldata(f"its pools sell {sold}, not {token}")
        token = bought
    if token != buy:
        raise UnboundCalldata(f"its pools buy {token}, not {buy}")


def _pool(dex: int) -> Address:
    return from_bytes((dex & _ADDRESS_MASK).to_bytes(20))


def _derived(sell: Address, buy: Address | None, dex: int) -> Address:
    """Return the bought token, proven by the pool that `dex` names."""
    if buy is None:
        raise UnboundCalldata("its pool cannot be derived without the token bought")
    if dex & ~_DEX_KNOWN:
        raise UnboundCalldata("its pool's word unwraps, uses Permit2 or has unknown bits")
    protocol = dex >> _DEX_PROTOCOL_SHIFT
    if protocol > 1:
        raise UnboundCalldata("its pool is neither of Uniswap V2's nor of Uniswap V3's kind")
    pool = _pool(dex)
    derived_pools = v3_pools(sell, buy) if protocol else v2_pairs(sell, buy)
    if pool not in derived_pools:
        raise UnboundCalldata(f"its pool {pool} is not derived from a known factory")
    if bool(dex & _DEX_ZERO_FOR_ONE) != (to_bytes(sell) < to_bytes(buy)):
        raise UnboundCalldata("its pool is asked to sell the token bought")
    return buy


def _settler(layout: CalldataLayout, nested: str, words: Words) -> DecodedCalldata:
    """Read AllowanceHolder.exec(operator, token, amount, target, data) around
    Settler.execute((recipient, buyToken, minAmountOut), actions, id).

    Settler decodes its actions loosely, but they move only what `exec` allows: `execute` accepts no
    permit of Permit2, and no wallet approves a Settler.
    """
    operator, target = words.address(0), words.address(3)
    if operator != target:
        raise UnboundCalldata("another contract than the one called may take the tokens")
    call = words.raw(4)
    if call[:4].hex() != nested:
        raise UnboundCalldata("AllowanceHolder calls something else than Settler.execute")
    inner = Words(call[4:])
    inner.follow(3).uint(0)  # the actions must be inside the call, and their id before them
    inner.uint(4)
    assert layout.recipient is not None
    assert layout.buy is not None
    return DecodedCalldata(
        min_buy_amount=inner.uint(layout.minimum),
        recipient=inner.address(layout.recipient),
        sell_token=words.address(layout.sell),
        buy_token=inner.address(layout.buy),
        sell_amount=words.uint(layout.amount),
        measure=Measure.SELF,
        settler=target,
    )


def _multicall(measure: Measure, data: bytes) -> DecodedCalldata:
    """Read SwapRouter02's `multicall`: one leg that pays the wallet, or several and a sweep."""
    multicall = swap_router02.read(data)
    *_, leg = multicall.legs
    pool = None
    if swap_router02.pays_wallet(multicall.legs):
        sold, bought = leg.tokens[-2:]
        pool = v3_pool(sold, bought, leg.fees[-1]) if leg.fees else v2_pair(sold, bought)
    return DecodedCalldata(
        min_buy_amount=multicall.minimum,
        recipient=multicall.wallet,
        sell_token=leg.tokens[0],
        buy_token=leg.tokens[-1],
        sell_amount=sum(each.amount for each in multicall.legs),
        measure=measure,
        pool=pool,
        deadline=multicall.deadline,
    )
