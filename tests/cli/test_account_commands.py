"""quote, wrap, unwrap, balances and history."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from quietswap.cli import command
from quietswap.cli.options import connection
from quietswap.cli.output.quote import short
from quietswap.rules import errors
from quietswap.rules.orders.order import OrderKind, OrderStatus
from quietswap.rules.orders.order_views import OrderPage
from quietswap.rules.tokens.token import NATIVE, WETH, WrapOperation
from tests.api.scripted_tokens import ROUTER
from tests.cli.conftest import Quietswap
from tests.client.fake_chain import FakeChain, transfer
from tests.client.fake_servers import ETHER, WALLET, FakeService, ok, placed, refused, wrap_answer
from tests.client.test_polling import at
from tests.response_json import orders
from tests.stored_orders import USDC, inclusion, listed, recorded

UNKNOWN = "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984"


def test_quote_needs_no_key(quietswap: Quietswap, environment: dict[str, str | None]) -> None:
    environment["QUIETSWAP_PRIVATE_KEY"] = None
    result = quietswap("quote", "1", "weth", "usdc", "--wallet", WALLET.lower())
    assert result.exit_code == 0, result.output
    assert "3,000 USDC via kyberswap" in result.stdout
    assert quietswap("quote", "1", "WETH", "USDC").exit_code == 2


def test_quote_in_json_is_the_interfaces_own(quietswap: Quietswap, service: FakeService) -> None:
    answer = json.loads(quietswap("quote", "1", "WETH", "USDC", "--json").stdout)
    answer.pop("timestamp")
    assert answer == json.loads(json.dumps(service.quote()))


def test_a_token_by_address(quietswap: Quietswap, service: FakeService, node: FakeChain) -> None:
    node.decimals = 18
    assert quietswap("quote", "2", UNKNOWN.lower(), "USDC").exit_code == 0
    assert service.asked[0].query["sellToken"] == UNKNOWN
    assert service.asked[0].query["sellAmount"] == str(2 * ETHER)


def test_a_token_of_unknown_decimals_without_a_node(
    quietswap: Quietswap, service: FakeService, environment: dict[str, str | None]
) -> None:
    environment["QUIETSWAP_RPC_URL"] = None
    assert quietswap("quote", "2", UNKNOWN, "USDC").exit_code == 2
    assert quietswap("quote", "2", UNKNOWN, "USDC", "--raw").exit_code == 0
    assert service.asked[0].query["sellAmount"] == "2"


@pytest.mark.parametrize(("operation", "amount"), [("wrap", "2"), ("unwrap", "0.5")])
def test_wrap_and_unwrap(
    quietswap: Quietswap, service: FakeService, operation: str, amount: str
) -> None:
    result = quietswap(operation, amount, "--yes")
    assert result.exit_code == 0, result.output
    assert f"tx {service.tx_hash}" in result.stdout
    assert "confirmed" in result.stdout
    assert "WETH       0.5" in result.stdout
    assert "nonce      7" in result.stdout
    too_much = quietswap(operation, "5.1", "--yes")
    assert too_much.exit_code == 1
    assert f"the {operation} needs 5.1" in too_much.stdout


def test_an_open_order_may_hold_the_nonce(
    quietswap: Quietswap, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_is_interactive", lambda: True)
    page = OrderPage((listed(placed(OrderStatus.MINING)),), 1)
    is_open = ok(orders.order_history_response(page, 50, 0))
    service.next("history", *[is_open] * 50)  # more than three commands ask for
    asked = quietswap("wrap", "2", "--nonce", "7", input="n\n")
    assert "order ord_1 is open: this may take its nonce" in " ".join(asked.stdout.split())
    refused = quietswap("wrap", "2", "--yes", "--json")
    assert (refused.exit_code, json.loads(refused.stdout)["error"]) == (1, "Declined")
    assert "order ord_1 is open" in refused.stderr
    assert service.bodies("wrap order") == []
    replaces = quietswap("wrap", "2", "--yes", "--replace")
    assert replaces.exit_code == 0
    assert "order ord_1 is open" in replaces.stdout
    service.script["history"].clear()
    assert "is open" not in quietswap("wrap", "2", "--yes").stdout


@pytest.mark.parametrize("operation", WrapOperation)
def test_the_notes_of_a_wrap_are_shown(
    quietswap: Quietswap, service: FakeService, operation: WrapOperation
) -> None:
    quote = wrap_answer(operation, ETHER // 2) | {"notes": ["[b]one[/b]", "another"]}
    service.next("wrap quote", ok({"quote": quote}))
    result = quietswap(operation.value, "0.5", "--yes")
    assert result.exit_code == 0, result.output
    assert "note       [b]one[/b]\nnote       another\n" in result.stdout


def test_wrap_in_json(quietswap: Quietswap) -> None:
    answer = json.loads(quietswap("wrap", "2", "--yes", "--json").stdout)
    assert (answer["ok"], answer["order"]["from"]) == (True, WALLET)
    assert answer["receipt"]["succeeded"] is True


def test_a_wrap_that_reverts(quietswap: Quietswap, node: FakeChain) -> None:
    node.reverts = True
    result = quietswap("wrap", "2", "--yes")
    assert result.exit_code == 1
    assert "reverted" in result.stdout


def test_wrap_without_a_node_needs_the_nonce(
    quietswap: Quietswap, service: FakeService, environment: dict[str, str | None]
) -> None:
    environment["QUIETSWAP_RPC_URL"] = None
    assert quietswap("wrap", "2", "--yes").exit_code == 2
    result = quietswap("wrap", "2", "--yes", "--nonce", "5")
    assert result.exit_code == 0
    assert "not followed" in result.stdout


@pytest.mark.parametrize("amount", ["0", "-1", "x", "0.0000000000000000001", "NaN", "Infinity"])
def test_amounts_that_are_none(quietswap: Quietswap, amount: str) -> None:
    assert quietswap("wrap", "--yes", "--", amount).exit_code == 2


def test_balances(
    quietswap: Quietswap, node: FakeChain, environment: dict[str, str | None]
) -> None:
    node.balance = 123
    text = quietswap("balances").stdout
    assert WALLET in text
    assert "USDC       0.000123" in text
    environment["QUIETSWAP_RPC_URL"] = None
    answer = json.loads(quietswap("balances", "--json").stdout)
    assert answer["balances"] == {"ETH": "1500000000000000000", "WETH": str(ETHER), USDC: None}
    assert (answer["wallet"], answer["blockNumber"]) == (WALLET, 21_000_000)
    assert answer["allowances"]["WETH"] == {ROUTER: "5"}


def test_history(quietswap: Quietswap, service: FakeService) -> None:
    result = quietswap("history", "--limit", "2", "--status", "failed")
    assert result.exit_code == 0
    assert service.asked[0].query == {"limit": "2", "offset": "0", "status": "failed"}
    assert "→ 3,000 USDC" in result.stdout
    assert "1 to 2 of 7; more with --offset 2; states" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert len(json.loads(quietswap("history", "--json").stdout)["orders"]) == 2


@pytest.mark.parametrize("kind", [(), ("--kind", "any")])
def test_further_pages_of_a_history_are_of_its_first_total(
    quietswap: Quietswap, service: FakeService, kind: tuple[str, ...]
) -> None:
    first = quietswap("history", "--limit", "2", *kind)
    more = "--offset 2 --as-of 7"
    assert f"1 to 2 of 7; more with {more}" in first.stdout
    assert quietswap("history", "--limit", "2", *kind, *more.split()).exit_code == 0
    assert service.asked[-1].query.items() >= {"offset": "2", "asOf": "7"}.items()


def test_a_row_of_history_is_one_line_of_a_hundred_columns(
    quietswap: Quietswap, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    lines = quietswap("history").stdout.splitlines()
    [_, first, second, tail] = lines
    assert "WETH → " in first
    assert "ord_" in first
    assert "ord_" in second
    assert tail.startswith("1 to 2 of ")
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("columns", [30, 60, 79, 80, 90, 95, 96, 100, 140, None])
def test_a_row_of_history_is_never_cut(
    quietswap: Quietswap,
    service: FakeService,
    monkeypatch: pytest.MonkeyPatch,
    columns: int | None,
) -> None:
    if columns is not None:
        monkeypatch.setenv("COLUMNS", str(columns))
    order_id = "ord_01KAMQ4Z6WJ8V1T3Y5N7B9C2DX"
    sold, bought = "12345678000000000000", "36332569551"
    line = listed(placed(OrderStatus.CONFIRMED))._replace(
        order_id=order_id, sell_amount=sold, buy_amount=bought
    )
    service.next("history", ok(orders.order_history_response(OrderPage((line,), 1), 50, 0)))
    text = quietswap("history").stdout
    words = text.split()
    assert {order_id, "confirmed", "12.345678", "WETH", "→", "36,332.569551", "USDC"} <= set(words)
    assert "…" not in text.replace(short(line.tx_hash or ""), "")
    assert max(map(len, text.splitlines())) <= (columns or 80)
    is_one_line = any(order_id in row and "WETH → 36,332" in row for row in text.splitlines())
    assert is_one_line is (columns is not None and columns >= 96)


def test_history_of_any_kind_names_what_is_no_swap(
    quietswap: Quietswap, service: FakeService
) -> None:
    lines = tuple(listed(placed(OrderStatus.CONFIRMED, kind=kind)) for kind in OrderKind)
    page = OrderPage(lines, len(lines))
    service.next("history", ok(orders.order_history_response(page, 50, 0)))
    text = quietswap("history", "--kind", "any").stdout
    assert service.asked[-1].query["kind"] == "any"
    for kind in OrderKind:
        assert (f"{kind.value}: " in text) == (kind is not OrderKind.SWAP)


def test_history_of_another_kind(quietswap: Quietswap, service: FakeService) -> None:
    assert quietswap("history", "--kind", "approval").exit_code == 0
    assert service.asked[-1].query["kind"] == "approval"
    assert quietswap("history", "--kind", "everything").exit_code == 2


def test_one_order(quietswap: Quietswap, service: FakeService) -> None:
    result = quietswap("history", "--order", "ord_1")
    assert "0.00018 ETH" in result.stdout
    service.next("status", refused(errors.OrderNotFound()))
    assert quietswap("history", "--order", "ord_2").exit_code == 1
    assert quietswap("history", "--follow").exit_code == 2


def test_an_open_order_says_how_long_orders_wait(
    quietswap: Quietswap, service: FakeService
) -> None:
    service.next("status", at(OrderStatus.MINING))
    result = quietswap("history", "--order", "ord_1")
    assert "in a block  not known yet: fewer than 20 mined orders" in result.stdout


def test_following_an_order_again(quietswap: Quietswap, service: FakeService) -> None:
    service.next("status", at(OrderStatus.MINING), at(OrderStatus.FAILED), at(OrderStatus.MINING))
    follow = ("history", "--order", "ord_1", "--follow", "--poll", "0.2")
    result = quietswap(*follow)
    assert result.exit_code == 4  # only the service says that it failed
    assert "mining" in result.stdout
    answer = quietswap(*follow, "--json")
    told = json.loads(answer.stdout)
    assert (answer.exit_code, told["final"], told["status"]) == (0, False, None)
    assert told["reportedByService"]["status"] == "confirmed"


def test_the_api_key_from_a_file(
    quietswap: Quietswap,
    service: FakeService,
    environment: dict[str, str | None],
    tmp_path: Path,
) -> None:
    environment["QUIETSWAP_API_KEY"] = None
    assert quietswap("balances").exit_code == 2
    (tmp_path / "key").write_text("qs_file\n", "utf-8")
    assert quietswap("balances", "--api-key-file", str(tmp_path / "key")).exit_code == 0
    assert service.asked[0].headers["x-api-key"] == "qs_file"


@pytest.mark.parametrize("url", ["nonsense", "ftp://x"])
def test_a_bad_address(quietswap: Quietswap, environment: dict[str, str | None], url: str) -> None:
    environment["QUIETSWAP_URL"] = url
    assert quietswap("balances").exit_code == 2


@pytest.mark.parametrize("name", ["quote", "swap", "wrap", "unwrap", "balances", "history"])
def test_every_client_command_speaks_json_and_says_where(quietswap: Quietswap, name: str) -> None:
    found = command.get_command(None, name)  # type: ignore[arg-type]
    assert found is not None
    options = {option for parameter in found.params for option in parameter.opts}
    assert {"--json", "--url", "--api-key", "--api-key-file", "--rpc-url", "--raw"} <= options


@pytest.mark.parametrize("has_node", [True, False])
@pytest.mark.parametrize("conversion", ["wrap", "unwrap"])
def test_the_ether_of_a_batch_is_no_weth(
    quietswap: Quietswap,
    service: FakeService,
    node: FakeChain,
    environment: dict[str, str | None],
    conversion: str,
    has_node: bool,
) -> None:
    pair = (WETH, USDC) if conversion == "wrap" else (USDC, WETH)
    batch = placed(
        OrderStatus.CONFIRMED, conversion=conversion, sell_token=pair[0], buy_token=pair[1],
        sell_amount=10**17, min_buy_amount=3 * 10**16,
    )  # fmt: skip
    batch = replace(batch, inclusion=inclusion(received=35 * 10**15))
    node.logs = [transfer(pair[1], ROUTER, WALLET, 35 * 10**15)]
    node.mine(batch.tx_hash)
    node.receipts[batch.tx_hash]["from"] = WALLET
    page = OrderPage((listed(batch),), 1)
    service.next("history", ok(orders.order_history_response(page, 1, 0)))
    service.next("status", ok(orders.order_status_response(recorded(batch))))
    listing = quietswap("history").output
    assert ("0.1 ETH →" in listing) is (conversion == "wrap")
    assert " ETH" in listing
    assert "WETH" not in listing
    if not has_node:
        environment["QUIETSWAP_RPC_URL"] = None
    shown = " ".join(quietswap("history", "--order", "ord_1").output.split())
    if conversion == "wrap":
        assert "sell 0.1 ETH" in shown
        return
    assert "at least 0.03 ETH" in shown
    assert "received 0.03 ETH, and 0.005 WETH" in shown


def test_native_ether_needs_no_node(
    quietswap: Quietswap, service: FakeService, node: FakeChain
) -> None:
    """The decimals of its placeholder address are asked of nobody."""
    node.decimals = 3
    unwrap = placed(
        OrderStatus.CONFIRMED, sell_token=WETH, buy_token=NATIVE, kind=OrderKind.WRAP,
        sell_amount=ETHER // 4, buy_amount=ETHER // 4, min_buy_amount=ETHER // 4,
    )  # fmt: skip
    service.mines(unwrap.tx_hash)
    service.next(
        "history", ok(orders.order_history_response(OrderPage((listed(unwrap),), 1), 1, 0))
    )
    service.next("status", ok(orders.order_status_response(recorded(unwrap))))
    listing = quietswap("history", "--kind", "wrap")
    assert "unwrap: 0.25 WETH → 0.25 ETH" in " ".join(listing.output.split())
    shown = " ".join(quietswap("history", "--order", "wrp_1").output.split())
    assert "at least 0.25 ETH received 0.25 ETH" in shown
    wrap = replace(unwrap, sell_token=NATIVE, buy_token=WETH)
    service.next("status", ok(orders.order_status_response(recorded(wrap))))
    shown = " ".join(quietswap("history", "--order", "wrp_1").output.split())
    assert "at least 0.25 WETH received 0.25 WETH" in shown, "WETH9 logs no transfer for it"
