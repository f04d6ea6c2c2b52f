"""Statistics and the streamed export at the edge: formats, ranges, faults, and clients that go."""

import asyncio
import csv
import io
import json
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp

from quietswap.rules.contract.exports import ExportedOrder
from quietswap.rules.orders.export import ExportFilter, ExportPage, ExportRow
from quietswap.rules.orders.order_views import OrderView
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.rules.tokens.token import NATIVE, WETH, Token
from quietswap.rules.wire import member_names
from tests.api.scripted_use_cases import KEY, SECRET, WALLET, ScriptedUseCases
from tests.orders.test_inclusion import ONE_BLOCK
from tests.stored_orders import NOW_MS, USDC

PATH = f"/api/v1/mev/orders/user/{WALLET}/export"
HASH = "0x" + "aa" * 32


def row(**changes: Any) -> ExportRow:
    more = {"block_hash": HASH} | changes
    block_hash = more.pop("block_hash")
    order = OrderView(
        order_id="ord_1", kind="swap", status="confirmed", nonce="7", tx_hash=HASH,
        created_at_ms=NOW_MS, submitted_at_ms=NOW_MS + 5,
        sell_token=WETH, buy_token=USDC, sell_amount=str(15 * 10**17), min_buy_amount="2985000000",
        buy_amount="3000000000", block_number=100,
        block_time_ms=NOW_MS + 12_000, gas_used=180_123, effective_gas_price=str(10**9),
        received="2998000000", received_issue=None, refund_status="none", refund_wei="0",
        refund_tx=None, failure_code=None, reference="3000000000", reference_wei=str(10**18),
        succeeded=1, failure_message=None, expires_at_ms=None, endpoint_type=None, share_mode=None,
        relay_answer=None, deadline_s=None,
    )  # fmt: skip
    order = order._replace(**more)
    return ExportRow("client-1", WALLET, "kyberswap", 2, block_hash, order)


NEW = row(
    order_id="ord_2", status="pending", submitted_at_ms=None, block_number=None, block_hash=None,
    block_time_ms=None, gas_used=None, effective_gas_price=None, received=None, refund_status=None,
    refund_wei=None, reference=None, reference_wei=None,
)  # fmt: skip
TOKENS = {WETH: Token(WETH, 18, "WETH"), USDC: Token(USDC, 6, '=HYPERLINK("http://x","USDC")\n')}
PAGES = [ExportPage([row(), NEW], TOKENS), ExportPage([row(order_id="ord_3")], {})]


