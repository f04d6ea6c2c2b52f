"""Uniswap's SwapRouter02 as tests meet it; the source asks no vendor."""

from collections.abc import Sequence

from quietswap.rules.routers.known_pools import v3_pool
from quietswap.rules.routers.swap_router02 import Leg, pays_wallet
from quietswap.rules.tx.address import Address, from_bytes, to_bytes
from quietswap.rules.vendors.uniswap import VENDOR
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts.addresses import THIEF
from quietswap.sandbox.contracts.pools import POOLS
from quietswap.sandbox.vendors.market import Hop, routes_between
from quietswap.sandbox.vendors.router_calldata import FOREVER
from tests.hostile.draw import Draw
from tests.hostile.trial import WALLET
from tests.vendors.router import EXECUTOR, RouterCase, Swap, Written, call

DEADLINE = 1_800_000_000
ITSELF = from_bytes((2).to_bytes(20))
"""As a recipient the router reads this as itself."""


def multicall(legs: Sequence[Leg], deadline: int, minimum: int, wallet: Address) -> bytes:
    """`multicall`: one leg that pays the wallet, or legs and `sweepToken`."""
    if pays_wallet(legs):
        calls = [encoded_leg(legs[0], minimum, wallet)]
    else:
        calls = [encoded_leg(leg, 0, ITSELF) for leg in legs]
        types = ("address", "uint256", "address")
        calls.append(call("sweepToken", types, legs[0].tokens[-1], minimum, wallet))
    return call("multicall", ("uint256", "bytes[]"), deadline, calls)


def encoded_leg(leg: Leg, minimum: int, to: Address) -> bytes:
    """One call within `multicall`."""
    if not leg.fees:
        types = ("uint256", "uint256", "address[]", "address")
        return call("swapExactTokensForTokens", types, leg.amount, minimum, leg.tokens, to)
    if len(leg.fees) == 1:
        words = (*leg.tokens, leg.fees[0], to, leg.amount, minimum, 0)
        single = "(address,address,uint24,address,uint256,uint256,uint160)"
        return call("exactInputSingle", (single,), words)
    path = to_bytes(leg.tokens[0])
    for fee, token in zip(leg.fees, leg.tokens[1:], strict=True):
        path += fee.to_bytes(3) + to_bytes(token)
    return call("exactInput", ("(bytes,address,uint256,uint256)",), (path, to, leg.amount, minimum))


def _encoded(swap: Swap) -> bytes:
    legs = [Leg(swap.amount, (swap.sell, swap.buy), (500,))]
    return multicall(legs, DEADLINE, swap.minimum, swap.recipient)


def _encoded_legs(swap: Swap) -> bytes:
    path = (swap.sell, EXECUTOR, swap.buy)
    part = swap.amount // 3
    legs = [Leg(swap.amount - part, path), *[Leg(part, path, (500, 3000))] * bool(part)]
    return multicall(legs, DEADLINE, swap.minimum, swap.recipient)


SWEEP = "sweepToken(address,uint256,address)"


def _leg(hops: Sequence[Hop], amount: int, minimum: int, to: Address) -> bytes:
    """One call within `multicall`, over pools that are all V2 or all V3."""
    tokens = (hops[0].token_in, *(hop.token_out for hop in hops))
    fees = tuple(hop.pool.fee for hop in hops) if hops[0].pool.v3 else ()
    return encoded_leg(Leg(amount, tokens, fees), minimum, to)


def _theft(draw: Draw) -> bytes:
    """A call that the router has beside the accepted ones, or one that pays another."""
    token, amount = draw.random.choice([draw.sell, draw.buy]), draw.number()
    (hop, *_) = draw.random.sample(POOLS, 1)
    hops = [Hop(hop, draw.random.choice([hop.first, hop.second]).address)]
    return draw.random.choice(
        [
            abi.call("pull(address,uint256)", token, amount),
            abi.call("sweepToken(address,uint256)", token, 0),
            abi.call(SWEEP, token, 0, THIEF),
            abi.call("sweepTokenWithFee(address,uint256,uint256,address)", token, 0, 100, THIEF),
            abi.call("approveMax(address)", token),
            abi.call("multicall(bytes[])", [abi.call("pull(address,uint256)", token, amount)]),
            _leg(hops, amount, 0, draw.random.choice([THIEF, WALLET, ITSELF])),
        ]
    )


def _hostile(draw: Draw) -> bytes:
    """`multicall` over one or more paths, often with something else among them."""
    routes = [
        route.hops
        for route in routes_between(draw.sell, draw.buy, 3)
        if len({hop.pool.v3 for hop in route.hops}) == 1
    ]
    hops = draw.random.sample(routes, draw.random.randint(1, min(3, len(routes))))
    shares = draw.random.choice([(100,), (60, 40), (50, 30, 20), (60, 60), (100, 0)])[: len(hops)]
    amounts = [draw.amount * share // 100 for share in shares]
    amounts[0] += draw.amount - sum(amounts) if draw.chance(0.8) else 0
    to = draw.recipient() if draw.stranger else WALLET
    deadline = draw.random.choice([FOREVER] * 8 + [0, 1])
    if len(amounts) == 1 and draw.chance(0.7):
        parts = [_leg(hops[0], amounts[0], draw.least, to)]
    else:
        at = draw.random.choice([ITSELF] * 8 + [VENDOR.router, THIEF])
        parts = [_leg(*leg, 0, at) for leg in zip(hops, amounts, strict=False)]
        parts.append(abi.call(SWEEP, draw.buy, draw.least, to))
    if draw.chance(0.3):
        parts.insert(draw.random.randint(0, len(parts)), _theft(draw))
    return call("multicall", ("uint256", "bytes[]"), deadline, parts)


ROUTER = RouterCase(
    method=Written(
        _encoded,
        zero_is_sender=False,
        reads=lambda swap: {"pool": v3_pool(swap.sell, swap.buy, 500), "deadline": DEADLINE},
    ),
    others={
        "legs of uniswap": Written(
            _encoded_legs, zero_is_sender=False, reads=lambda _: {"deadline": DEADLINE}
        )
    },
    makers={"multicall": _hostile},
)
