"""A searcher: it watches the public mempool and sandwiches the swap that pays best.

Like a real one it decodes what it can and tries out the rest: whatever the router, simulating a
pending transaction shows which V2 pairs it trades over, and trying it again behind a front-run
shows how much its minimum output allows. It never sees what a relay holds.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any

from quietswap.domain.address import Address
from quietswap.sandbox import abi, places
from quietswap.sandbox.chain import Chain
from quietswap.sandbox.mempool import Waiting, waiting
from quietswap.sandbox.pools import Pool
from quietswap.sandbox.rawtx import Signed, Unsigned, sign
from quietswap.sandbox.sandwich import Sandwich, best_front, largest_front
from quietswap.sandbox.simulation import Outcome, V2Swap, from_receipt, simulate
from quietswap.sandbox.tokens import ALL_TOKENS, BY_ADDRESS, WETH
from quietswap.sandbox.wallets import SEARCHER

WATCHED = frozenset({places.V2_ROUTER, *places.ROUTERS.values()})
"""Transactions to these are looked at."""
_CANDIDATES = 8
_GAS = 250_000
_ATTACK_GAS = 260_000
_NO_DEADLINE = 2**63
_SWAP = "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)"


@dataclass(frozen=True, slots=True)
class Bundle:
    """An attack to be put into one block: `before`, front-run, victim, back-run, in this order.

    `before` is what must come first for the victim to be valid: its sender's earlier nonces.
    """

    before: tuple[Waiting, ...]
    front: Signed
    victim: Waiting
    back: Signed
    swap: V2Swap
    profit: int
    unharmed: Outcome

    @property
    def row(self) -> list[Waiting]:
        """Every transaction of it in order."""
        return [*self.before, waiting(self.front), self.victim, waiting(self.back)]


@dataclass(frozen=True, slots=True)
class Attack:
    """A sandwich that was mined. Amounts in smallest units as text, as JSON keeps them exact.

    `victim_expected` is what the victim would have received without it; profit and loss are before
    gas, USD at the prices of the sandbox's genesis.
    """

    victim_hash: str
    front_hash: str
    back_hash: str
    block: int
    pair: str
    token_in: str
    token_out: str
    front_amount: str
    profit: str
    profit_usd: str
    victim_expected: str
    victim_received: str
    victim_loss: str
    victim_loss_usd: str

    def as_json(self) -> dict[str, Any]:
        """Return the record with camelCase names."""
        return {_camel(name): value for name, value in asdict(self).items()}


class Searcher:
    """Finds one attack per block and keeps the record of those that were mined."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self.attacks: list[Attack] = []

    async def start(self) -> None:
        """Let the V2 router draw on the searcher's tokens, at once and without a transaction."""
        everything = f"0x{2**256 - 1:064x}"
        writes = [
            (token.address, token.allowance_key(SEARCHER.address, places.V2_ROUTER), everything)
            for token in ALL_TOKENS.values()
        ]
        await self._chain.rpc.batch([("anvil_setStorageAt", write) for write in writes])

    async def find(self, public: Sequence[Waiting], base_fee: int) -> Bundle | None:
        """Return the attack on the public mempool that pays best, if one pays at all."""
        targets = [tx for tx in public if tx.to in WATCHED and tx.max_fee >= base_fee]
        found: list[Bundle] = []
        for victim in targets[:_CANDIDATES]:
            before = tuple(
                sorted(
                    (t for t in public if t.sender == victim.sender and t.nonce < victim.nonce),
                    key=lambda t: t.nonce,
                )
            )
            found += await self._attacks(before, victim, base_fee)
        return max(found, key=_profit_usd, default=None)

    async def record(self, bundle: Bundle, block: int) -> None:
        """Write down what a mined bundle brought and cost."""
        receipts = [await self._chain.receipt(tx.hash) for tx in bundle.row[-3:]]
        if any(one is None or int(one["blockNumber"], 16) != block for one in receipts):
            return
        front, victim, back = (from_receipt(one) for one in receipts if one is not None)
        if front.succeeded and victim.succeeded and back.succeeded:
            self.attacks.append(_attack(bundle, block, front, victim, back))

    def forget(self, above: int) -> None:
        """Drop the record of attacks in blocks above number `above`: a reorg took them back."""
        self.attacks = [attack for attack in self.attacks if attack.block <= above]

    async def _attacks(
        self, before: tuple[Waiting, ...], victim: Waiting, base_fee: int
    ) -> list[Bundle]:
        unharmed = (await simulate(self._chain.rpc, [*before, victim]))[-1]
        if not unharmed.succeeded:
            return []
        found = []
        for swap in unharmed.v2_swaps():
            bundle = await self._attack_on(swap, before, victim, base_fee, unharmed)
            found += [bundle] if bundle else []
        return found

    async def _attack_on(
        self,
        swap: V2Swap,
        before: tuple[Waiting, ...],
        victim: Waiting,
        base_fee: int,
        unharmed: Outcome,
    ) -> Bundle | None:
        plan = Sandwich(*await self._reserves(swap), swap.amount_in)
        if not plan.pays:
            return None
        own = await self._chain.token_balance(swap.token_in, SEARCHER.address)
        nonce = await self._nonce()

        def front_run(amount: int) -> Signed:
            bought = plan.bought(amount)
            return _trade(
                swap.pool, swap.token_in, (amount, bought), nonce=nonce, base_fee=base_fee
            )

        async def passes(amount: int) -> bool:
            row = [*before, *([waiting(front_run(amount))] if amount else []), victim]
            return all(outcome.succeeded for outcome in await simulate(self._chain.rpc, row))

        most = await largest_front(min(own, plan.reserve_in), passes)
        amount = best_front(plan, most)
        if amount == 0 or plan.profit(amount) <= 0:
            return None
        other = swap.pool.other(swap.token_in)
        back = _trade(
            swap.pool, other, (plan.bought(amount), 0), nonce=nonce + 1, base_fee=base_fee
        )
        bundle = Bundle(before, front_run(amount), victim, back, swap, 0, unharmed)
        return await self._tried(bundle, base_fee)

    async def _tried(self, bundle: Bundle, base_fee: int) -> Bundle | None:
        """Return the bundle with the profit its simulation shows; None when it does not pay."""
        outcomes = await simulate(self._chain.rpc, bundle.row)
        if not all(outcome.succeeded for outcome in outcomes):
            return None
        front, back = outcomes[-3].v2_swaps()[0], outcomes[-1].v2_swaps()[0]
        tried = replace(bundle, profit=back.amount_out - front.amount_in)
        gas_usd = WETH.usd * _ATTACK_GAS * base_fee / 10**18
        return tried if _profit_usd(tried) > gas_usd else None

    async def _reserves(self, swap: V2Swap) -> tuple[int, int]:
        answer = await self._chain.call(swap.pool.address, abi.call("getReserves()"))
        first, second = abi.word(answer, 0), abi.word(answer, 1)
        return (first, second) if swap.token_in == swap.pool.first.address else (second, first)

    async def _nonce(self) -> int:
        count = await self._chain.rpc.call("eth_getTransactionCount", SEARCHER.address, "latest")
        return int(count, 16)