async def test_csv_has_every_order_and_no_formula(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    inside.exported = list(PAGES)
    answer = await client.get(PATH)
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == f'attachment; filename="orders-{WALLET}.csv"'
    first, new, third = csv.DictReader(io.StringIO(answer.text, newline=""))
    assert [first["orderId"], new["orderId"], third["orderId"]] == ["ord_1", "ord_2", "ord_3"]
    assert first["buySymbol"] == '\'=HYPERLINK("http://x","USDC")'
    assert (first["sellAmount"], first["sellAmountWhole"]) == (str(15 * 10**17), "1.5")
    assert (first["receivedAmount"], first["receivedWhole"]) == ("2998000000", "2998")
    assert (first["toPromiseBps"], first["toMinimumBps"]) == ("-7", "43")
    against = first["referenceAmount"], first["referenceWei"], first["toReferenceBps"]
    assert against == ("3000000000", str(10**18), "-7")
    assert (new["referenceAmount"], new["toReferenceBps"]) == ("", "")
    assert (first["feePaidWei"], first["feePaidEth"]) == ("180123000000000", "0.000180123")
    assert first["minedAt"] == "2027-01-15T08:00:12.000Z"
    assert {new[name] for name in ("receivedAmount", "minedAt", "feePaidWei", "toPromiseBps")} == {
        ""
    }
    assert (third["receivedAmount"], third["receivedWhole"], third["buySymbol"]) == (
        "2998000000", "", "",
    )  # fmt: skip


@pytest.mark.parametrize(
    "symbol", ["=1+1", "+1", "-1", "@x", "＝1+1", "＋1", "﹣1", "＠x", "|x", "%x"]
)
async def test_no_symbol_is_a_formula(
    client: httpx.AsyncClient, inside: ScriptedUseCases, symbol: str
) -> None:
    """Contracts choose symbols, and some spreadsheets read full-width signs as the signs."""
    inside.exported = [ExportPage([row()], {USDC: Token(USDC, 6, symbol)})]
    [found] = csv.DictReader(io.StringIO((await client.get(PATH)).text, newline=""))
    assert found["buySymbol"] == f"'{symbol}"


GONE = row(order_id="ord_4", status="failed", received=None, succeeded=0)
BLIND = row(order_id="ord_5", received=None, received_issue="logs_missing")
ADDRESSES = f"{WETH} to {USDC}"
MINED = "2027-01-15 08:00:12"
TAXES = {
    "koinly": [
        (f"{MINED} UTC", "1.5", "WETH", "2998", "USDC", "0.000180123", "ETH", "", "", "",
         f"swap ord_1: {ADDRESSES}", HASH),
        (f"{MINED} UTC", "0.000180123", "ETH", "", "", "", "", "", "", "cost",
         "swap ord_4: failed", HASH),
        (f"{MINED} UTC", "1.5", "WETH", "", "USDC", "0.000180123", "ETH", "", "", "",
         f"swap ord_5: {ADDRESSES}; amounts are missing: logs_missing", HASH),
        (f"{MINED} UTC", "", WETH, "", USDC, "0.000180123", "ETH", "", "", "",
         f"swap ord_3: {ADDRESSES}; amounts are missing: the node is away", HASH),
    ],
    "cointracking": [
        ("Trade", "2998", "USDC", "1.5", "WETH", "0.000180123", "ETH", "quietswap", WALLET,
         f"swap ord_1: {ADDRESSES}", MINED, HASH),
        ("Other Fee", "", "", "0.000180123", "ETH", "", "", "quietswap", WALLET,
         "swap ord_4: failed", MINED, HASH),
        ("Trade", "", "USDC", "1.5", "WETH", "0.000180123", "ETH", "quietswap", WALLET,
         f"swap ord_5: {ADDRESSES}; amounts are missing: logs_missing", MINED, HASH),
        ("Trade", "", USDC, "", WETH, "0.000180123", "ETH", "quietswap", WALLET,
         f"swap ord_3: {ADDRESSES}; amounts are missing: the node is away", MINED, HASH),
    ],
}  # fmt: skip
HEADS = {
    "koinly": "Date,Sent Amount,Sent Currency,Received Amount,Received Currency,Fee Amount,"
    "Fee Currency,Net Worth Amount,Net Worth Currency,Label,Description,TxHash",
    "cointracking": "Type,Buy Amount,Buy Currency,Sell Amount,Sell Currency,Fee,Fee Currency,"
    "Exchange,Trade-Group,Comment,Date,Tx-ID",
}


@pytest.mark.parametrize("form", TAXES)
async def test_an_unwrap_is_called_so_in_a_table_for_taxes(
    client: httpx.AsyncClient, inside: ScriptedUseCases, form: str
) -> None:
    """Its `kind` is wrap, as the interface has it."""
    pair = {WETH: Token(WETH, 18, "WETH"), NATIVE: Token(NATIVE, 18, "ETH")}
    unwrap = row(order_id="wrp_6", kind="wrap", sell_token=WETH, buy_token=NATIVE)
    wrap = row(order_id="wrp_7", kind="wrap", sell_token=NATIVE, buy_token=WETH)
    inside.exported = [ExportPage([unwrap, wrap], pair)]
    answer = await client.get(PATH, params={"format": form})
    assert f",unwrap wrp_6: {WETH} to {NATIVE}," in answer.text
    assert f",wrap wrp_7: {NATIVE} to {WETH}," in answer.text


@pytest.mark.parametrize("form", TAXES)
async def test_a_table_for_taxes_has_one_row_for_each_mined_order(
    client: httpx.AsyncClient, inside: ScriptedUseCases, form: str
) -> None:
    """With its fee; one that failed in a block cost its fee, and an open one is in no block."""
    named = {WETH: Token(WETH, 18, "WETH"), USDC: Token(USDC, 6, "USDC")}
    inside.exported = [ExportPage([row(), NEW, GONE, BLIND], named), PAGES[1]]
    answer = await client.get(PATH, params={"format": form})
    name = f"orders-{WALLET}-{form}.csv"
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    head, *rows = csv.reader(io.StringIO(answer.text, newline=""))
    assert head == HEADS[form].split(",")
    assert [tuple(each) for each in rows] == TAXES[form]


async def test_json_is_one_array_with_the_same_members(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    inside.exported = list(PAGES)
    answer = await client.get(PATH, params={"format": "json"})
    assert answer.headers["content-type"] == "application/json"
    found = answer.json()
    assert [order["orderId"] for order in found] == ["ord_1", "ord_2", "ord_3"]
    assert tuple(found[1]) == member_names(ExportedOrder)
    assert len(answer.text.splitlines()) == 2 + len(found)
    assert found[0]["receivedAmount"] == "2998000000"
    assert found[1]["receivedAmount"] is None


async def test_an_empty_export_is_valid_in_both_formats(client: httpx.AsyncClient) -> None:
    assert (await client.get(PATH, params={"format": "json"})).json() == []
    [head] = csv.reader(io.StringIO((await client.get(PATH)).text, newline=""))
    assert tuple(head) == member_names(ExportedOrder)


@pytest.mark.parametrize(
    ("query", "since", "until"),
    [
        ({}, 0, NOW_MS + 1),
        ({"from": "2026-01-01"}, 1_767_225_600_000, NOW_MS + 1),
        ({"to": "2026-01-01T00:00:00Z"}, 0, 1_767_225_600_000),
        (
            {"from": "2026-01-01T01:00:00.5+01:00", "to": "2026-01-02T00:00"},
            1_767_225_600_500,
            1_767_312_000_000,
        ),
        ({"from": "1970-01-01"}, 0, NOW_MS + 1),
    ],
)
async def test_the_range_is_read(
    client: httpx.AsyncClient,
    inside: ScriptedUseCases,
    query: dict[str, str],
    since: int,
    until: int,
) -> None:
    assert (await client.get(PATH, params=query)).status_code == 200
    assert inside.asked == [(ExportFilter(since, until, KEY.client_id, WALLET),)]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ({"format": "xlsx"}, "format"),
        ({"format": ""}, "format"),
        ({"from": "yesterday"}, "from"),
        ({"from": "2026-13-01"}, "from"),
        ({"from": "1969-12-31"}, "from"),
        ({"from": "20260101"}, "from"),
        ({"to": "2026-01-01T25:00"}, "to"),
        ({"to": "0001-01-01T00:00:00+23:59"}, "to"),
        ({"to": "9" * 5000}, "to"),
        ({"from": "2026-01-02", "to": "2026-01-01"}, "to"),
        ({"from": "2026-01-02", "to": "2026-01-02"}, "to"),
        ({"fromm": "2026-01-02"}, "fromm"),
    ],
)
async def test_a_bad_parameter_is_named(
    client: httpx.AsyncClient, inside: ScriptedUseCases, query: dict[str, str], name: str
) -> None:
    answer = await client.get(PATH, params=query)
    assert answer.status_code == 400
    assert answer.json()["error"] == "INVALID_PARAMETER"
    assert answer.json()["details"]["parameter"] == name
    assert inside.asked == []


