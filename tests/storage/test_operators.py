"""Operators and their sessions on both databases."""

from dataclasses import replace

import pytest

from quietswap.rules.clients import AuditEntry
from quietswap.rules.operator.operators import NameTaken, Operator, OperatorSession
from quietswap.service.storage.factory import Storage
from tests.storage.examples import T0

ALICE = Operator("opr_1", "alice", T0)
HOUR_MS = 3_600_000


def entry(number: int) -> AuditEntry:
    return AuditEntry(f"aud_{number}", T0, {"user": "root", "host": "h"}, "operator_created", {})


async def test_a_session_lasts_until_its_end(storage: Storage) -> None:
    await storage.operators.add(ALICE, b"secret", entry(1))
    assert await storage.operators.live(b"secret") == ALICE
    assert await storage.operators.live(b"secre") is None
    assert await storage.operators.begin_session(ALICE.id, b"s1", T0, T0 + HOUR_MS)
    known = replace(ALICE, last_login_at_ms=T0)
    found = OperatorSession(known, T0, T0 + HOUR_MS)
    assert await storage.operators.session(b"s1", T0 + HOUR_MS - 1) == found
    assert await storage.operators.session(b"s1", T0 + HOUR_MS) is None
    assert await storage.operators.session(b"s2", T0) is None


async def test_a_revocation_ends_every_session_at_once(storage: Storage) -> None:
    await storage.operators.add(ALICE, b"secret", entry(1))
    for name in (b"s1", b"s2"):
        assert await storage.operators.begin_session(ALICE.id, name, T0, T0 + HOUR_MS)
    assert await storage.operators.revoke(ALICE.id, T0 + 1, entry(2))
    assert await storage.operators.session(b"s1", T0 + 1) is None
    assert await storage.operators.live(b"secret") is None
    assert not await storage.operators.begin_session(ALICE.id, b"s3", T0, T0 + HOUR_MS)
    assert not await storage.operators.revoke(ALICE.id, T0 + 2, entry(3))
    assert [one.id for one in await storage.audit.list(0, 9)] == ["aud_1", "aud_2"]
    assert await storage.database.fetch("SELECT secret_hash FROM operator_sessions") in ([], ())


async def test_logging_out_ends_one_session(storage: Storage) -> None:
    await storage.operators.add(ALICE, b"secret", entry(1))
    for name in (b"s1", b"s2"):
        assert await storage.operators.begin_session(ALICE.id, name, T0, T0 + HOUR_MS)
    await storage.operators.end_session(b"s1")
    await storage.operators.end_session(b"unknown")
    assert await storage.operators.session(b"s1", T0) is None
    assert await storage.operators.session(b"s2", T0) is not None


async def test_a_login_deletes_the_sessions_that_have_expired(storage: Storage) -> None:
    await storage.operators.add(ALICE, b"secret", entry(1))
    assert await storage.operators.begin_session(ALICE.id, b"old", T0, T0 + 10)
    assert await storage.operators.begin_session(ALICE.id, b"new", T0 + 10, T0 + HOUR_MS)
    rows = await storage.database.fetch("SELECT secret_hash FROM operator_sessions")
    assert [bytes(row[0]) for row in rows] == [b"new"]


async def test_a_name_belongs_to_one_live_operator(storage: Storage) -> None:
    await storage.operators.add(ALICE, b"1", entry(1))
    other = Operator("opr_2", "alice", T0 + 1)
    with pytest.raises(NameTaken):
        await storage.operators.add(other, b"2", entry(2))
    assert await storage.operators.revoke(ALICE.id, T0 + 2, entry(3))
    await storage.operators.add(other, b"2", entry(4))
    assert [one.id for one in await storage.operators.list()] == ["opr_1", "opr_2"]
