"""0x's Settlers, read from contracts on a real node in the place of its Deployer."""

from collections.abc import AsyncIterator

import pytest

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.routers.settlers import DEPLOYER
from quietswap.rules.tx import address as addresses
from quietswap.sandbox.contracts.addresses import MULTICALL
from tests.chain.small_chain import SmallChain, small_chain

CURRENT, EARLIER, NEXT = (addresses.from_bytes(bytes([n]) * 20) for n in (0x11, 0x22, 0x33))
OWNER_OF, PREV = "6352211e", "e2603dc2"


@pytest.fixture
async def small() -> AsyncIterator[SmallChain]:
    async with small_chain() as chain:
        yield chain


def returning(answers: dict[str, str]) -> str:
    """Return code that answers each selector with one word, for feature 2 alone, and reverts
    else."""
    code = "5f3560e01c"  # selector = calldata >> 224
    for selector, word in answers.items():
        body = f"60026004351415{{}}57{word_push(word)}5f5260205ff3"
        code += _branch(selector, body, len(code) // 2)
    return "0x" + code + "5f5ffd"


def word_push(word: str) -> str:
    return "7f" + word.rjust(64, "0")


def _branch(selector: str, body: str, at: int) -> str:
    """Return `if selector matches: body`, which goes on behind itself for another feature."""
    head = f"8063{selector}1415"  # dup, push selector, eq, iszero
    length = len(head) // 2 + 4 + len(body.replace("{}", "61ffff")) // 2
    end = at + length
    return f"{head}61{end:04x}57" + body.replace("{}", f"61{end:04x}") + "5b"


def digits(address: str) -> str:
    return address[2:].lower()


async def deploy(small: SmallChain, answers: dict[str, str]) -> None:
    await small.raw.call("anvil_setCode", DEPLOYER, returning(answers))


async def test_the_current_and_the_previous_are_read(small: SmallChain) -> None:
    await deploy(small, {OWNER_OF: digits(CURRENT), PREV: digits(EARLIER)})
    assert await small.chain.settlers() == {CURRENT, EARLIER}


async def test_the_next_one_is_not(small: SmallChain) -> None:
    await deploy(small, {OWNER_OF: digits(CURRENT), "74bcde51": digits(NEXT)})
    assert await small.chain.settlers() == {CURRENT}


async def test_a_pause_refuses_all(small: SmallChain) -> None:
    await deploy(small, {PREV: digits(EARLIER)})
    assert await small.chain.settlers() == frozenset()


async def test_without_a_deployer_none_is_genuine(small: SmallChain) -> None:
    assert await small.chain.settlers() == frozenset()


async def test_they_are_remembered_for_two_minutes(small: SmallChain) -> None:
    await deploy(small, {OWNER_OF: digits(CURRENT)})
    assert await small.chain.settlers() == {CURRENT}
    await deploy(small, {OWNER_OF: digits(EARLIER)})
    small.clock.advance(119)
    assert await small.chain.settlers() == {CURRENT}
    small.clock.advance(1)
    assert await small.chain.settlers() == {EARLIER}


async def test_a_node_that_is_away_is_asked_again(small: SmallChain) -> None:
    code = await small.raw.call("eth_getCode", MULTICALL, "latest")
    await small.raw.call("anvil_setCode", MULTICALL, "0x")
    with pytest.raises(NodeUnavailable):
        await small.chain.settlers()
    await small.raw.call("anvil_setCode", MULTICALL, code)
    await deploy(small, {OWNER_OF: digits(CURRENT)})
    assert await small.chain.settlers() == {CURRENT}