async def test_a_bad_wallet_is_refused(client: httpx.AsyncClient) -> None:
    answer = await client.get(f"/api/v1/mev/orders/user/{WALLET.lower()}/export")
    assert (answer.status_code, answer.json()["error"]) == (400, "INVALID_ADDRESS")


async def test_an_outage_before_the_first_part_is_a_503(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    inside.exported = [StoreUnavailable("away")]
    answer = await client.get(PATH)
    assert (answer.status_code, answer.json()["error"]) == (503, "SERVICE_UNAVAILABLE")


async def test_an_outage_in_the_middle_ends_the_transfer_without_its_end(
    app: ASGIApp, inside: ScriptedUseCases
) -> None:
    inside.exported = [PAGES[0], StoreUnavailable("away")]
    sent, error = await _serve(app, "format=json")
    assert isinstance(error, StoreUnavailable)
    assert sent[0]["status"] == 200
    assert all(message.get("more_body") for message in sent[1:])
    with pytest.raises(json.JSONDecodeError):
        json.loads(b"".join(message["body"] for message in sent[1:]))
    assert inside.exports_closed == 1


async def test_a_client_that_goes_stops_the_reading(app: ASGIApp, inside: ScriptedUseCases) -> None:
    inside.exported = [PAGES[1]] * 1000
    sent, error = await _serve(app, "", leaves_after=3)
    assert error is None
    assert len(sent) < 10
    assert inside.exports_closed == 1


async def test_head_reads_nothing(client: httpx.AsyncClient, inside: ScriptedUseCases) -> None:
    inside.exported = list(PAGES)
    answer = await client.head(PATH)
    assert (answer.status_code, answer.content) == (200, b"")
    assert inside.asked == []


async def _serve(
    app: ASGIApp, query: str, leaves_after: int | None = None
) -> tuple[list[dict[str, Any]], Exception | None]:
    """Send one request; the client goes after so many messages. Return what was sent."""
    sent: list[dict[str, Any]] = []
    gone = asyncio.Event()

    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)
        if len(sent) == leaves_after:
            gone.set()

    scope = {
        "type": "http", "method": "GET", "path": PATH, "raw_path": PATH.encode(),
        "query_string": query.encode(),
        "headers": [(b"x-api-key", SECRET.encode()), (b"host", b"edge")],
        "client": ("127.0.0.1", 1), "server": ("edge", 80), "scheme": "http", "root_path": "",
        "http_version": "1.1", "asgi": {"version": "3.0"}, "state": {},
    }  # fmt: skip
    try:
        await app(scope, receive, send)
    except StoreUnavailable as error:
        return sent, error
    return sent, None


