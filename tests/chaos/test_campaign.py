"""The service is killed again and again in bad weather, and loses and invents nothing.

`CHAOS_KILLS` and `CHAOS_SEED` in the environment choose the length and repeat the dice.
"""

import os
import random
from pathlib import Path

import click
import pytest

from tests.chaos.campaign import run
from tests.example_counts import examples

KILLS = int(os.environ.get("CHAOS_KILLS") or examples(6, short=3))
SEED = int(os.environ.get("CHAOS_SEED", str(random.randrange(10**6))))


@pytest.mark.timeout(420 + 20 * KILLS)
async def test_no_order_is_lost_and_no_status_lies_through_crashes(tmp_path: Path) -> None:
    click.echo(f"\nchaos: {KILLS} kills, CHAOS_SEED={SEED}")
    outcome = await run(tmp_path, KILLS, SEED)
    click.echo(str(outcome))
    assert outcome.faults == [], outcome.faults
    assert outcome.kills >= KILLS
    assert len(outcome.books.orders) > KILLS
    assert outcome.promised.swaps
    assert outcome.promised.wraps
    assert outcome.depths
    assert outcome.books.resent > 0
    assert outcome.told > len(outcome.promised.swaps)
    assert outcome.connections > 1
