"""Places for work that takes long, given to those who wait in turn."""

import asyncio
from collections import Counter, OrderedDict, deque

from quietswap.rules.clients import Party

_Waiting = OrderedDict[str, "deque[asyncio.Future[None]]"]
"""By member, in the order of their turns."""


class FairTurns:
    """`places` at a time, of which one party has at most `of_party`.

    Parties take turns, and the members of a party among themselves: whoever waits in many places at
    once gets no more turns.
    """

    def __init__(self, places: int, of_party: int) -> None:
        self._free = places
        self._of_party = of_party
        self._held: Counter[str] = Counter()
        self._waiting: OrderedDict[str, _Waiting] = OrderedDict()

    async def take(self, party: Party, within_s: float) -> bool:
        """Wait for a place; return False if there was none in time.

        Each place is given back once, also if the work failed.
        """
        if self._free and not self._waiting and self._held[party.name] < self._of_party:
            self._hold(party.name)
            return True
        try:
            async with asyncio.timeout(within_s):
                await self._turn(party)
        except TimeoutError:
            return False
        return True

    async def _turn(self, party: Party) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        members = self._waiting.setdefault(party.name, OrderedDict())
        members.setdefault(party.member, deque()).append(turn)
        self._grant()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it was granted at the same moment
                self.give_back(party)
            raise

    def give_back(self, party: Party) -> None:
        self._free += 1
        self._held[party.name] -= 1
        if not self._held[party.name]:
            del self._held[party.name]
        self._grant()

    def _grant(self) -> None:
        while self._free and (name := self._next()) is not None:
            turn = self._first(name)
            if turn is not None:
                self._hold(name)
                turn.set_result(None)

    def _hold(self, name: str) -> None:
        self._free -= 1
        self._held[name] += 1

    def _next(self) -> str | None:
        """Return the party whose turn it is; None if no party waits that may have a place."""
        return next((name for name in self._waiting if self._held[name] < self._of_party), None)

    def _first(self, name: str) -> "asyncio.Future[None] | None":
        """Remove one that waits for a party, and put the party and the member last.

        None if the one whose turn it was has gone away.
        """
        members = self._waiting[name]
        member, turns = next(iter(members.items()))
        turn = turns.popleft()
        members.move_to_end(member)
        if not turns:
            del members[member]
        self._waiting.move_to_end(name)
        if not members:
            del self._waiting[name]
        return None if turn.done() else turn
