"""500 executors that pay only by what they read: none tells a simulation from the next block."""

import random
import secrets
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import pytest

from quietswap.sandbox.contracts import abi
from tests.chain.small_chain import WALLET, SmallChain
from tests.typescript.package import TypeScript
from tests.typescript.test_trial_words import LOOK, PLAUSIBLE, WORDS, seen
from tests.typescript.trials import (
    AMOUNT,
    BUY,
    SELL,
    Trial,
    by_python,
    by_service,
    by_typescript,
    mined,
    snwap,
    watched_chain,
)

SEED = 20_261_127
COUNT = 500
BATCH = 50
"""Swaps of one quote of the service; a quote has a time limit."""
NAMES = list(WORDS)
RANDOM = [at for at, kind in enumerate(WORDS.values()) if kind == PLAUSIBLE]
EQUALS, DIFFERS, BELOW, ABOVE, BIT, MULTIPLE, EQUALS_WORD, BELOW_WORD = range(8)
GAS_LIMIT = 420_000


@dataclass(frozen=True)
class Sign:
    """`how` word `word` compares with `than`, as `Onlooker` reads it."""

    word: int
    how: int
    than: int

    @property
    def is_chance(self) -> bool:
        """Whether it depends on a random word, so that it differs from block to block."""
        if self.how in (EQUALS, DIFFERS, EQUALS_WORD):
            return False  # 2**-256
        other = self.than if self.how == BELOW_WORD else None
        if self.how in (BELOW, ABOVE) and self.than <= 2**64:
            return False
        return self.word in RANDOM or other in RANDOM


@dataclass(frozen=True)
class Executor:
    """It pays if all (0), any (1) or an odd number (2) of its signs hold."""

    signs: tuple[Sign, ...]
    join: int

    @property
    def is_chance(self) -> bool:
        return any(sign.is_chance for sign in self.signs)

    def swap(self, minimum: int = AMOUNT) -> bytes:
        signs = [(sign.word, sign.how, sign.than) for sign in self.signs]
        data = abi.call(
            "bet(address,address,address,uint256,(uint8,uint8,uint256)[],uint8)",
            *(SELL.address, BUY.address, WALLET, AMOUNT, signs, self.join),
        )
        return snwap(data, minimum=minimum)

    def __str__(self) -> str:
        parts = [f"{NAMES[sign.word]} {sign.how} {sign.than}" for sign in self.signs]
        return (" and ", " or ", " xor ")[self.join].join(parts)


def executors(draw: random.Random, typical: Sequence[int]) -> list[Executor]:
    """Return executors by seed; `typical` are the words of an earlier simulation."""
    plain = [Executor((Sign(at, how, 0),), 0) for at in range(len(NAMES)) for how in (0, 1)]
    plain += [Executor((Sign(at, EQUALS, typical[at]),), 0) for at in range(len(NAMES))]
    plain += [Executor((Sign(at, BIT, bit),), 0) for at in RANDOM for bit in range(0, 250, 5)]
    while len(plain) < COUNT:
        signs = tuple(_sign(draw, typical) for _ in range(draw.choice((1, 1, 2, 3))))
        plain.append(Executor(signs, draw.randrange(3)))
    return plain


def _sign(draw: random.Random, typical: Sequence[int]) -> Sign:
    word, how = draw.randrange(len(NAMES)), draw.randrange(8)
    usual = typical[word]
    than = {
        BIT: draw.choice((0, 0, 1, 2, 7, 63, 128, 255)),
        MULTIPLE: draw.choice((2, 3, 5, 12, 100, 1000)),
        EQUALS_WORD: draw.randrange(len(NAMES)),
        BELOW_WORD: draw.randrange(len(NAMES)),
    }.get(how)
    if than is None:
        near = (usual, usual + 1, max(usual - 1, 0), usual * 2 % 2**256, usual // 2)
        than = draw.choice((0, 1, 2**64, 10**18, 2**255, *near))
    return Sign(word, how, than)


@pytest.fixture
async def small() -> AsyncIterator[SmallChain]:
    async with watched_chain() as chain:
        yield chain


async def in_block(small: SmallChain, swap: bytes, limit: int) -> bool:
    """Return whether the swap is paid in the very next block, which is then taken back."""
    snapshot = await small.raw.call("evm_snapshot")
    receipt = await mined(small, swap, limit, root=secrets.randbits(256))
    assert await small.raw.call("evm_revert", snapshot)
    # a snapshot has no fee of the next block
    await small.raw.call("anvil_setNextBlockBaseFeePerGas", receipt["effectiveGasPrice"])
    return bool(receipt["status"] == "0x1")


async def served(small: SmallChain, swaps: Sequence[bytes]) -> list[Trial]:
    batches = [swaps[at : at + BATCH] for at in range(0, len(swaps), BATCH)]
    return [trial for batch in batches for trial in await by_service(small, batch)]


@pytest.mark.parametrize("by", ["service", "python", "typescript"])
async def test_no_executor_pays_in_a_simulation_alone(
    small: SmallChain, by: str, request: pytest.FixtureRequest
) -> None:
    """A simulation pays where the block pays, unless an executor throws a coin in both."""
    [look] = await by_service(small, [LOOK])
    hostile = executors(random.Random(SEED), list(seen(look.logs).values()))
    swaps, limits = [one.swap() for one in hostile], [GAS_LIMIT] * COUNT
    if by == "service":
        trials = await served(small, swaps)
        limits = [trial.gas_limit for trial in trials]
    elif by == "python":
        trials = await by_python(small, swaps, limits)
    else:
        typescript: TypeScript = request.getfixturevalue("typescript")
        trials = await by_typescript(small, typescript, swaps, limits)
    paid = [await in_block(small, *each) for each in zip(swaps, limits, strict=True)]
    told = [trial.passed for trial in trials]
    rows = list(zip(hostile, told, paid, strict=True))
    apart = [str(one) for one, trial, block in rows if trial != block and not one.is_chance]
    assert not apart, f"seed {SEED}: these tell a simulation from a block: {apart}"
    certain = sum(trial and block and not one.is_chance for one, trial, block in rows)
    assert 100 < certain < 400, "executors of both kinds"
    coins = [(trial, block) for one, trial, block in rows if one.is_chance]
    shares = [sum(each) / len(coins) for each in zip(*coins, strict=True)]
    assert len(coins) > 100
    assert abs(shares[0] - shares[1]) < 0.3, f"seed {SEED}: coins fall alike: {shares}"


@pytest.mark.parametrize("minimum", [AMOUNT, 0], ids=["bound", "unbound"])
async def test_who_pays_in_one_block_alone_costs_gas_where_the_router_binds(
    small: SmallChain, minimum: int
) -> None:
    """No simulation excludes that: the number of the next block is no sign of a simulation."""
    head = int(await small.raw.call("eth_blockNumber"), 16)
    only_next = Executor((Sign(NAMES.index("NUMBER"), EQUALS, head + 1),), 0)
    swap = only_next.swap(minimum)
    [trial] = await by_python(small, [swap], [GAS_LIMIT])
    assert trial.passed
    before = await small.balance(SELL, WALLET), await small.balance(BUY, WALLET)
    await small.mine()
    receipt = await mined(small, swap, GAS_LIMIT, root=1)
    sold, bought = await small.balance(SELL, WALLET), await small.balance(BUY, WALLET)
    assert bought == before[1]
    assert int(receipt["status"], 16) == (0 if minimum else 1)
    assert before[0] - sold == (0 if minimum else AMOUNT)
