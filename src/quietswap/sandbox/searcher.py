"""A searcher: it sandwiches the most profitable swap in the public mempool.

A simulation of a pending transaction shows the V2 pairs on which it trades, for any router. More
simulations after a front-run show what its minimum output allows. The searcher has no access to
the relays.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from quietswap.rules.tx.address import Address
from quietswap.sandbox.chain.local_chain import LocalChain
from quietswap.sandbox.chain.transactions import (
    ExecutionResult,
    Transaction,
    TransactionFields,
    V2Swap,
    from_receipt,
    sign,
    simulate,
)
from quietswap.sandbox.contracts import abi, addresses
from quietswap.sandbox.contracts.abi import SEARCHER, set_storage
from quietswap.sandbox.contracts.pools import ALL_TOKENS, BY_ADDRESS, WETH

_FEE, _SCALE = 997, 1000
_STEPS = 16


def amount_out(amount_in: int, reserve_in: int, reserve_out: int) -> int:
    """Return the output of a Uniswap V2 pair (UniswapV2Library.getAmountOut, with 0.3 %)."""
    with_fee = amount_in * _FEE
    return with_fee * reserve_out // (reserve_in * _SCALE + with_fee)


@dataclass(frozen=True, slots=True)
class Sandwich:
    """A victim's swap of `victim_in` on a pair with these reserves."""

    reserve_in: int
    reserve_out: int
    victim_in: int

    @property
    def pays(self) -> bool:
        """Whether the smallest attack has a profit: g^2 (1 + v/x) (1 + g v/x) > 1, g = 0.997."""
        x, v = self.reserve_in, self.victim_in
        return _FEE**2 * (x + v) * (_SCALE * x + _FEE * v) > _SCALE**3 * x * x

    def bought(self, front: int) -> int:
        return amount_out(front, self.reserve_in, self.reserve_out)

    def profit(self, front: int) -> int:
        """Return the attacker's profit in the input token, before gas."""
        bought = self.bought(front)
        x, y = self.reserve_in + front, self.reserve_out - bought
        victim_out = amount_out(self.victim_in, x, y)
        return amount_out(bought, y - victim_out, x + self.victim_in) - front


