"""`quietswap orders export` and `orders show` on a database of their own."""

import asyncio
import csv
import errno
import io
import json
import stat
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from quietswap.cli import command
from quietswap.cli.options.operator import OperatorContext
from quietswap.rules.chain.received import Refund, RefundStatus
from quietswap.rules.clients import ApiKey, Client
from quietswap.rules.orders.order import Order, OrderEvent, OrderKind, OrderStatus
from quietswap.rules.orders.order_ids import PREFIX_OF
from quietswap.rules.tokens.token import NATIVE, WETH
from quietswap.service.orders import exported_orders
from tests.manual_clock import ManualClock
from tests.patient import open_storage
from tests.signing import WALLET
from tests.stored_orders import NOW_MS, USDC, inclusion, order

DAY_MS = 86_400_000
OTHER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


def made(kind: OrderKind, number: int, *, at: int | None = None, **changes: object) -> Order:
    prefix = PREFIX_OF[kind]
    at = NOW_MS + number * DAY_MS if at is None else at
    result = inclusion(
        received=2_999 * 10**6, refund=Refund(RefundStatus.PAID, 14, "0x" + "ef" * 32)
    )
    plain = order(
        order_id=f"{prefix}_{at:012x}{number:020x}", kind=kind, tx_hash=f"0x{number:064x}",
        status=OrderStatus.CONFIRMED, created_at_ms=at, inclusion=result, source="velora",
    )  # fmt: skip
    return replace(plain, **changes)  # type: ignore[arg-type]


ORDERS = [
    made(OrderKind.SWAP, 1),
    made(OrderKind.SWAP, 2, wallet=OTHER),
    made(OrderKind.SWAP, 3, client_id="client-2"),
    made(OrderKind.WRAP, 4, sell_token=WETH, buy_token=NATIVE),
    made(OrderKind.CANCEL, 5, at=NOW_MS + 3_000),
    made(OrderKind.APPROVAL, 6, at=NOW_MS + 2_000),
    made(OrderKind.TRANSACTION, 7, at=NOW_MS + 1_000),
]
"""By kind, as an export of all orders has them; the last three are created before the others."""


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("export"), *ORDERS)


def filled(folder: Path, *orders: Order) -> Path:
    """Return the settings of a database with these orders."""
    url = f"sqlite:///{folder}/orders.db"

    async def fill() -> None:
        storage = await open_storage(url, clock=ManualClock())
        for each in orders:
            line = OrderEvent(each.order_id, 0, "posted", None, each.status, "test")
            await storage.orders.add(each, line)
        for number in (1, 2):
            owner = Client(f"client-{number}", f"desk {number}", NOW_MS)
            key = ApiKey(f"key_{number}", "bot", NOW_MS, None, owner.id)
            await storage.keys.add(
                key, bytes([number]) * 32, owner, OperatorContext.audit("key_created")
            )
        await storage.keys.revoke("key_2", NOW_MS + 1, OperatorContext.audit("key_revoked"))
        await storage.close()

    asyncio.run(fill())
    file = folder / "quietswap.toml"
    file.write_text(f'[storage]\nurl = "{url}"\n', "utf-8")
    return file


def run(settings: Path, *words: str) -> Result:
    return CliRunner().invoke(command, ["orders", *words, "--settings", str(settings)])


def exported(settings: Path, *options: str) -> list[str]:
    done = run(settings, "export", "--format", "json", *options)
    assert done.exit_code == 0, done.output
    return [row["orderId"] for row in json.loads(done.stdout)]


def ids(orders: Sequence[Order]) -> list[str]:
    return [each.order_id for each in orders]


def test_all_orders_are_exported_and_each_option_restricts_them(settings: Path) -> None:
    first, other, foreign, wrap, *further = ORDERS
    assert exported(settings) == []  # all of them are created in the future
    ever = ("--to", "2100-01-01")
    assert exported(settings, *ever) == ids(ORDERS)
    assert exported(settings, *ever, "--wallet", WALLET.address) == ids(
        [first, foreign, wrap, *further]
    )
    assert exported(settings, *ever, "--key", "key_2") == ids([foreign])
    assert exported(settings, *ever, "--key", "key_1", "--wallet", OTHER) == ids([other])
    by_time = ids([*reversed(further), first, other, wrap])
    assert exported(settings, *ever, "--client", "desk 1") == by_time
    assert exported(settings, "--from", "2027-01-17", "--to", "2027-01-18T08:00") == ids([other])


@pytest.mark.parametrize("command_name", ["list", "export"])
@pytest.mark.parametrize(("option", "what"), [("--key", "key"), ("--client", "client")])
def test_an_unknown_owner_is_no_empty_result(
    settings: Path, tmp_path: Path, command_name: str, option: str, what: str
) -> None:
    target = ("--output", str(tmp_path / "orders.csv")) if command_name == "export" else ()
    done = run(settings, command_name, option, "nobody", *target)
    assert (done.exit_code, done.stdout) == (1, "")
    assert f"there is no {what} nobody: see quietswap {what}s list" in done.stderr
    assert not list(tmp_path.iterdir())


