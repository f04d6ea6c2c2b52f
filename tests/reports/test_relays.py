"""Each report about a relay: what one answer means, and what three in a row make of the relay."""

import pytest

from quietswap.rules.orders.order import OrderStatus
from quietswap.rules.relays import EndpointType, ShareMode
from quietswap.service.base.http_client import HttpClient
from quietswap.service.relays.answers import RelayOutcome
from quietswap.service.relays.private_rpc import PrivateRpc
from tests.fake_web import Answer, serving
from tests.manual_clock import ManualClock
from tests.orders.submitting import KEY, open_desk, swap_submission
from tests.reports.relay_cases import CASES, RelayCase
from tests.stored_orders import swap_quote

RAW = bytes.fromhex("02" + "f8aabbccdd" * 8)
SECRET = "secret-key-of-it"


async def submit(relay: PrivateRpc) -> str:
    """Send the sample bytes and return the outcome."""
    return (await relay.submit(RAW, EndpointType.FAST, ShareMode.NONE)).outcome.value


@pytest.mark.parametrize("case", CASES, ids=[case.source for case in CASES])
async def test_a_relay_is_up_while_it_takes_transactions(case: RelayCase) -> None:
    http, clock = HttpClient(), ManualClock()
    try:
        async with serving(lambda _: case.answer) as web:
            relay = PrivateRpc(
                http, clock, name="R", base_url=web.url, tracking_base=web.url, timeout_s=5.0
            )
            assert [await submit(relay) for _ in range(3)] == [case.outcome] * 3
            assert relay.is_up is not case.down
            miss = relay.last_miss
            assert (miss[1] if miss else "") == case.shown
            sent = len(web.requests)
            await submit(relay)
            assert len(web.requests) == sent + 1  # it answers, so it is still asked
            web.answer = lambda _: Answer(b'{"result":"0x' + b"ab" * 32 + b'"}')
            assert await submit(relay) == "accepted"
            assert (relay.is_up, relay.last_miss) == (True, None)
    finally:
        await http.close()


async def test_words_show_neither_the_bytes_nor_the_key() -> None:
    said = f'{{"error":{{"message":"bad key {SECRET} for 0x{RAW.hex()} <b>"}}}}'.encode()
    http = HttpClient()
    try:
        async with serving(lambda _: Answer(said, 403)) as web:
            url = f"{web.url}/v1/{SECRET}"
            relay = PrivateRpc(
                http, ManualClock(), name="R", base_url=url, tracking_base=url, timeout_s=5.0
            )
            await submit(relay)
            assert relay.last_miss is not None
            assert relay.last_miss[1] == "HTTP 403, it says “bad key *** for *** ‹b›”"
    finally:
        await http.close()


async def test_the_backup_gets_what_the_first_did_not_take() -> None:
    async with open_desk() as desk:
        await desk.storage.quotes.save(swap_quote())
        desk.relay.answers(RelayOutcome.NOT_TAKEN)
        found = (await desk.swap(KEY, swap_submission())).order
        assert (found.status, found.tier) == (OrderStatus.SUBMITTED, 4)
        assert desk.backup.sent == desk.relay.sent


@pytest.mark.parametrize("outcome", [RelayOutcome.UNKNOWN, RelayOutcome.BUSY])
async def test_what_the_first_may_have_stays_with_it(outcome: RelayOutcome) -> None:
    async with open_desk() as desk:
        await desk.storage.quotes.save(swap_quote())
        desk.relay.answers(outcome)
        found = (await desk.swap(KEY, swap_submission())).order
        assert (found.status, found.tier) == (OrderStatus.PENDING, 2)
        assert not desk.backup.sent