async def test_statistics_of_a_window(client: httpx.AsyncClient, inside: ScriptedUseCases) -> None:
    answer = await client.get("/api/v1/mev/stats", params={"days": "30"})
    assert answer.status_code == 200
    found = answer.json()["data"]
    assert inside.asked == [(KEY, 30)]
    assert found["relays"][0]["name"] == "Test Relay"
    [source] = found["sources"]
    assert source == found["relays"][0] | {"name": "kyberswap"}
    assert source["inclusionBlocks"] == {"count": 2, "p50": 3, "p90": 3, "p99": 3}
    assert source["inclusionSeconds"] is None
    assert source["refunds"] == {
        "reported": 0, "reportedWei": "0", "paid": 2, "paidWei": "28",
    }  # fmt: skip
    assert (source["confirmedBps"], source["resentBps"], source["failedBps"]) == (10_000, 10_000, 0)


async def test_how_long_orders_waited(client: httpx.AsyncClient, inside: ScriptedUseCases) -> None:
    answer = await client.get("/api/v1/inclusion", params={"days": "3"})
    assert inside.asked == [(3,)]
    report = answer.json()["data"]
    assert (report["orders"], report["expired"]) == (21, 2)
    assert report["usualWait"].startswith(ONE_BLOCK.removesuffix("1 block (12 seconds)"))
    assert report["usualWait"].endswith("; 2 of 23 orders expired")
    fast, other = report["groups"]
    assert fast["blocks"] == {"count": 20, "p50": 1, "p90": 1, "p99": 3}
    assert [share["orders"] for share in fast["within"]] == [18, 18, 20, 20]
    assert (other["endpoint"], other["tip"]) == ("other", "other")
    assert (other["blocks"]["count"], other["baseFeeBps"], other["fullnessBps"]) == (1, None, None)
    assert [(relay["name"], relay["blocks"]["count"]) for relay in report["relays"]] == [
        ("Relay", 21)
    ]
    titan, rest = report["builders"]
    assert (titan["name"], rest["name"], rest["fullnessBps"]) == ("Titan", "other", None)
    assert titan["baseFeeBps"] == {"count": 18, "p50": 9_008, "p90": 9_016, "p99": 9_017}
    assert titan["fullnessBps"] == {"count": 18, "p50": 5_000, "p90": 5_000, "p99": 5_000}


async def test_the_table_to_publish_has_no_group_below_five_orders(
    client: httpx.AsyncClient,
) -> None:
    answer = await client.get("/api/v1/inclusion", params={"format": "csv"})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    names = [(row["group"], row["name"], row["tip"], row["orders"]) for row in rows]
    assert names == [
        ("all", "", "", "21"),
        ("endpoint", "fast", "none", "20"),
        ("relay", "Relay", "", "21"),
        ("builder", "Titan", "", "18"),
    ]
    assert {(row["fromBlock"], row["toBlock"]) for row in rows} == {("7200", "14399")}
    assert {(row["fromDay"], row["toDay"]) for row in rows} == {("1970-01-01", "2027-01-15")}
    assert [row["expired"] for row in rows] == ["2", "", "", ""]
    assert (rows[0]["within1"], rows[0]["within25"], rows[0]["blocksP99"]) == ("18", "20", "30")
    assert (rows[3]["baseFeeBpsP50"], rows[3]["fullnessBpsP99"]) == ("9008", "5000")


async def test_a_table_has_the_format_that_it_names(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/v1/inclusion", params={"format": "xml"})
    assert (answer.status_code, answer.json()["details"]["parameter"]) == (400, "format")


@pytest.mark.parametrize("path", ["/api/v1/mev/stats", "/api/v1/inclusion"])
@pytest.mark.parametrize("days", ["0", "91", "-1", "1.5", "x", ""])
async def test_days_outside_the_bounds_are_refused(
    client: httpx.AsyncClient, days: str, path: str
) -> None:
    answer = await client.get(path, params={"days": days})
    assert answer.status_code == 400
    assert answer.json()["details"] == {"parameter": "days", "provided": days, "max": 90}
