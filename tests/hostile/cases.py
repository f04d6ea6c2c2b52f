"""Random calldata for every bound method, with hostile contracts wherever it accepts an address.

A case is made from one seed and so can be made again. Half of the hostile parts pay what is wanted
of them: a proof of what happens only when calls revert would be none.
"""

from collections.abc import Callable
from dataclasses import dataclass

from quietswap.chain.address import Address
from quietswap.sandbox.contracts import abi, addresses
from quietswap.sandbox.contracts.pools import (
    BY_ADDRESS,
    DAI,
    POOLS,
    SOLADY,
    USDC,
    V3_WETH_USDC,
    VYPER,
    WETH,
)
from quietswap.sandbox.venues.hostile_calldata import made_up_pool_word, pays, script, word
from quietswap.sandbox.venues.market import Hop, routes_between
from quietswap.sandbox.venues.router_calldata import FOREVER, NOBODY
from quietswap.vendors.oneinch import stand_in as oneinch_stand_in
from quietswap.vendors.sushi import stand_in as sushi_stand_in
from quietswap.vendors.zeroex import stand_in as zeroex_stand_in
from tests.hostile import calls
from tests.hostile.draw import MOST, THIEF, Draw, Step
from tests.hostile.trial import WALLET, Trade


@dataclass(frozen=True)
class Case:
    """One requested trade, and its origin."""

    method: str
    seed: str
    trade: Trade
    sell: Address
    buy: Address
    amount: int
    least: int


