"""`quietswap swap` when something is odd: what is said, asked again, or left to be looked up."""

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from msgspec import structs

from quietswap.cli.options import connection
from quietswap.client import QuietswapClient
from quietswap.rules.orders.order import OrderStatus
from tests.cli.conftest import Quietswap
from tests.cli.test_swap_command import SWAP, approved
from tests.client.conftest import Time
from tests.client.fake_chain import FakeChain
from tests.client.fake_servers import FakeServers, FakeService, Reply, ok, swap_quote
from tests.client.test_polling import at
from tests.client.test_transaction_hash_mismatch import LIE
from tests.response_json import quotes as response_quotes

__all__ = ["approved"]


def waiting(time: Time) -> dict[str, Any]:
    """Return the client's defaults with a clock of the test's own."""
    usual = dict(QuietswapClient.__init__.__kwdefaults__ or {})
    return usual | {"sleep": time.sleep, "monotonic": time.monotonic}


def test_a_poor_wallet_is_told_before_it_is_asked(
    quietswap: Quietswap, node: FakeChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_is_interactive", lambda: True)
    node.balance = 10**17
    result = quietswap(*SWAP, input="y\n")
    assert result.exit_code == 1
    assert "the wallet holds 0.1 WETH, the swap needs 1 WETH" in result.stdout
    assert "Sign and submit?" not in result.output


def test_relay_settings_that_cannot_be_read(
    quietswap: Quietswap, service: FakeService, approved: FakeChain
) -> None:
    """They are sent back with the signed bytes as they came."""
    body = response_quotes.swap_quote_response(swap_quote())
    body["mevProtection"]["providerMetadata"]["mevRelayMetadata"] = []
    service.next("quote", ok(body))
    result = quietswap(*SWAP, "--yes")
    assert result.exit_code == 0, result.output
    assert "; its settings cannot be read." in " ".join(result.stdout.split())
    assert service.bodies("order")[0]["providerMetadata"]["mevRelayMetadata"] == []


@pytest.mark.parametrize(
    ("quoted", "counted", "says"),
    [(7, 7, "nonce      7\n"), (7, 9, "7: used already"), (7, 5, "7: waits for 2 still open")],
)
def test_a_nonce_that_is_strange_is_refused_or_shown(
    quietswap: Quietswap,
    service: FakeService,
    approved: FakeChain,
    monkeypatch: pytest.MonkeyPatch,
    quoted: int,
    counted: int,
    says: str,
) -> None:
    monkeypatch.setattr(QuietswapClient.__init__, "__kwdefaults__", waiting(Time()))
    approved.nonce = counted
    result = quietswap(*SWAP, "--yes")
    assert result.exit_code == int(quoted != counted)
    assert len(service.bodies("order")) == int(quoted == counted)
    lines = quietswap(*SWAP, "--yes", "--any-nonce").stdout.splitlines()
    assert says in "\n".join(line.rstrip() for line in lines)


def test_an_approval_takes_the_first_nonce(quietswap: Quietswap, node: FakeChain) -> None:
    assert "from 7: first for the approval, then for the swap" in quietswap(*SWAP, "--yes").stdout


@pytest.mark.parametrize(
    ("fresh", "says"),
    [
        ({"target": "0x6A000F20005980200259B80c5102003040001068"}, "Another source is best now"),
        ({"min_buy_amount": 2_984_900_000}, "The market moved"),
    ],
)
def test_a_fresh_quote_that_differs_is_asked_about(
    quietswap: Quietswap,
    service: FakeService,
    node: FakeChain,
    monkeypatch: pytest.MonkeyPatch,
    fresh: dict[str, Any],
    says: str,
) -> None:
    monkeypatch.setattr(connection, "_is_interactive", lambda: True)
    quotes = [swap_quote(), swap_quote(**fresh)]
    service.next("quote", *(ok(response_quotes.swap_quote_response(quote)) for quote in quotes))
    result = quietswap(*SWAP, input="y\nn\n")
    assert result.exit_code == 1
    assert says in result.stdout
    assert service.bodies("order") == []
    service.next("quote", *(ok(response_quotes.swap_quote_response(quote)) for quote in quotes))
    node.allowances.clear()
    assert quietswap(*SWAP, "--yes").exit_code == 0  # as good as what was agreed


def test_a_server_that_falls_silent_leaves_a_way_back(
    quietswap: Quietswap,
    service: FakeService,
    outside: FakeServers,
    approved: FakeChain,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    time = Time()
    monkeypatch.setattr(QuietswapClient.__init__, "__kwdefaults__", waiting(time))
    service.mines = lambda _: None
    service.next("status", *[Reply(b"", 502)] * 60)
    result = quietswap(*SWAP, "--yes", "--url", outside.url)
    assert result.exit_code == 4
    assert f"quietswap history --order ord_1 --follow --url {outside.url}" in result.stdout
    assert result.stdout.count("HTTP 502 from a gateway before the service; trying again") == 1


def test_no_success_where_the_node_shows_nothing(
    quietswap: Quietswap, approved: FakeChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QuietswapClient.__init__, "__kwdefaults__", waiting(Time()))
    approved.forgets = True
    result = quietswap(*SWAP, "--yes")
    assert result.exit_code == 4, result.output
    assert "confirmed, but your own node cannot show it" in result.stdout


def test_prices_that_are_unknown_are_no_zeros(
    quietswap: Quietswap, service: FakeService, approved: FakeChain
) -> None:
    unknown = swap_quote(
        net_value_usd=None, gas_cost_usd=None, protection_usd=Decimal(0), threat_known=False
    )
    service.next("quote", ok(response_quotes.swap_quote_response(unknown)))
    text = quietswap("quote", "1", "WETH", "USDC").stdout
    assert "$0.00" not in text
    assert "net –, gas – for 210,000 units" in text
    assert "unknown, at most MEDIUM: the price or the price impact is unknown" in " ".join(
        text.split()
    )


@pytest.mark.parametrize("width", [40, 60])
def test_a_narrow_screen_cuts_no_figure(
    quietswap: Quietswap, environment: dict[str, str | None], width: int
) -> None:
    environment["COLUMNS"] = str(width)
    for words in (("quote", "1", "WETH", "USDC"), ("history",)):
        text = quietswap(*words).stdout
        assert "…\n" not in text
        assert "3,000" in text
        assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("endpoint", ["order", "status", "wrap order"])
def test_another_transaction_than_the_one_signed(
    quietswap: Quietswap, service: FakeService, approved: FakeChain, endpoint: str
) -> None:
    service.lies[endpoint] = LIE
    words = ("wrap", "2", "--yes") if endpoint == "wrap order" else (*SWAP, "--yes")
    result = quietswap(*words, "--json")
    assert result.exit_code == 4
    answer = json.loads(result.stdout)
    assert (answer["ok"], answer["error"]) == (False, "OtherTransaction")
    assert f"speaks of transaction {LIE}, not of {service.tx_hash}" in answer["message"]
    assert "What your own node says counts. Do not trust this service" in " ".join(
        result.stderr.split()
    )
    assert "the order may still be mined" not in result.stderr
    assert "confirmed" not in result.stderr


@pytest.mark.parametrize(
    ("status", "reverts", "says"),
    [
        (
            OrderStatus.FAILED,
            False,
            "mined and succeeded: the chain is right, the swap took place, do",
        ),
        (OrderStatus.CANCELLED, False, "the swap took place, do not swap again"),
        (
            OrderStatus.CONFIRMED,
            True,
            "mined and reverted: the chain is right, nothing was swapped",
        ),
    ],
)
def test_an_end_that_the_callers_node_contradicts(
    quietswap: Quietswap,
    service: FakeService,
    approved: FakeChain,
    status: OrderStatus,
    reverts: bool,
    says: str,
) -> None:
    approved.reverts = reverts
    service.next("status", at(status))
    result = quietswap(*SWAP, "--yes", "--json")
    assert result.exit_code == (1 if reverts else 4)
    answer = json.loads(result.stdout)
    assert (answer["ok"], answer["error"]) == (False, "Contradicted")
    assert f"order ord_1 is {status}, but your own node says" in answer["message"]
    assert service.tx_hash in answer["message"]
    assert says in answer["message"]
    said = " ".join(result.stderr.split())
    assert "What your own node says counts. Do not trust this service" in said
    assert "the order may still be mined" not in said


FOREIGN = "0x1111111254EEB25477B68fb85Ed929f73A960582"


def test_a_foreign_router_is_neither_approved_nor_called(
    quietswap: Quietswap, service: FakeService, node: FakeChain
) -> None:
    service.next("quote", ok(response_quotes.swap_quote_response(swap_quote(target=FOREIGN))))
    node.delivers = 2_985_000_000
    result = quietswap(*SWAP, "--yes", "--approve", "max")
    assert result.exit_code == 1
    assert f"{FOREIGN} is not a router known here" in result.stdout
    assert (node.sent, service.bodies("order")) == ([], [])


@pytest.mark.parametrize(("floor", "code"), [("2985", 0), ("2985.000001", 1)])
def test_a_floor_of_the_traders_own(
    quietswap: Quietswap, service: FakeService, approved: FakeChain, floor: str, code: int
) -> None:
    result = quietswap(*SWAP, "--yes", "--at-least", floor)
    assert result.exit_code == code
    assert len(service.bodies("order")) == 1 - code
    assert (f"it could deliver less than {float(floor):,} USDC" in result.stdout) is bool(code)


def test_another_nonce_of_the_service_is_asked_about(
    quietswap: Quietswap, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a node only the service tells the nonce: an earlier one cancels an open order."""
    time = Time()
    monkeypatch.setattr(connection, "_is_interactive", lambda: True)
    monkeypatch.setattr(QuietswapClient.__init__, "__kwdefaults__", waiting(time))
    asked: list[str] = []

    def slow(question: str, *, skip: bool) -> bool:
        asked.append(question)
        time.sleep(25)
        return len(asked) == 1

    monkeypatch.setattr("quietswap.cli.flows.signing.confirm", slow)
    plain = swap_quote()
    quotes = [plain, structs.replace(plain, params=replace(plain.params, nonce=3))]
    service.next("quote", *(ok(response_quotes.swap_quote_response(quote)) for quote in quotes))
    result = quietswap(*SWAP, "--rpc-url", "")
    assert result.exit_code == 1, result.output
    assert "The service names another nonce" in result.stdout
    assert len(asked) == 2
    assert service.bodies("order") == []
