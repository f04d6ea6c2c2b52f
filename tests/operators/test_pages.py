"""The pages of the operator view: what they find, what they count, and hostile text in them."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest

from quietswap.rules.chain.block_facts import BlockFacts
from quietswap.rules.chain.received import Refund, RefundStatus
from quietswap.rules.clients import ApiKey, AuditEntry, Client, ClientLimits
from quietswap.rules.operator.figures import BUCKET_MS, Figure, Measure
from quietswap.rules.operator.inclusion import UNKNOWN
from quietswap.rules.operator.operators import Health, PausedSource, ProcessReport
from quietswap.rules.orders.order import Inclusion, Order, OrderKind, OrderStatus
from quietswap.rules.tokens.token import NATIVE, WETH
from quietswap.rules.tx.address import Address
from tests.operators.conftest import Office
from tests.orders.test_inclusion import ONE_BLOCK
from tests.storage.examples import BUY, OTHER_WALLET, SELL, T0, WALLET, an_event, an_order

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u202eevil&amp;"
SEEN = re.compile(
    r"<(?:script(?! src=\"/operator/assets/operator\.js\" defer>)|img|svg[^>]*onload)"
)


def text_of(answer: httpx.Response) -> str:
    """Return what a person reads: without tags, in one line."""
    assert answer.status_code == 200, answer.text
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.text)).split())


def utc(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"


def stored_at(office: Office, number: int, **changes: Any) -> Order:
    at = office.clock.now_ms() - 60_000 + number
    identity = f"ord_{at:012x}{number:020x}"
    return an_order(order_id=identity, created_at_ms=at, **changes)


async def add(office: Office, *orders: Order) -> None:
    for order in orders:
        await office.storage.orders.add(order, an_event(order))


async def count(office: Office, *figures: tuple[Measure, str, str, int, int], **state: Any) -> None:
    """Store figures, as (measure, subject, detail, value, how often), and a report."""
    counted = {Figure(*figure[:4]): figure[4] for figure in figures}
    report = ProcessReport("host:7", office.clock.now_ms(), len(counted), {"sources": {}, **state})
    await office.storage.figures.record(counted, report)


@pytest.mark.parametrize(
    ("sold", "bought", "action"), [(NATIVE, WETH, "wrap"), (WETH, NATIVE, "unwrap")]
)
async def test_an_unwrap_is_called_so(
    office: Office, desk: httpx.AsyncClient, sold: Address, bought: Address, action: str
) -> None:
    order = stored_at(office, 1, kind=OrderKind.WRAP, sell_token=sold, buy_token=bought)
    await add(office, order)
    table = text_of(await desk.get("/operator/orders"))
    assert f"{order.order_id} {action} " in table
    assert f"kind {action} " in text_of(await desk.get(f"/operator/orders/{order.order_id}"))


async def test_the_ether_of_a_batch_is_no_weth(office: Office, desk: httpx.AsyncClient) -> None:
    block = Inclusion(7, "0x" + "0" * 64, 21_000, 10**9, T0, True, received=35 * 10**15)
    bought = stored_at(
        office, 1, conversion="unwrap", sell_token=BUY, buy_token=WETH, inclusion=block,
        status=OrderStatus.CONFIRMED, buy_amount=4 * 10**16, min_buy_amount=3 * 10**16,
    )  # fmt: skip
    sold = stored_at(office, 2, conversion="wrap", sell_amount=10**17)
    await add(office, bought, sold)
    page = text_of(await desk.get(f"/operator/orders/{bought.order_id}"))
    assert "promised 0.04 ETH" in page
    assert "at least 0.03 ETH" in page
    assert "received 0.03 ETH, and 0.005 WETH" in page
    assert "sells 0.1 ETH" in text_of(await desk.get(f"/operator/orders/{sold.order_id}"))


async def test_orders_are_found_by_everything_that_names_them(
    office: Office, desk: httpx.AsyncClient
) -> None:
    await office.storage.clients.add(Client("client-1", "acme", 1))
    await office.storage.keys.add(ApiKey("key_1", "bot", 1, None, "client-1"), b"1")
    mine, other = stored_at(office, 1), stored_at(office, 2, client_id="c2", wallet=OTHER_WALLET)
    await add(office, mine, other)
    names = (mine.order_id, mine.tx_hash, mine.tx_hash.upper().replace("0X", "0x"), WALLET)
    for name in (*names, WALLET.lower(), "client-1", "acme", "key_1"):
        page = text_of(await desk.get("/operator/orders", params={"q": f" {name} "}))
        assert mine.order_id in page, name
        assert other.order_id not in page, name
    everything = text_of(await desk.get("/operator/orders"))
    assert everything.index(other.order_id) < everything.index(mine.order_id)
    for name in ("nobody", "ord_000", "0x" + "0" * 64, "' OR 1=1 --", "%", HOSTILE):
        answer = await desk.get("/operator/orders", params={"q": name})
        assert mine.order_id not in text_of(answer), name
        assert not SEEN.search(answer.text)


async def test_a_long_list_is_read_page_by_page(office: Office, desk: httpx.AsyncClient) -> None:
    orders = [stored_at(office, number) for number in range(1, 54)]
    await add(office, *orders)
    for query in ({}, {"q": WALLET}, {"q": "client-1"}):
        first = await desk.get("/operator/orders", params=query)
        found = re.search(r'href="(/operator/orders\?[^"]*after=[^"]+)"', first.text)
        assert found
        second = await desk.get(unescape(found[1]))
        both = [{o.order_id for o in orders if o.order_id in page.text} for page in (first, second)]
        assert [len(ids) for ids in both] == [50, 3]
        assert not both[0] & both[1]
        assert "after=" not in second.text
    for broken in ("x", "1", "1.", "-1.a", "9" * 30 + ".a", "1.%00"):
        answer = await desk.get("/operator/orders", params={"after": broken})
        assert answer.status_code == 200


async def test_an_order_shows_its_evidence(office: Office, desk: httpx.AsyncClient) -> None:
    order = stored_at(
        office, 1, buy_amount=10_000, source="velora", usd_cents=123_456, deadline_s=1_700_000_000
    )
    await add(office, order)
    block = Inclusion(
        77, "0xblock", 21_000, 3, order.created_at_ms + 12_000, True, 9_990,
        refund=Refund(RefundStatus.REPORTED, 5, None),
    )  # fmt: skip
    mined = replace(order, status=OrderStatus.CONFIRMED, inclusion=block, submitted_head=75)
    line = replace(
        an_event(mined, "included", order.created_at_ms + 14_000),
        from_status="pending",
        evidence="receipt in block 77",
    )
    assert await office.storage.orders.update(mined, line)
    answer = await desk.get(f"/operator/orders/{order.order_id}")
    page = text_of(answer)
    for said in (
        "confirmed",
        "promised 100 <b>BUY</b>",
        f"99.9 <b>BUY</b> {BUY} (-10 bps against the promise)",
        f"{order.sell_amount} smallest units of {SELL}",
        "can swap until (UTC) 2023-11-14 22:13:20", "1,234.56 USD", "receipt in block 77",
        "pending → confirmed", "+14.0 s", "blocks after the relay took it 2", "reported: 5 wei",
    ):  # fmt: skip
        assert said in page, said
    assert f"https://explorer.test/tx/{order.tx_hash}" in answer.text
    assert (await desk.get("/operator/orders/ord_nothing")).status_code == 404


async def test_signed_bytes_are_on_no_page(office: Office, desk: httpx.AsyncClient) -> None:
    raw = bytes.fromhex("02f8deadbeefcafe1234")
    order = stored_at(office, 1, raw=raw)
    await add(office, order)
    for path in (f"/{order.order_id}", f"?q={order.tx_hash}", f"?q={order.order_id}", ""):
        assert "deadbeef" not in (await desk.get(f"/operator/orders{path}")).text


async def test_sources_in_numbers(office: Office, desk: httpx.AsyncClient) -> None:
    await count(
        office,
        (Measure.SOURCE_OUTCOME, "velora", "answered", 0, 9),
        (Measure.SOURCE_OUTCOME, "velora", "timed_out", 0, 1),
        (Measure.SOURCE_MS, "velora", "", 100, 9),
        (Measure.SOURCE_MS, "velora", "", 3000, 1),
        (Measure.SOURCE_WON, "velora", "", 0, 4),
        (Measure.SOURCE_DELIVERED, "velora", "", -2, 8),
        (Measure.SOURCE_DELIVERED, "velora", "", -50, 2),
        (Measure.SOURCE_CHECK, "velora", "verified", 0, 9),
        sources={"velora": "open", "kyberswap": "closed"},
        misses={"velora": [office.clock.now_ms(), "no_route: vendor: “none”"]},
    )
    answer = await desk.get("/operator/sources")
    page = text_of(answer)
    assert "velora 10 90.0 % 100 / 100 / 3000 ms 4 -2 bps -50 bps open" in page
    assert "kyberswap 0 – – 0 – – closed" in page
    assert "answered 9, timed out 1" in page
    assert re.search("last without a route .{16,40}: no_route: vendor: “none”", page)
    assert answer.text.count('role="img"') == 4, "won, and three of velora"
    assert 'aria-label="Latency: between 100 and 100 ms"' in answer.text
    for hours in ("6", "168", "24", "7", "-1", "x"):
        assert (await desk.get(f"/operator/sources?hours={hours}")).status_code == 200


async def test_figures_are_those_of_the_chosen_time(
    office: Office, desk: httpx.AsyncClient
) -> None:
    for hours_ago, times in ((30, 5), (10, 3), (0, 2)):
        office.clock.ms -= hours_ago * 3_600_000
        await count(office, (Measure.SOURCE_OUTCOME, "velora", "answered", 0, times))
        office.clock.ms += hours_ago * 3_600_000
    for hours, expected in ((6, 2), (24, 5), (168, 10)):
        page = text_of(await desk.get(f"/operator/sources?hours={hours}"))
        assert f"velora {expected} 100 %" in page


async def test_relay_in_numbers(office: Office, desk: httpx.AsyncClient) -> None:
    await count(
        office,
        (Measure.RELAY_OUTCOME, "MEV Blocker", "accepted", 0, 3),
        (Measure.RELAY_OUTCOME, "MEV Blocker", "refused", 0, 1),
        (Measure.RELAY_MS, "MEV Blocker", "", 200, 4),
        (Measure.INCLUSION_BLOCKS, "noreverts", "none", 1, 2),
        (Measure.INCLUSION_BLOCKS, "fast", "to 1 gwei", 3, 1),
        (Measure.INCLUSION_S, "noreverts", "none", 12, 2),
        (Measure.INCLUSION_S, "fast", "to 1 gwei", 36, 1),
        (Measure.ORDER_MOVED, "confirmed", "included", 0, 3),
        (Measure.ORDER_MOVED, "cancelled", "expired", 0, 1),
        (Measure.ORDER_RESENT, "accepted", "", 0, 2),
        (Measure.ORDER_REFUNDED, "paid", "", 0, 1),
        relays={"MEV Blocker": "closed", "Backup relay": "open"},
    )
    page = text_of(await desk.get("/operator/relay"))
    for said in (
        "MEV Blocker 4 75.0 % accepted 3, refused 1 200 / 200 / 200 ms closed",
        "Backup relay 0 – – – open",
        "all 3 1 / 3 / 3 blocks 12 / 36 / 36 s",
        "endpoint noreverts 2 1 / 1 / 1 blocks 12 / 12 / 12 s",
        "tip to 1 gwei 1 3 / 3 / 3 blocks 36 / 36 / 36 s",
        "mined 3 (75.0 %)",
        "times sent again 2: accepted 2",
        "refunded 1: paid 1 (33.3 % of mined)",
    ):
        assert said in page, said


async def test_the_record_of_inclusion_is_a_picture_and_a_table(
    office: Office, desk: httpx.AsyncClient
) -> None:
    empty = text_of(await desk.get("/operator/relay"))
    assert UNKNOWN in empty
    office.clock.ms += 61_000
    facts = BlockFacts(3, 9_950, "Titan")
    for number in range(20):
        block = Inclusion(
            102 if number else 110, "0xblock", 1, 3, office.clock.now_ms(), True, facts=facts
        )
        mined = stored_at(
            office, number, inclusion=block, submitted_head=101, fee_cap=4, priority_fee=0,
            status=OrderStatus.CONFIRMED,
        )  # fmt: skip
        await add(office, mined)
    answer = await desk.get("/operator/relay")
    page = text_of(answer)
    for said in (
        ONE_BLOCK,
        "next block 19 (95.0 %) 2 blocks 0 (0 %) to 5 blocks 0 (0 %) to 25 blocks 1 (5.0 %)",
        "all 20 1 / 1 / 9 blocks 95.0 % 75 / 75 % 100 / 100 %",
        "endpoint noreverts, tip none 20", "relay tier 2 20", "builder Titan 20",
    ):  # fmt: skip
        assert said in page, said
    assert 'd="M0,0H95.00V1H0Z" class="good"' in answer.text


async def test_node_in_numbers(office: Office, desk: httpx.AsyncClient) -> None:
    await count(
        office,
        (Measure.NODE_ERROR, "rpc#1", "timeout", 0, 2),
        (Measure.TRACKER_LAG, "tracker", "", 0, 9),
        (Measure.TRACKER_LAG, "tracker", "", 4, 1),
        (Measure.REORG, "chain", "", 2, 1),
        nodes=[{"name": "rpc#1", "height": 88, "lags": False, "circuit": "closed"}],
    )
    page = text_of(await desk.get("/operator/node"))
    for said in (
        "host:7 rpc#1 88 no closed", "tracker lag, median / p90 / p99 0 / 0 / 4 blocks",
        "failed calls 2", "reorganisations 1", "deepest 2 blocks", "rpc#1 timeout 2",
    ):  # fmt: skip
        assert said in page, said


async def test_a_height_is_shown_with_the_time_of_its_reading(
    office: Office, desk: httpx.AsyncClient
) -> None:
    """A node that went away keeps its last height: the report beside it is newer."""
    now = office.clock.now_ms()
    gone = {"name": "rpc#1", "height": 88, "readAt": now - 300_000}
    live = {"name": "rpc#2", "height": 113, "readAt": now}
    never = {"name": "rpc#3", "height": None, "readAt": None}
    rest = {"lags": False, "circuit": "closed"}
    await count(office, nodes=[one | rest for one in (gone, live, never)])
    page = text_of(await desk.get("/operator/node"))
    for said in (
        f"rpc#1 88 no closed 25 blocks {utc(now - 300_000)}",
        f"rpc#2 113 no closed 0 blocks {utc(now)}",
        "rpc#3 no answer no closed – –",
    ):
        assert said in page, said


async def test_what_a_process_does_not_have_is_not_called_unknown(
    office: Office, desk: httpx.AsyncClient
) -> None:
    await count(office, (Measure.RELAY_OUTCOME, "Old relay", "accepted", 0, 1), relays={})
    assert "Old relay 1 100 % accepted 1 – not configured" in text_of(
        await desk.get("/operator/relay")
    )


async def test_clients_show_usage_against_limits(office: Office, desk: httpx.AsyncClient) -> None:
    for number in (1, 2):
        await office.storage.clients.add(Client(f"client-{number}", f"name {number}", number))
    await office.storage.keys.add(ApiKey("key_1", "bot", 1, None, "client-1"), b"1")
    limits = ClientLimits(open_orders=7, quotes_per_day=100, usd_cents_per_swap=5000)
    await office.storage.clients.change_limits("client-1", lambda _: limits)
    await add(office, stored_at(office, 1, usd_cents=1234))
    page = text_of(await desk.get("/operator/clients", params={"q": "client-1"}))
    for said in (
        "quotes 0 100",
        "orders 1 –",
        "value 12.34 USD none",
        "open orders 1 7",
        "50.00 USD a swap",
        "key_1 live",
    ):
        assert said in page, said
    assert "client-2" not in page
    assert "client-1" in text_of(await desk.get("/operator/clients", params={"q": "key_1"}))
    everything = text_of(await desk.get("/operator/clients"))
    assert everything.index("name 2") < everything.index("name 1")


async def test_the_overview_says_what_needs_attention(
    office: Office, desk: httpx.AsyncClient
) -> None:
    await count(office, tracker="leading")
    assert "Nothing needs attention." in text_of(await desk.get("/operator"))
    office.health = Health({"database": "ok", "node": "no answer"}, "leading")
    entry = AuditEntry("aud_x", 1, {}, "source_paused", {})
    assert await office.storage.paused_sources.pause(PausedSource("velora", 1, "al", "why"), entry)
    await add(office, replace(stored_at(office, 1), created_at_ms=office.clock.now_ms() - 900_000))
    office.clock.ms += 2000  # the figures of a day are kept so long
    await count(
        office,
        (Measure.SOURCE_CHECK, "velora", "unsafe", 0, 2),
        (Measure.TRACKER_LAG, "tracker", "", 9, 1),
        tracker="off",
    )
    page = text_of(await desk.get("/operator"))
    for said in (
        "node: no answer", "no process that reports here follows the orders",
        "2 routes broke a fund safety rule",
        "an order is pending for 15 min", "up to 9 blocks behind",
        "source velora is paused by al: why",
    ):  # fmt: skip
        assert said in page, said


async def test_the_overview_says_what_is_so_now(office: Office, desk: httpx.AsyncClient) -> None:
    page = text_of(await desk.get("/operator"))
    assert "Sources 0 of 2" in page, "no process reported"
    assert "Open orders 0 none waits" in page
    old = replace(stored_at(office, 1), created_at_ms=office.clock.now_ms() - 900_000)
    await add(office, stored_at(office, 2), old)
    office.clock.ms += 2000  # the figures of a day are kept so long
    await count(
        office,
        (Measure.RELAY_OUTCOME, "MEV Blocker", "accepted", 0, 3),
        (Measure.RELAY_OUTCOME, "Backup relay", "accepted", 0, 1),
        (Measure.RELAY_OUTCOME, "Backup relay", "refused", 0, 1),
        (Measure.SOURCE_OUTCOME, "velora", "answered", 0, 9),
        (Measure.SOURCE_MS, "velora", "", 100, 9),
        relays={"MEV Blocker": "closed", "Backup relay": "open", "Idle": "closed"},
        sources={"kyberswap": "closed", "velora": "closed"},
        nodes=[{"name": "rpc#1", "height": 21_480_119, "readAt": office.clock.now_ms()}],
    )
    answer = await desk.get("/operator")
    for stat in (
        "good Block of rpc#1 21,480,119 0 behind, read 0 s ago",
        "bad Relay Backup relay 1 of 2 accepted in 24 h",
        "good Relay Idle nothing sent in 24 h",
        "good Relay MEV Blocker all 3 accepted in 24 h",
        "good Sources 2 of 2 are asked by every process",
        "warn Open orders 2 2 pending; the oldest for 15 min",
    ):
        assert stat in stats_of(answer)
    assert "velora good 100 % 100 ms" in text_of(answer)
    entry = AuditEntry("aud_x", 1, {}, "source_paused", {})
    assert await office.storage.paused_sources.pause(PausedSource("velora", 1, "al", "why"), entry)
    answer = await desk.get("/operator")
    assert "warn Sources 1 of 2 are asked by every process" in stats_of(answer)
    assert "velora paused 100 % 100 ms" in text_of(answer)


def stats_of(answer: httpx.Response) -> list[str]:
    """Return mark and text of each figure of the overview."""
    parts = re.findall(r'<div class="stat">(.*?)</div>', answer.text)
    marked = [re.sub(r'<b class="(\w+)"[^>]*>●', r"\1 ", part) for part in parts]
    return [" ".join(unescape(re.sub(r"<[^>]+>", " ", part)).split()) for part in marked]


def test_the_view_has_the_colours_of_the_wallet_page() -> None:
    """One palette: each colour that both style sheets name is the same."""
    root = Path(__file__).parents[2]
    sheets = "src/quietswap/service/operator/assets/operator.css", "web/src/app.css"
    view, page = (
        dict(re.findall(r"(--[\w-]+): (.+);", (root / sheet).read_text("utf-8")))
        for sheet in sheets
    )
    both = view.keys() & page.keys()
    assert len(both) >= 18
    assert {name: view[name] for name in both} == {name: page[name] for name in both}


async def test_health_is_what_readyz_says(office: Office, desk: httpx.AsyncClient) -> None:
    assert "This process is ready" in text_of(await desk.get("/operator/health"))
    checks = {"database": "PostgreSQL: gone", "relay": "no connection: MEV Blocker"}
    office.health = Health(checks, "standing by")
    page = text_of(await desk.get("/operator/health"))
    assert "This process is not ready" in page
    assert "relay no connection: MEV Blocker" in page
    assert "standing by" in page


async def test_silent_processes_are_not_shown(office: Office, desk: httpx.AsyncClient) -> None:
    await count(office, tracker="leading")
    assert "host:7" in text_of(await desk.get("/operator/health"))
    office.clock.ms += 61_000
    assert "host:7" not in text_of(await desk.get("/operator/health"))


def test_a_bucket_divides_an_hour() -> None:
    assert 3_600_000 % BUCKET_MS == 0


@pytest.mark.parametrize(
    "path",
    [
        "/orders?q=%00", "/orders?q=a%00b", "/orders/%00", "/orders?after=1.%00",
        "/clients?q=%00", "/clients?after=1.%00", "/keys/%00/revoke",
    ],
)  # fmt: skip
async def test_a_text_that_no_database_can_hold_is_refused(
    desk: httpx.AsyncClient, path: str
) -> None:
    """PostgreSQL refuses U+0000 in a text: each such request was a 500."""
    answer = await desk.get(f"/operator{path}")
    assert answer.status_code == 400
    assert "This request cannot be read" in answer.text
