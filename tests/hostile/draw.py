"""One random request, and the random parts of a hostile answer to it."""

from collections.abc import Sequence
from random import Random

from quietswap.rules.tx.address import Address
from quietswap.rules.vendors import VENDORS, oneinch, velora, zeroex
from quietswap.sandbox.contracts import abi, addresses
from quietswap.sandbox.contracts.pools import ALL_TOKENS, POOLS, V3_WETH_USDC, SandboxToken
from quietswap.sandbox.vendors import zeroex as zeroex_stand_in
from quietswap.sandbox.vendors.market import Hop, routes_between
from quietswap.sandbox.vendors.router_calldata import NOBODY, RouterSwap, script, word
from quietswap.sandbox.vendors.stand_in import stand_ins
from quietswap.sandbox.vendors.sushi import SAFE_EXECUTOR
from tests.hostile.trial import WALLET

TOKENS = tuple(ALL_TOKENS.values())
THIEF = addresses.THIEF
MOST = 2**256 - 1
_NAMES: tuple[Address, ...] = (
    *(WALLET, THIEF, NOBODY, addresses.MADE_UP_POOL, addresses.SETTLER, addresses.V3_FACTORY),
    *(*addresses.ROUTERS.values(), VENDORS["uniswap"].router),
    *(token.address for token in TOKENS),
)
Step = tuple[Address, bytes, bool]
_AH_TAKE = "transferFrom(address,address,address,uint256)"
_CURVE_CALLBACK = "curveSwapCallback(address,address,address,uint256,uint256)"


class Draw:
    """One random request, and the random parts of a hostile answer to it."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)
        sell, buy = self.random.sample(TOKENS, 2)
        self.ask(sell, buy, self.random.choice([1, 30, 700, 3000]))
        self.lessons: list[bytes] = []
        self.stranger = self.chance(0.1)
        """Whether another account receives the output."""

    def ask(self, sell: SandboxToken, buy: SandboxToken, usd: int) -> None:
        """Set the swap to this USD value."""
        self.sell, self.buy = sell.address, buy.address
        self.amount = sell.units(usd / sell.usd)
        self.promise = buy.units(usd * 95 / buy.usd / 100)
        self.least = self.promise * self.random.randint(50, 99) // 100

    def chance(self, share: float) -> bool:
        """Return True with this probability."""
        return self.random.random() < share

    def name(self) -> Address:
        """Some address."""
        return self.random.choice(_NAMES)

    def recipient(self) -> Address:
        """The wallet, zero, which stands for it, or sometimes a stranger."""
        return addresses.PARTNER if self.stranger else self.random.choice([WALLET] * 6 + [NOBODY])

    def number(self) -> int:
        """An amount near the significant ones."""
        near = self.random.choice([self.least, self.promise, self.amount, 10 * self.amount, 0])
        return max(0, near + self.random.choice([-1, 0, 0, 0, 1, 2, near // 2]))

    def least_paid(self) -> int:
        """A hostile payment: the minimum, one less, or slightly more."""
        return max(0, self.least + self.random.choice([-1, 0, 0, 1, 2, self.least // 9]))

    def work(self, payees: Sequence[Address]) -> bytes:
        """A script: hostile calls, usually a payment to one of `payees`, an answer."""
        steps = [self.mischief() for _ in range(self.random.randint(0, 3))]
        paid = self.least_paid()
        if self.chance(0.75):
            to = self.random.choice(payees)
            if to == WALLET and self.stranger:
                to = addresses.PARTNER
            steps.append((self.buy, abi.call("transfer(address,uint256)", to, paid), False))
        self.random.shuffle(steps)
        answer = self.random.choice([word(paid)] * 4 + [word(self.number()), word(MOST), b""])
        return script(steps, answer)

    def mischief(self) -> Step:
        """A call that takes something if it is allowed."""
        token = self.random.choice(TOKENS).address
        amount = self.number()
        data = self.random.choice(
            [
                (token, abi.call("transferFrom(address,address,uint256)", WALLET, THIEF, amount)),
                (zeroex.ROUTER, abi.call(_AH_TAKE, token, WALLET, THIEF, amount)),
                (
                    zeroex.ROUTER,
                    abi.call(zeroex_stand_in.ZEROEX_EXEC, THIEF, token, amount, THIEF, b""),
                ),
                (oneinch.ROUTER, abi.call(_CURVE_CALLBACK, WALLET, THIEF, token, amount, 0)),
                (oneinch.ROUTER, self._callback(abi.encode("(address,uint256)", (WALLET, 0)))),
                (velora.ROUTER, self._callback(self._velora_group())),
                (SAFE_EXECUTOR, self._through_safe(token, amount)),
                (token, abi.call("transfer(address,uint256)", WALLET, min(amount, 10**6))),
                (V3_WETH_USDC.address, self._genuine_swap()),
                self._reentry(),
            ]
        )
        return (*data, False)

    def _callback(self, data: bytes) -> bytes:
        amounts = self.random.choice([(self.amount, -1), (-1, self.amount)])
        return abi.call("uniswapV3SwapCallback(int256,int256,bytes)", *amounts, data)

    def _velora_group(self) -> bytes:
        pool = V3_WETH_USDC
        fields = (0, WALLET, int(pool.first.address, 16), pool.second.address, pool.fee)
        return abi.encode("(uint256,address,uint256,address,uint256)", fields)

    def _through_safe(self, token: Address, amount: int) -> bytes:
        theft = abi.call("transferFrom(address,address,uint256)", WALLET, THIEF, amount)
        return abi.call("execute(address,bytes)", token, theft)

    def _genuine_swap(self) -> bytes:
        data = abi.encode("(address,uint256)", (WALLET, 0))
        limit = 4295128740
        method = "swap(address,bool,int256,uint160,bytes)"
        return abi.call(method, THIEF, True, self.amount, limit, data)

    def _reentry(self) -> tuple[Address, bytes]:
        vendor = self.random.choice(sorted(stand_ins()))
        return addresses.ROUTERS[vendor], stand_ins()[vendor].encode(self.honest(1))

    def honest(self, hops: int = 3) -> RouterSwap:
        """The swap by the vendor's own executor."""
        route = self.random.choice(routes_between(self.sell, self.buy, 3)[: 2 * hops])
        return RouterSwap(route, self.amount, self.least, WALLET, self.promise)

    def hops(self, *, v3: bool) -> list[Hop]:
        """The pools of a route, or any pool."""
        if self.chance(0.6):
            kinds = [
                route.hops
                for route in routes_between(self.sell, self.buy, 3)
                if all(hop.pool.v3 is v3 for hop in route.hops)
            ]
            if kinds:
                return list(self.random.choice(kinds))
        [pool] = self.random.sample([pool for pool in POOLS if pool.v3 is v3], 1)
        return [Hop(pool, self.random.choice([pool.first, pool.second]).address)]

    def teach(self, method: str, work: bytes) -> None:
        """Let the puppet run this when `method` is called."""
        lesson = (abi.selector(method), work)
        self.lessons.append(abi.call("teach(bytes4,bytes)", *lesson))

    def executor(self, vendor: str, payees: Sequence[Address]) -> tuple[Address, bytes]:
        """The executor and its data: usually the thief, sometimes the vendor's own."""
        if self.chance(0.2):
            to = WALLET if WALLET in payees else NOBODY
            return addresses.EXECUTORS[vendor], self.honest().plan(to)
        return THIEF, self.work(payees)
