"""Places are bounded, given in turn, and none is lost with whoever waited for it."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietswap.rules.clients import Party, party_of
from quietswap.service.base.fair_turns import FairTurns
from tests.virtual_time import run

JOBS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "web_0001", "web_0001x", "web_0002"]),
        st.integers(0, 30),
        st.integers(0, 20),
        st.one_of(st.none(), st.integers(0, 40)),
    ),
    max_size=40,
)
"""Client, start, length of the work, and when its sender gives up."""


@given(JOBS)
def test_no_place_is_given_twice_or_lost(jobs: list[tuple[str, int, int, int | None]]) -> None:
    async def work() -> None:
        turns, held = FairTurns(3, 2), Counter[str]()

        async def one(party: Party, length: int) -> None:
            assert await turns.take(party, 1000)
            held[party.name] += 1
            assert held.total() <= 3
            assert held[party.name] <= 2
            try:
                await asyncio.sleep(length)
            finally:
                held[party.name] -= 1
                turns.give_back(party)

        async def sender(client: str, start: int, length: int, patience: int | None) -> None:
            await asyncio.sleep(start)
            try:
                async with asyncio.timeout(patience):
                    await one(party_of(client), length)
            except TimeoutError:
                pass

        await asyncio.gather(*(sender(*job) for job in jobs))
        for party in (Party("x", "x"), Party("y", "y"), Party("z", "z")):
            assert await turns.take(party, 1)
        assert not await turns.take(Party("u", "u"), 1), "all three are held"

    run(work())


@pytest.mark.parametrize("crowd", [["a"] * 9, [f"web_000{n}" for n in range(9)]])
def test_who_waits_in_many_places_gets_no_more_turns(crowd: list[str]) -> None:
    async def work() -> list[str]:
        turns, order = FairTurns(1, 1), list[str]()

        async def one(client: str) -> None:
            assert await turns.take(party_of(client), 1000)
            order.append(client)
            await asyncio.sleep(1)
            turns.give_back(party_of(client))

        await asyncio.gather(*map(one, [*crowd, "b", "b"]))
        return order

    order = run(work())
    assert [place for place, client in enumerate(order) if client == "b"] == [2, 4]
