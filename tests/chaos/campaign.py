"""A crash campaign: mischief for a while, then quiet, then the verdict."""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

from tests import loopback
from tests.chaos.clients import Promised, Trader
from tests.chaos.environment import EXPIRY_S, CampaignEnvironment, running_environment
from tests.chaos.fault_injection import Faults, Killer, Reorgs
from tests.chaos.invariants import (
    StoredState,
    faults_of,
    may_go_on,
    read_chain,
    read_stored_state,
)
from tests.chaos.told_events import StreamReader, read_both, told_faults

CLIENTS = 5
_QUIET_S = EXPIRY_S + 40
"""Seconds after the last fault within which everything must be decided, and rightly."""

_HELD_BLOCKS = 6
"""Blocks through which the right answer must stand: what a relay still holds would be mined."""


_LONGEST_S = 240
_KILL_S = 10
"""Seconds after which a campaign ends whatever it has seen: a base, and more for each kill."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a campaign saw; `faults` is empty when every promise was kept."""

    seed: int
    kills: int
    of_workers: int
    of_servers: int
    depths: list[int]
    switched: int
    struck: int
    """Requests that a proxy in front of node or relay answered."""
    seconds: float
    promised: Promised
    books: StoredState
    leaked: int
    connections: int
    told: int
    faults: list[str]

    def __str__(self) -> str:
        swaps = sum(1 for row in self.books.orders if row["kind"] == "swap")
        answers = ", ".join(f"{n} x {text}" for text, n in self.promised.answers.most_common())
        ends = ", ".join(f"{n} {text}" for text, n in self.books.ends.most_common())
        return (
            f"\nchaos: seed {self.seed}, {self.seconds:.0f} s, {self.kills} kills "
            f"({self.of_workers} of workers alone, {self.of_servers} of servers alone), "
            f"{self.switched} faults and {self.struck} answers of proxies, "
            f"{len(self.depths)} reorgs of {sum(self.depths)} blocks\n"
            f"  {swaps} swaps ({len(self.promised.swaps)} promised), "
            f"{len(self.books.orders) - swaps} wraps ({len(self.promised.wraps)} promised), "
            f"{self.promised.cancels} public cancels, {self.leaked} leaked\n"
            f"  {self.books.resent} resent, {self.books.corrected} corrected; {ends}\n"
            f"  {self.told} events, read over {self.connections} connections\n"
            f"  {answers}"
        )


async def run(folder: Path, kills: int, seed: int) -> Outcome:
    """Run a campaign of at least that many kills. Raises ServiceFailed when none comes back.

    A slow machine gets fewer answers between two kills, so the kills go on until the campaign has
    seen what it is about, for `_LONGEST_S` at most.
    """
    began = time.monotonic()
    last = began + _LONGEST_S + kills * _KILL_S
    async with running_environment(folder, seed) as stage:
        promised, over = Promised(), asyncio.Event()
        mischief = Faults(stage.sandbox, stage.proxies, f"{seed} faults")
        reorgs = Reorgs(stage.sandbox, f"{seed} reorgs")
        killer = Killer(stage.victim, f"{seed} kills")
        traders = [
            Trader(stage, wallet, promised, f"{seed} {wallet.address}")
            for wallet in stage.sandbox.wallets[:CLIENTS]
        ]
        stream = StreamReader(stage)
        reading = asyncio.create_task(stream.run())
        async with asyncio.TaskGroup() as group:
            for trader in traders:
                group.create_task(trader.trade(over))
            group.create_task(mischief.run(over))
            group.create_task(reorgs.run(over))
            await killer.run(kills)
            while not _has_seen_enough(stage, promised, reorgs, kills) and time.monotonic() < last:
                await killer.run(killer.kills + 1)
            over.set()
        faults = await settled(stage, promised)
        books, told = read_both(stage)
        await stream.caught_up(len(told))
        reading.cancel()
        leaked = sum(1 for row in books.orders if row["tx_hash"] in stage.sandbox.public)
        return Outcome(
            seed, killer.kills, killer.of_workers, killer.of_servers, reorgs.depths,
            mischief.switched, sum(one.struck for one in stage.proxies.values()),
            time.monotonic() - began, promised, books, leaked,
            stream.connections, len(told),
            [
                *faults,
                *await _untrue(stage, promised, books),
                *told_faults(books, told, stream.events),
            ],
        )  # fmt: skip


def _has_seen_enough(
    stage: CampaignEnvironment, promised: Promised, reorgs: Reorgs, kills: int
) -> bool:
    """Return whether both kinds were promised, blocks replaced, and bytes sent once more."""
    if not (promised.swaps and promised.wraps and reorgs.depths):
        return False
    books = read_stored_state(stage.database)
    return len(books.orders) > kills and books.resent > 0


async def settled(stage: CampaignEnvironment, promised: Promised) -> list[str]:
    """Return what is still wrong when everything had the time to come right, and to stay so."""
    stage.sandbox.builder.paused = True
    until = time.monotonic() + _QUIET_S
    held = 0
    while True:
        await stage.sandbox.builder.mine(1)
        await asyncio.sleep(0.25)
        books = read_stored_state(stage.database)
        if time.monotonic() < until and not all(map(may_go_on, books.open)):
            continue
        faults = faults_of(stage, promised, books, await read_chain(stage.sandbox.chain.rpc, books))
        held = 0 if faults else held + 1
        if held > _HELD_BLOCKS or time.monotonic() > until:
            return faults


async def _untrue(stage: CampaignEnvironment, promised: Promised, books: StoredState) -> list[str]:
    """Ask the API for every order an id was given for; return where it disagrees."""
    statuses = {row["order_id"]: row["status"] for row in books.orders}
    wrong = []
    headers = {"X-API-Key": stage.key}
    async with loopback.AsyncClient(base_url=stage.victim.url, headers=headers, timeout=10) as http:
        for order_id in promised.swaps:
            answer = await http.get(f"/api/v1/mev/orders/{order_id}")
            said = answer.json()["data"]["status"] if answer.status_code == 200 else answer.text
            if said != statuses.get(order_id):
                wrong.append(f"the API says {said} of {order_id}, stored {statuses.get(order_id)}")
    return wrong