def test_csv_goes_into_a_new_file_of_its_owner(settings: Path, tmp_path: Path) -> None:
    target = tmp_path / "orders.csv"
    words = ("export", "--to", "2100-01-01", "--output", str(target))
    assert run(settings, *words).exit_code == 0
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    rows = list(csv.DictReader(io.StringIO(target.read_text("utf-8"), newline="")))
    assert [row["orderId"] for row in rows] == ids(ORDERS)
    assert rows[0]["receivedAmount"] == str(2_999 * 10**6)
    assert (rows[0]["toPromiseBps"], rows[0]["refundStatus"]) == ("-4", "paid")
    assert (rows[0]["sellSymbol"], rows[0]["sellAmountWhole"]) == ("", "")  # no node is set
    assert (rows[3]["buySymbol"], rows[3]["kind"]) == ("ETH", "wrap")
    again = run(settings, *words)
    assert (again.exit_code, "exists already" in again.output) == (2, True)


def test_a_part_of_an_export_is_not_kept(
    settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would look like an export, and stop the next one."""

    async def full(_: object) -> AsyncIterator[bytes]:
        yield b"orderId"
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setitem(exported_orders.WRITERS, "csv", (full, "text/csv"))
    done = run(settings, "export", "--output", str(tmp_path / "orders.csv"))
    assert (done.exit_code, "No space left on device" in done.stderr) == (1, True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--format", "xlsx"), "--format"),
        (("--from", "soon"), "--from"),
        (("--to", "2026-99-01"), "--to"),
        (("--from", "2026-02-01", "--to", "2026-01-01"), "--to"),
        (("--wallet", "0x12"), "0x12"),
        (("--client", "a", "--key", "b"), "--client and --key"),
        (("--output", "/no/such/folder/x.csv"), "--output"),
    ],
)
def test_what_cannot_be_is_named(settings: Path, options: tuple[str, ...], named: str) -> None:
    done = run(settings, "export", *options)
    assert done.exit_code == 2, done.output
    assert named in done.output


def test_show_has_what_arrived_and_what_it_cost(settings: Path) -> None:
    swap, wrap = ORDERS[0], ORDERS[3]
    found = json.loads(run(settings, "show", swap.order_id, "--json").stdout)
    assert (found["receivedAmount"], found["toPromiseBps"]) == (str(2_999 * 10**6), -4)
    assert found["feePaidWei"] == str(150_000 * 10**9)
    assert (found["refundStatus"], found["refundWei"]) == ("paid", "14")
    assert found["source"] == "velora"
    text = run(settings, "show", wrap.order_id).stdout
    assert "receivedAmount     0.000000002999 ETH" in text


@pytest.mark.parametrize("conversion", ["wrap", "unwrap"])
def test_show_names_the_ether_of_a_batch(tmp_path: Path, conversion: str) -> None:
    pair = (WETH, USDC) if conversion == "wrap" else (USDC, WETH)
    batch = made(
        OrderKind.SWAP, 1, conversion=conversion, sell_token=pair[0], buy_token=pair[1],
        sell_amount=10**17, min_buy_amount=3 * 10**16, inclusion=inclusion(received=35 * 10**15),
    )  # fmt: skip
    settings = filled(tmp_path, batch)
    found = json.loads(run(settings, "show", batch.order_id, "--json").stdout)
    text = run(settings, "show", batch.order_id).stdout
    assert found["conversion"] == conversion
    if conversion == "wrap":
        assert found["unwrapped"] is None
        assert "sellAmount         0.1 ETH" in text
        return
    assert (found["unwrapped"], found["receivedAmount"]) == (str(3 * 10**16), str(35 * 10**15))
    assert "minBuyAmount       0.03 ETH" in text
    assert "receivedAmount     0.03 ETH, and 0.005 WETH" in text


def test_key_id_is_for_programs_only_and_is_the_client(settings: Path) -> None:
    named = ("show", ORDERS[2].order_id)
    found = json.loads(run(settings, *named, "--json").stdout)
    assert (found["keyId"], found["clientId"]) == ("client-2", "client-2")
    shown = [line.split() for line in run(settings, *named).stdout.splitlines() if line]
    assert ["clientId", "client-2"] in shown
    assert "keyId" not in [words[0] for words in shown]
    [listed] = json.loads(run(settings, "list", "--key", "key_2", "--json").stdout)
    assert (listed["orderId"], listed["keyId"]) == (ORDERS[2].order_id, "client-2")
    assert json.loads(run(settings, "list", "--key", listed["keyId"], "--json").stdout) == [listed]
    assert run(settings, "list", "--key", "desk 2").exit_code == 1  # a client's name is no key