async def largest_front(most: int, victim_passes: Callable[[int], Awaitable[bool]]) -> int:
    """Return the largest front-run up to `most` after which the victim's swap still succeeds.

    Bisection, because a larger front-run leaves the victim less; precise to 1/65 536. Return 0 when
    the victim fails without a front-run.
    """
    if not await victim_passes(0):
        return 0
    if await victim_passes(most):
        return most
    high = most
    while (low := high // 16) and not await victim_passes(low):
        high = low
    for _ in range(_STEPS):
        middle = (low + high) // 2
        low, high = (middle, high) if await victim_passes(middle) else (low, middle)
    return low


def best_front(sandwich: Sandwich, most: int) -> int:
    """Return the most profitable front-run up to `most`. The profit has one maximum."""
    low, high = 0, most
    while high - low > 2:
        third = (high - low) // 3
        left, right = low + third, high - third
        if sandwich.profit(left) < sandwich.profit(right):
            low = left
        else:
            high = right
    return max(range(low, high + 1), key=sandwich.profit)


WATCHED = frozenset({addresses.V2_ROUTER, *addresses.ROUTERS.values()})
"""Transactions to these contracts are analysed."""
_CANDIDATES = 8
_GAS = 250_000
_ATTACK_GAS = 260_000
_NO_DEADLINE = 2**63
_SWAP = "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)"


@dataclass(frozen=True, slots=True)
class Bundle:
    """An attack for one block: `before`, front-run, victim, back-run, in this order.

    `before` has the earlier nonces of the victim's sender.
    """

    before: tuple[Transaction, ...]
    front: Transaction
    victim: Transaction
    back: Transaction
    swap: V2Swap
    profit: int
    unharmed: ExecutionResult

    @property
    def row(self) -> list[Transaction]:
        return [*self.before, self.front, self.victim, self.back]


class Searcher:
    def __init__(self, chain: LocalChain) -> None:
        self._chain = chain
        self.attacks: list[dict[str, Any]] = []

    async def start(self) -> None:
        """Approve the V2 router for the searcher's tokens, without a transaction."""
        owner, router = SEARCHER.address, addresses.V2_ROUTER
        tokens = ALL_TOKENS.values()
        await self._chain.rpc.batch(
            [set_storage(one.address, one.allowance_key(owner, router), -1) for one in tokens]
        )

    async def find(self, public: Sequence[Transaction], base_fee: int) -> Bundle | None:
        paying = (tx for tx in public if tx.fields.max_fee >= base_fee)
        targets = [tx for tx in paying if tx.fields.to in WATCHED]
        bundles: list[Bundle] = []
        for victim in targets[:_CANDIDATES]:
            own = [tx for tx in public if tx.sender == victim.sender and tx.slot < victim.slot]
            before = tuple(sorted(own, key=lambda tx: tx.slot))
            bundles += await self._attacks(before, victim, base_fee)
        return max(bundles, key=_profit_usd, default=None)

    async def record(self, bundle: Bundle, block: int) -> None:
        receipts = [await self._chain.receipt(tx.hash) for tx in bundle.row[-3:]]
        if any(one is None or int(one["blockNumber"], 16) != block for one in receipts):
            return
        results = [from_receipt(one) for one in receipts if one is not None]
        if all(result.succeeded for result in results):
            self.attacks.append(_attack(bundle, block, results))

    def forget(self, above: int) -> None:
        """Drop the attacks in blocks above number `above`, which a reorg removed."""
        self.attacks = [attack for attack in self.attacks if attack["block"] <= above]

    async def _attacks(
        self, before: tuple[Transaction, ...], victim: Transaction, base_fee: int
    ) -> list[Bundle]:
        unharmed = (await simulate(self._chain.rpc, [*before, victim]))[-1]
        swaps = unharmed.v2_swaps() if unharmed.succeeded else []
        bundles = [
            await self._attack_on(swap, before, victim, base_fee, unharmed) for swap in swaps
        ]
        return [bundle for bundle in bundles if bundle]

    async def _attack_on(
        self,
        swap: V2Swap,
        before: tuple[Transaction, ...],
        victim: Transaction,
        base_fee: int,
        unharmed: ExecutionResult,
    ) -> Bundle | None:
        answer = await self._chain.call(swap.pool.address, abi.call("getReserves()"))
        reserves = abi.word(answer, 0), abi.word(answer, 1)
        is_first = swap.token_in == swap.pool.first.address
        plan = Sandwich(*(reserves if is_first else reserves[::-1]), swap.amount_in)
        if not plan.pays:
            return None
        own = await self._chain.token_balance(swap.token_in, SEARCHER.address)
        nonce = await self._chain.rpc.number("eth_getTransactionCount", SEARCHER.address, "latest")
        path = swap.token_in, swap.pool.other(swap.token_in)

        def front_run(amount: int) -> Transaction:
            return _trade(path, (amount, plan.bought(amount)), nonce, base_fee)

        async def passes(amount: int) -> bool:
            row = [*before, *([front_run(amount)] if amount else []), victim]
            return all(outcome.succeeded for outcome in await simulate(self._chain.rpc, row))

        most = await largest_front(min(own, plan.reserve_in), passes)
        amount = best_front(plan, most)
        if amount == 0 or plan.profit(amount) <= 0:
            return None
        back = _trade(path[::-1], (plan.bought(amount), 0), nonce + 1, base_fee)
        bundle = Bundle(before, front_run(amount), victim, back, swap, 0, unharmed)
        return await self._tried(bundle, base_fee)

    async def _tried(self, bundle: Bundle, base_fee: int) -> Bundle | None:
        """Return the bundle with its simulated profit; None when gas costs more."""
        outcomes = await simulate(self._chain.rpc, bundle.row)
        if not all(outcome.succeeded for outcome in outcomes):
            return None
        front, back = outcomes[-3].v2_swaps()[0], outcomes[-1].v2_swaps()[0]
        tried = replace(bundle, profit=back.amount_out - front.amount_in)
        gas_usd = WETH.usd * _ATTACK_GAS * base_fee / 10**18
        return tried if _profit_usd(tried) > gas_usd else None


def _trade(
    path: tuple[Address, Address], amounts: tuple[int, int], nonce: int, base_fee: int
) -> Transaction:
    data = abi.call(_SWAP, *amounts, path, SEARCHER.address, _NO_DEADLINE)
    fields = TransactionFields(nonce, addresses.V2_ROUTER, data, _GAS, 3 * base_fee)
    return sign(fields, SEARCHER.private_key)


def _attack(bundle: Bundle, block: int, results: Sequence[ExecutionResult]) -> dict[str, Any]:
    """Return a mined sandwich for JSON: amounts in smallest units as text, as JSON rounds numbers.

    `victimExpected` is the victim's output without the attack. Profit and loss are before gas, in
    USD at genesis prices.
    """
    front, victim, back = results
    entered, closed = front.v2_swaps()[0], back.v2_swaps()[0]
    profit = closed.amount_out - entered.amount_in
    token, expected = _output(bundle.unharmed, bundle.victim.sender)
    received = victim.gains(bundle.victim.sender).get(token, 0)
    return {
        "victimHash": bundle.victim.hash,
        "frontHash": bundle.front.hash,
        "backHash": bundle.back.hash,
        "block": block,
        "pair": bundle.swap.pool.address,
        "tokenIn": entered.token_in,
        "tokenOut": token,
        "frontAmount": str(entered.amount_in),
        "profit": str(profit),
        "profitUsd": str(_usd(entered.token_in, profit)),
        "victimExpected": str(expected),
        "victimReceived": str(received),
        "victimLoss": str(expected - received),
        "victimLossUsd": str(_usd(token, expected - received)),
    }


def _output(outcome: ExecutionResult, owner: Address) -> tuple[Address, int]:
    """Return the token with the owner's largest gain in USD, and the gain."""
    gains = outcome.gains(owner)
    token = max(gains, key=lambda token: _usd(token, gains[token]))
    return token, gains[token]


def _profit_usd(bundle: Bundle) -> Decimal:
    return _usd(bundle.swap.token_in, bundle.profit)


def _usd(address: Address, amount: int) -> Decimal:
    token = BY_ADDRESS.get(address)
    if token is None:
        return Decimal(0)
    usd: Decimal = token.usd * amount / 10**token.decimals
    return usd.quantize(Decimal("0.0001"))
