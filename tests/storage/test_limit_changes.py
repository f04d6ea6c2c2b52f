"""Changes of a client's limits on both databases: parallel ones wait for each other."""

import asyncio
from dataclasses import replace

import pytest

from quietswap.rules import errors
from quietswap.rules.clients import AuditEntry, Client, ClientLimits, DayUsage, day_of
from quietswap.rules.tx.address import Address
from quietswap.service.storage.factory import Storage
from tests.storage.examples import T0, a_quote

CLIENT = Client("client-1", "a company", T0)


async def test_parallel_changes_of_limits_lose_nothing(storage: Storage, other: Storage) -> None:
    """Also the first limits of a client, which has no row of them yet."""
    await storage.clients.add(CLIENT)
    wallets = [Address(f"0x{number:040x}") for number in range(1, 17)]

    async def add(where: Storage, number: int) -> None:
        def change(before: ClientLimits) -> ClientLimits:
            return replace(before, wallets=before.wallets | {wallets[number]})

        def audit(before: ClientLimits, after: ClientLimits) -> AuditEntry:
            counts = {"from": len(before.wallets), "to": len(after.wallets)}
            return AuditEntry(f"aud_{number}", T0, {}, "client_limited", counts)

        await where.clients.change_limits(CLIENT.id, change, audit)

    await asyncio.gather(*(add((storage, other)[n % 2], n) for n in range(16)))
    assert (await storage.clients.limits(CLIENT.id)).wallets == frozenset(wallets)
    told = [(e.details["from"], e.details["to"]) for e in await storage.audit.list(0, 100)]
    assert sorted(told) == [(n, n + 1) for n in range(16)], "each entry says what it found"


async def test_a_change_of_limits_that_is_refused_or_is_none_stores_nothing(
    storage: Storage,
) -> None:
    def refused(_: ClientLimits) -> ClientLimits:
        raise ValueError("no")

    def never(*_: ClientLimits) -> AuditEntry:
        raise AssertionError

    set_to = ClientLimits(quotes_per_day=5)
    await storage.clients.change_limits(CLIENT.id, lambda _: set_to)
    with pytest.raises(ValueError, match="no"):
        await storage.clients.change_limits(CLIENT.id, refused, never)
    assert await storage.clients.change_limits(CLIENT.id, lambda before: before, never) == set_to


async def test_a_limit_that_is_set_or_lifted_counts_from_the_next_quote(storage: Storage) -> None:
    await storage.quotes.save(a_quote())
    await storage.clients.change_limits(CLIENT.id, lambda _: ClientLimits(quotes_per_day=1))
    refused = a_quote()
    with pytest.raises(errors.QuoteLimitExceeded, match="of this day: 1 of 1"):
        await storage.quotes.save(refused)
    assert await storage.quotes.by_id(CLIENT.id, refused.quote_id) is None
    await storage.clients.change_limits(CLIENT.id, lambda _: ClientLimits())
    await storage.quotes.save(refused)
    assert await storage.quotes.by_id(CLIENT.id, refused.quote_id) == refused
    assert await storage.usage.day(CLIENT.id, day_of(T0)) == DayUsage(quotes=2)
