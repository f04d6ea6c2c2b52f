"""Orders under odd nodes and relays, followed by all clients: none tells an end that is not so.

`ENDS_ORDERS` and `ENDS_SEED` in the environment choose the number of orders and repeat the dice.
"""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.chaos.ends import run
from tests.example_counts import LONG, examples
from tests.typescript.package import INSTALLED, TypeScript, build, running

ORDERS = int(os.environ.get("ENDS_ORDERS") or examples(100, short=16))
SEED = int(os.environ.get("ENDS_SEED", str(random.randrange(10**6))))
_WAYS = ("service", "awaited", "blocking", "tools", "command")


@pytest.fixture
def typescript(tmp_path: Path) -> Iterator[TypeScript | None]:
    if not INSTALLED:
        yield None
        return
    (folder := tmp_path / "typescript").mkdir()
    build(folder)
    with running(folder) as found:
        yield found


@pytest.mark.skipif(
    not (LONG or "ENDS_ORDERS" in os.environ), reason="it takes minutes: `make ends`"
)
@pytest.mark.timeout(600 + 20 * ORDERS)
async def test_no_end_that_is_told_contradicts_the_chain(
    tmp_path: Path, typescript: TypeScript | None
) -> None:
    click.echo(f"\nends: {ORDERS} orders, ENDS_SEED={SEED}")
    ends = await run(tmp_path, ORDERS, SEED, typescript)
    click.echo(str(ends))
    assert ends.contradictions == [], ends.contradictions
    assert ends.faults == [], ends.faults
    assert len(ends.orders) > ORDERS * 0.9
    assert ends.reorgs
    told = {each.who for each in ends.told}
    assert told >= {*_WAYS, *(["script"] if typescript else [])}
    assert {each.way for each in ends.told} >= {"honest", "lied to", "odd node"}
