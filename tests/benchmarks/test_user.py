"""The stage of a user's quotes: what is asked, what lies in the database, and a short run."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from benchmarks.speed import user, user_database
from benchmarks.speed.stage import running_stage
from benchmarks.storage import content
from tests.example_counts import examples

ORDERS = 300


@pytest.fixture
def fewer_quotes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "QUOTES", examples(content.QUOTES, short=content.EXPIRED + 1))


def test_requests_vary_and_each_tenth_has_a_token_not_seen_before() -> None:
    asks = list(islice(user.asks(), 3_500))
    unseen = [ask for ask in asks if ask.fresh is not None]
    assert len(unseen) == len({ask.fresh for ask in unseen}) == 350
    tokens = [user.fresh.token(ask.fresh or 0) for ask in unseen]
    bought = [ask.buy == token for ask, token in zip(unseen, tokens, strict=True)]
    assert sum(bought) == 175
    assert all(token in (ask.sell, ask.buy) for ask, token in zip(unseen, tokens, strict=True))
    known = {(ask.sell, ask.buy, ask.amount) for ask in asks if ask.fresh is None}
    assert len(known) == len(user.PAIRS) * len(user.LEVELS)
    assert len({ask.owner for ask in asks}) == user.WALLETS


def test_a_quarter_of_the_wallets_has_no_allowance() -> None:
    assert sum(not user.has_approved(place) for place in range(user.WALLETS)) == user.WALLETS // 4
    assert all(
        user.has_approved(place) is user.has_approved(place + user.WALLETS) for place in range(9)
    )


@pytest.mark.usefixtures("fewer_quotes")
async def test_the_database_has_final_orders_and_quotes_of_the_last_day(tmp_path: Path) -> None:
    database = tmp_path / "past.sqlite3"
    before = user_database.Past(ORDERS, 10).now_ms
    await user_database.fill(database, ORDERS)
    with closing(sqlite3.connect(database)) as connection:
        [row] = connection.execute(
            "SELECT COUNT(*), SUM(watched), SUM(status IN ('pending', 'submitted', 'mining'))"
            " FROM orders"
        )
        assert row == (ORDERS, 0, 0)
        [row] = connection.execute("SELECT COUNT(*), MIN(issued_at_ms) FROM quotes")
        assert row[0] == content.QUOTES
        assert row[1] >= before - content.DAY_MS


@pytest.mark.usefixtures("fewer_quotes")
async def test_a_short_run_has_answers_of_a_real_size_and_nesting() -> None:
    warm = examples(user.Size().warm, short=60)
    size = user.Size(orders=ORDERS, live=12, warm=warm, alone=10, together=40)
    async with running_stage() as stage:
        rows = await user.user(stage, 1, size)
        recorded = json.loads((stage.folder / "user.json").read_text("utf-8"))
    assert [row.goal.unit for row in rows] == ["ms", "ms", "/s"]
    assert all(row.what.startswith(user.WHAT) for row in rows)
    assert rows[2].figure.least > 0
    for source, least in {"kyberswap": 6, "velora": 9, "sushi": 2, "openocean": 7}.items():
        answers = [
            json.loads(row["body"]) for row in recorded if row["path"].startswith(f"/{source}/")
        ]
        lengths = [len(text) // 2 for answer in answers for text in calldata(answer)]
        assert min(lengths) < 1_200
        assert 16_500 < max(lengths) < 17_500
        assert max(map(depth, answers)) >= least


def calldata(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for one in value.values():
            yield from calldata(one)
    elif isinstance(value, str) and value.startswith("0x") and len(value) > 200:
        yield value


def depth(value: Any) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0