def _kyberswap_description(draw: Draw, target: Address, flags: int) -> tuple[object, ...]:
    shares = draw.random.choice([(100,), (100,), (60, 40), (60, 50), ()])
    receivers = [target if draw.chance(0.7) else draw.name() for _ in shares]
    amounts = [draw.amount * share // 100 for share in shares]
    fees = draw.random.choice([()] * 5 + [(10,), (30, 200), (9000, 2000)])
    return (
        *(draw.sell, draw.buy, receivers, amounts, [THIEF] * len(fees), fees),
        *(draw.recipient(), draw.amount, draw.least, flags, b""),
    )


def kyberswap_swap(draw: Draw) -> bytes:
    """MetaAggregationRouterV2 `swap`, often in simple mode, which is not offered."""
    if draw.chance(0.4):
        return kyberswap_simple(draw)
    flags = 0x200 | draw.random.choice([0, 0, 0x40, 0x80, 0xC0, 0x1, 0x4, 0x100])
    target, work = draw.executor("kyberswap", [addresses.KYBERSWAP, WALLET])
    return calls.kyberswap(target, work, _kyberswap_description(draw, target, flags))


def kyberswap_simple(draw: Draw) -> bytes:
    """Simple mode, by the flag of `swap`."""
    flags = 0x220 | draw.random.choice([0, 0, 0x40, 0x80, 0xC0, 0x1])
    work = _simple_sequences(draw)
    if draw.chance(0.15):
        # draws a tenth and pays a tenth
        paid = script([pays(draw.buy, WALLET, draw.least // 10 + 1)])
        work = calls.simple_work([(THIEF, draw.amount // 10, paid)], b"")
        flags = draw.random.choice([0x220, 0x221])
    return calls.kyberswap(THIEF, work, _kyberswap_description(draw, THIEF, flags))


def _simple_sequences(draw: Draw) -> bytes:
    payees = [addresses.KYBERSWAP, WALLET]
    shares = draw.random.choice([(100,)] * 4 + [(60, 40), (60, 50), (30, 30), (1000,)])
    sequences = [
        (THIEF if draw.chance(0.8) else draw.name(), draw.amount * share // 100, draw.work(payees))
        for share in shares
    ]
    return calls.simple_work(sequences, draw.work(payees) if draw.chance(0.5) else b"")


def _velora_terms(draw: Draw) -> tuple[object, ...]:
    quotes = [draw.promise] * 4 + [draw.least, draw.least - 1, 0, 1, 2 * draw.promise]
    quoted = draw.random.choice(quotes)
    return (draw.sell, draw.buy, draw.amount, draw.least, quoted, b"", draw.recipient())


def _velora_fees(draw: Draw) -> int:
    partner = draw.random.choice([NOBODY, THIEF, addresses.PARTNER, WALLET])
    flags = sum(1 << bit for bit in range(90, 96) if draw.chance(0.4))
    fee = draw.random.choice([0, 0, 1, 10, 200, 201, 10_000, 0x3FFF])
    return int(partner, 16) << 96 | flags | fee


def velora_swap(draw: Draw) -> bytes:
    """Augustus `swapExactAmountIn`."""
    executor, work = draw.executor("velora", [addresses.VELORA, addresses.VELORA, WALLET])
    return calls.velora(_velora_terms(draw), executor, _velora_fees(draw), work)


def _hops(draw: Draw, *, v3: bool) -> list[Hop]:
    if draw.chance(0.6):
        kinds = [
            route.hops
            for route in routes_between(draw.sell, draw.buy, 3)
            if all(hop.pool.v3 is v3 for hop in route.hops)
        ]
        if kinds:
            return list(draw.random.choice(kinds))
    pools = draw.random.sample([pool for pool in POOLS if pool.v3 is v3], 1)
    return [Hop(pool, draw.random.choice([pool.first, pool.second]).address) for pool in pools]


def velora_v2(draw: Draw) -> bytes:
    """Augustus over V2 pairs: those of the route, or any."""
    groups = calls.v2_groups(_hops(draw, v3=False))
    return calls.velora_direct(2, _velora_terms(draw), _velora_fees(draw), groups)


def velora_v3(draw: Draw) -> bytes:
    """Augustus over V3 pools; the pair is mostly the one that has a pool, or reversed."""
    if draw.chance(0.8):
        ends = [V3_WETH_USDC.first, V3_WETH_USDC.second]
        draw.random.shuffle(ends)
        draw.ask(*ends, 300)
    groups = calls.v3_groups(_hops(draw, v3=True))
    if draw.chance(0.25):
        # pays well for the named token, and takes another approved token
        draw.ask(draw.random.choice([DAI, VYPER, SOLADY]), USDC, 3)
        groups = calls.v3_groups([Hop(V3_WETH_USDC, WETH.address)])
    return calls.velora_direct(3, _velora_terms(draw), _velora_fees(draw), groups)


def _velora_curve(draw: Draw, version: int, method: str) -> bytes:
    take = abi.call("transferFrom(address,address,uint256)", addresses.VELORA, THIEF, draw.amount)
    pay = abi.call("transfer(address,uint256)", addresses.VELORA, draw.least_paid())
    steps: list[Step] = [(draw.sell, take, False), draw.mischief()]
    if draw.chance(0.8):
        steps.append((draw.buy, pay, False))
    draw.teach(method, script(steps))
    flags = draw.random.choice([1 << 160] * 4 + [0, 1 << 161, 1 << 163])
    return calls.velora_curve(
        version, _velora_terms(draw), _velora_fees(draw), int(THIEF, 16) | flags
    )


def velora_curve_v1(draw: Draw) -> bytes:
    """Augustus over a Curve pool of the first kind that is the thief."""
    return _velora_curve(draw, 1, "exchange(int128,int128,uint256,uint256)")


def velora_curve_v2(draw: Draw) -> bytes:
    """Augustus over a Curve pool of the second kind that is the thief."""
    return _velora_curve(draw, 2, "exchange(uint256,uint256,uint256,uint256)")


def sushi_snwap(draw: Draw) -> bytes:
    """RedSnwapper `snwap`, any executor."""
    executor, plan = draw.executor("sushi", [WALLET, WALLET, addresses.SUSHI])
    work = abi.call("callBytes(bytes)", plan)
    if draw.chance(0.1):
        executor, work, _ = draw.mischief()
    terms = (draw.sell, draw.amount, draw.recipient(), draw.buy, draw.least)
    return abi.call(sushi_stand_in.SUSHI_SNWAP, *terms, executor, work)


def _zeroex_action(draw: Draw) -> bytes:
    work = abi.call("callBytes(bytes)", draw.work([addresses.SETTLER, addresses.SETTLER, WALLET]))
    target, data, _ = draw.mischief()
    return draw.random.choice(
        [
            abi.call(zeroex_stand_in.ZEROEX_BASIC, NOBODY, 0, THIEF, 0, work),
            abi.call(zeroex_stand_in.ZEROEX_BASIC, draw.sell, 10_000, THIEF, 4, work),
            abi.call(zeroex_stand_in.ZEROEX_BASIC, NOBODY, 0, target, 0, data),
            abi.call("CHECK_SLIPPAGE(bool)", draw.chance(0.5)),
            abi.call(_POSITIVE, THIEF, draw.buy, draw.number(), draw.random.randint(0, 10_000)),
        ]
    )


_POSITIVE = "POSITIVE_SLIPPAGE(address,address,uint256,uint256)"


def zeroex_exec(draw: Draw) -> bytes:
    """AllowanceHolder `exec` around `execute` of any actions, the last a payment."""
    settler = draw.random.choice([addresses.SETTLER] * 5 + [addresses.SHY_SETTLER, THIEF])
    if draw.chance(0.2):
        return zeroex_stand_in.encode(draw.honest())
    to = draw.random.choice([THIEF, addresses.SETTLER])
    taken = draw.random.choice([draw.amount] * 4 + [10 * draw.amount, draw.amount // 2])
    permit = ((draw.sell, taken), 0, FOREVER)
    actions = [abi.call(zeroex_stand_in.ZEROEX_TAKE, to, permit, b"")]
    actions += [_zeroex_action(draw) for _ in range(draw.random.randint(0, 3))]
    pay = abi.call("callBytes(bytes)", draw.work([settler]))
    actions.append(abi.call(zeroex_stand_in.ZEROEX_BASIC, NOBODY, 0, THIEF, 0, pay))
    if draw.chance(0.4):
        actions += [_zeroex_action(draw)]
    slippage = (draw.recipient() if draw.stranger else WALLET, draw.buy, draw.least)
    execute = abi.call(zeroex_stand_in.ZEROEX_EXECUTE, slippage, actions, b"")
    return abi.call(zeroex_stand_in.ZEROEX_EXEC, settler, draw.sell, draw.amount, settler, execute)


def oneinch_swap(draw: Draw) -> bytes:
    """AggregationRouterV6 `swap`."""
    executor, work = draw.executor("oneinch", [addresses.ONEINCH, addresses.ONEINCH, WALLET])
    receiver = executor if draw.chance(0.8) else draw.name()
    flags = draw.random.choice([0] * 8 + [1, 2, 4])
    if draw.chance(0.15):
        # returns most of it and pays for the rest
        part, least = draw.amount // 10, draw.least // 10 + 1
        returned = pays(draw.sell, addresses.ONEINCH, draw.amount - part)
        work = script([returned, pays(draw.buy, addresses.ONEINCH, least)], word(least))
        executor, flags = THIEF, draw.random.choice([0, 1])
    terms = (draw.sell, draw.buy, receiver, draw.recipient(), draw.amount, draw.least, flags)
    return abi.call(oneinch_stand_in.ONEINCH_SWAP, executor, terms, work)


def oneinch_unoswap(draw: Draw) -> bytes:
    """`unoswap` on a genuine pool, a fake one, or the thief as a pool."""
    v3 = draw.chance(0.5)
    (hop, *_) = _hops(draw, v3=v3)
    if draw.chance(0.8):
        draw.ask(BY_ADDRESS[hop.token_in], BY_ADDRESS[hop.token_out], 300)
    dex = calls.unoswap_pool(hop)
    if draw.chance(0.2):
        dex = draw.random.choice([made_up_pool_word(), made_up_pool_word(1 << 253 | 1 << 247)])
    if draw.chance(0.15):
        draw.teach("getReserves()", script(answer=word(1) + word(2**111) + word(0)))
        draw.teach("swap(uint256,uint256,address,bytes)", draw.work([WALLET]))
        dex = 1 << 247 | int(THIEF, 16)
    dex |= draw.random.choice([0] * 5 + [1 << 247, 1 << 250, 1 << 251, 998_000_000 << 160])
    return abi.call(
        "unoswap(uint256,uint256,uint256,uint256)",
        *(int(draw.sell, 16), draw.amount, draw.least, dex),
    )


def _uniswap_theft(draw: Draw) -> bytes:
    """A call that SwapRouter02 has beside the accepted ones, or one that pays another."""
    token, amount = draw.random.choice([draw.sell, draw.buy]), draw.number()
    (hop, *_) = draw.random.sample(POOLS, 1)
    hops = [Hop(hop, draw.random.choice([hop.first, hop.second]).address)]
    return draw.random.choice(
        [
            abi.call("pull(address,uint256)", token, amount),
            abi.call("sweepToken(address,uint256)", token, 0),
            abi.call(calls.SWEEP, token, 0, THIEF),
            abi.call("sweepTokenWithFee(address,uint256,uint256,address)", token, 0, 100, THIEF),
            abi.call("approveMax(address)", token),
            abi.call("multicall(bytes[])", [abi.call("pull(address,uint256)", token, amount)]),
            calls.uniswap_leg(hops, amount, 0, draw.random.choice([THIEF, WALLET, calls.ITSELF])),
        ]
    )


def uniswap_multicall(draw: Draw) -> bytes:
    """SwapRouter02 `multicall` over one or more paths, often with something else among them."""
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
        parts = [calls.uniswap_leg(hops[0], amounts[0], draw.least, to)]
    else:
        at = draw.random.choice([calls.ITSELF] * 8 + [addresses.UNISWAP, THIEF])
        parts = [calls.uniswap_leg(*leg, 0, at) for leg in zip(hops, amounts, strict=False)]
        parts.append(abi.call(calls.SWEEP, draw.buy, draw.least, to))
    if draw.chance(0.3):
        parts.insert(draw.random.randint(0, len(parts)), _uniswap_theft(draw))
    return calls.uniswap(deadline, parts)


MAKERS: dict[str, tuple[Address, Callable[[Draw], bytes]]] = {
    "kyberswap swap": (addresses.KYBERSWAP, kyberswap_swap),
    "velora swapExactAmountIn": (addresses.VELORA, velora_swap),
    "velora swapExactAmountInOnUniswapV2": (addresses.VELORA, velora_v2),
    "velora swapExactAmountInOnUniswapV3": (addresses.VELORA, velora_v3),
    "velora swapExactAmountInOnCurveV1": (addresses.VELORA, velora_curve_v1),
    "velora swapExactAmountInOnCurveV2": (addresses.VELORA, velora_curve_v2),
    "sushi snwap": (addresses.SUSHI, sushi_snwap),
    "zeroex exec": (addresses.ZEROEX, zeroex_exec),
    "oneinch swap": (addresses.ONEINCH, oneinch_swap),
    "oneinch unoswap": (addresses.ONEINCH, oneinch_unoswap),
    "uniswap multicall": (addresses.UNISWAP, uniswap_multicall),
}
"""Router and maker by method: one for every bound row of `router_methods`."""


def make(method: str, seed: str) -> Case:
    """Return the case of a method and a seed."""
    router, maker = MAKERS[method]
    draw = Draw(f"{method} {seed}")
    data = maker(draw)
    if draw.chance(0.3):
        data = _mutated(draw, data)
    trade = Trade(router, data, tuple(draw.lessons))
    return Case(method, seed, trade, draw.sell, draw.buy, draw.amount, draw.least)


def _mutated(draw: Draw, data: bytes) -> bytes:
    """Return it with a word or a bit changed, cut off or something behind it."""
    words = (len(data) - 4) // 32
    at = 4 + 32 * draw.random.randrange(min(words, 24) if draw.chance(0.8) else words)
    found = int.from_bytes(data[at : at + 32])
    value = draw.random.choice(
        [
            *(0, 1, 32, 64, MOST, found ^ 1, found + 1, found * 2, found + 32, found - 32),
            *(int(draw.name(), 16), draw.number(), found ^ 1 << draw.random.randrange(256)),
            *(found ^ 1 << draw.random.randrange(160, 256), draw.amount, draw.least),
        ]
    )
    if draw.chance(0.1):
        return data[: draw.random.randrange(4, len(data))]
    if draw.chance(0.1):
        return data + draw.random.randbytes(draw.random.randrange(1, 70))
    return data[:at] + (value % 2**256).to_bytes(32) + data[at + 32 :]