def _trade(
    pool: Pool, token_in: Address, amounts: tuple[int, int], *, nonce: int, base_fee: int
) -> Signed:
    path = (token_in, pool.other(token_in))
    data = abi.call(_SWAP, *amounts, path, SEARCHER.address, _NO_DEADLINE)
    fields = Unsigned(nonce, places.V2_ROUTER, data, _GAS, 3 * base_fee)
    return sign(fields, SEARCHER.private_key)


def _attack(bundle: Bundle, block: int, front: Outcome, victim: Outcome, back: Outcome) -> Attack:
    entered, left = front.v2_swaps()[0], back.v2_swaps()[0]
    profit = left.amount_out - entered.amount_in
    token, expected = _output(bundle.unharmed, bundle.victim.sender)
    received = victim.gains(bundle.victim.sender).get(token, 0)
    return Attack(
        victim_hash=bundle.victim.hash,
        front_hash=bundle.front.hash,
        back_hash=bundle.back.hash,
        block=block,
        pair=bundle.swap.pool.address,
        token_in=entered.token_in,
        token_out=token,
        front_amount=str(entered.amount_in),
        profit=str(profit),
        profit_usd=str(_usd(entered.token_in, profit)),
        victim_expected=str(expected),
        victim_received=str(received),
        victim_loss=str(expected - received),
        victim_loss_usd=str(_usd(token, expected - received)),
    )


def _output(outcome: Outcome, owner: Address) -> tuple[Address, int]:
    """Return the token the owner gained most of, and how much."""
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


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.title() for word in rest)
