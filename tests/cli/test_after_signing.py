"""What a command says and ends with once signed bytes are out, and what `--yes` compares."""

import json
import shlex
from typing import Any

import pytest

from quietswap.cli.options import connection
from quietswap.client import QuietswapClient
from quietswap.rules import errors
from quietswap.rules.orders.order import Failure, FailureCode, OrderStatus
from quietswap.rules.routers.feeds import REFERENCE_FEEDS
from tests.cli.conftest import Quietswap
from tests.cli.test_finality import DO_NOT_REPEAT
from tests.cli.test_swap_command import SWAP, approved
from tests.cli.test_swap_oddities import waiting
from tests.client.conftest import Time
from tests.client.fake_chain import FakeChain
from tests.client.fake_servers import (
    ETHER,
    WALLET,
    FakeServers,
    FakeService,
    Reply,
    ok,
    placed,
    refused,
    swap_quote,
)
from tests.client.test_after_signing import mined, replaced, reverted, said, silent
from tests.client.test_nonces import history
from tests.client.test_reference_price import below
from tests.client.test_swap_flow import REQUEST
from tests.client.test_swap_safety import FOREIGN
from tests.client.test_transaction_hash_mismatch import status
from tests.client.test_unbound import UNREADABLE, unproven
from tests.response_json import orders, quotes
from tests.stored_orders import recorded

__all__ = ["approved"]

RELAY = said("PROVIDER_UNAVAILABLE", 503, orderId="ord_5", txHash="0x1", mayBeMined=True)


@pytest.fixture(autouse=True)
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    """Let no command really wait."""
    time = Time()
    monkeypatch.setattr(QuietswapClient.__init__, "__kwdefaults__", waiting(time))
    return time


@pytest.mark.parametrize(
    ("fate", "code", "error", "says"),
    [
        (silent, 4, "MayBeMined", "may still be mined as long as nonce 7 is unused"),
        (mined, 4, "MinedAnyway", DO_NOT_REPEAT),
        (reverted, 1, "NeverMined", "another try is safe"),
        (replaced, 1, "NeverMined", "another try is safe"),
    ],
)
def test_a_relay_that_refuses_and_may_mine_all_the_same(
    quietswap: Quietswap,
    service: FakeService,
    approved: FakeChain,
    fate: Any,
    code: int,
    error: str,
    says: str,
) -> None:
    fate(approved, service)
    service.next("order", RELAY)
    result = quietswap(*SWAP, "--yes", "--json")
    assert result.exit_code == code, result.output
    answer = json.loads(result.stdout)
    assert (answer["ok"], answer["error"], answer["cause"]) == (
        False,
        error,
        "PROVIDER_UNAVAILABLE",
    )
    assert (answer["orderId"], answer["txHash"]) == ("ord_5", service.tx_hash)
    assert answer["nonce"] == 7
    text = " ".join(result.stderr.split())
    assert says in text
    assert "watching your node for 60 s" in text
    assert ("quietswap swap 1 WETH USDC --nonce 7" in text) is (error == "MayBeMined")
    assert ("quietswap history --order ord_5 --follow" in text) is (error == "MayBeMined")


def test_an_order_that_was_not_sent_ends_once_its_nonce_is_used(
    quietswap: Quietswap, service: FakeService, approved: FakeChain
) -> None:
    """The own node shows it for what was signed here, though the service never sent it."""
    silent(approved, service)
    service.next("order", said("PROVIDER_UNAVAILABLE", 503, reason="NOT_SENT", orderId="ord_5"))
    assert quietswap(*SWAP, "--yes").exit_code == 4
    unsent = Failure(FailureCode.NOT_SENT, "the relay could not be reached; nothing was sent")
    record = placed(OrderStatus.FAILED, order_id="ord_5", tx_hash=service.tx_hash, failure=unsent)
    service.next("status", *[ok(orders.order_status_response(recorded(record)))] * 2)
    follow = ("history", "--order", "ord_5", "--follow", "--poll", "0.2")
    result = quietswap(*follow)
    text = " ".join(result.output.split())
    assert result.exit_code == 4, text
    assert "if it was sent all the same, it may still be mined" in text
    approved.nonce, approved.replaced_in = 8, approved.head - 5
    result = quietswap(*follow)
    text = " ".join(result.output.split())
    assert result.exit_code == 1, text
    assert "your own node shows that another transaction used its nonce" in text
    assert "may still be mined" not in text
    assert "history --order" not in text


def test_the_printed_command_swaps_once(
    quietswap: Quietswap, service: FakeService, approved: FakeChain
) -> None:
    """The first is mined in between: the same nonce is refused, so nothing is paid twice."""
    silent(approved, service)
    service.next("order", RELAY)
    text = quietswap(*SWAP, "--yes").stdout
    again = next(line.split()[1:] for line in text.splitlines() if "quietswap swap" in line)
    assert again == ["swap", "1", "WETH", "USDC", "--nonce", "7"]
    approved.nonce = 8
    approved.mine(service.tx_hash)
    quote = quotes.swap_quote_response(swap_quote())
    quote["mevProtection"]["transactionParams"]["nonce"] = 8
    service.next("quote", ok(quote))
    result = quietswap(*again, "--yes")
    assert (result.exit_code, len(service.bodies("order"))) == (1, 1)
    assert "the quote has nonce 8, you asked for 7" in result.stdout


def test_the_printed_command_asks_for_the_same_minimum(
    quietswap: Quietswap, service: FakeService, approved: FakeChain
) -> None:
    silent(approved, service)
    service.next("order", RELAY)
    minimum = ("--receive", "2985", "--max-sell", "1")
    text = quietswap("swap", "WETH", "USDC", *minimum, "--yes").stdout
    (again,) = (line.split() for line in text.splitlines() if "quietswap swap" in line)
    assert again[:6] == ["quietswap", "swap", "WETH", "USDC", "--nonce", "7"]
    assert again[6:] == list(minimum)


def test_the_printed_command_means_the_same(
    quietswap: Quietswap, service: FakeService, approved: FakeChain, outside: FakeServers
) -> None:
    """Above all it keeps the unit of the amount; and it holds no secret."""
    silent(approved, service)
    service.next("order", RELAY)
    words = ("swap", str(ETHER), "WETH", "USDC", "--raw", "--slippage-bps", "60", "--yes")
    more = ("--wallet", WALLET, "--max-loss", "4.5")
    secret = ("--url", outside.url, "--rpc-url", outside.rpc_url, "--api-key", "qs_right")
    text = quietswap(*words, *more, *secret).stdout
    (again,) = (shlex.split(line) for line in text.splitlines() if "quietswap swap" in line)
    assert again[:7] == ["quietswap", "swap", str(ETHER), "WETH", "USDC", "--nonce", "7"]
    assert set(again[7:]) == {*words[4:7], *more, "--url", outside.url}
    missing = "(give --api-key and --rpc-url again, too: what may be secret is not repeated)"
    assert missing in " ".join(text.split())


@pytest.mark.parametrize("operation", ["wrap", "unwrap"])
def test_a_wrap_that_may_be_mined(
    quietswap: Quietswap, service: FakeService, approved: FakeChain, operation: str
) -> None:
    silent(approved, service)
    service.next("wrap order", refused(errors.ProviderUnavailable("execution reverted")))
    result = quietswap(operation, "0.25", "--yes")
    assert result.exit_code == 4
    text = " ".join(result.stdout.split())
    assert f"quietswap {operation} 0.25 --nonce 7" in text
    assert "may still be mined as long as nonce 7 is unused" in text


@pytest.mark.parametrize(
    ("name", "code"), [(OrderStatus.CANCELLED, FailureCode.EXPIRED), (OrderStatus.FAILED, None)]
)
def test_what_is_called_off_may_be_mined(
    quietswap: Quietswap, service: FakeService, approved: FakeChain, name: OrderStatus, code: Any
) -> None:
    silent(approved, service)
    failure = Failure(code, "no block took it in time") if code else None
    service.next("status", status(name, failure=failure))
    result = quietswap(*SWAP, "--yes")
    assert result.exit_code == 4
    text = " ".join(result.stdout.split())
    assert "will not happen" not in text
    assert "it may still be mined" in text
    assert "quietswap swap 1 WETH USDC --nonce 7" in text
    if code:
        assert "EXPIRED: no block took it in time; it may still be mined until its nonce is" in text


@pytest.mark.parametrize("fate", [reverted, replaced])
def test_what_the_chain_called_off_is_over(
    quietswap: Quietswap, service: FakeService, approved: FakeChain, fate: Any
) -> None:
    fate(approved, service)
    service.next("status", status(OrderStatus.FAILED))
    result = quietswap(*SWAP, "--yes")
    assert result.exit_code == 1
    assert "another swap is safe" in result.stdout
    assert "--nonce" not in result.stdout


def test_less_than_the_minimum_is_no_success(
    quietswap: Quietswap, service: FakeService, approved: FakeChain
) -> None:
    approved.logs = []
    result = quietswap(*SWAP, "--yes", "--json")
    assert result.exit_code == 5
    answer = json.loads(result.stdout)
    assert (answer["ok"], answer["received"], answer["fate"]) == (False, "0", "mined")
    assert "less than the minimum arrived" in result.stderr


def test_yes_needs_a_price_of_the_callers_own(
    quietswap: Quietswap,
    service: FakeService,
    approved: FakeChain,
    environment: dict[str, str | None],
) -> None:
    approved.prices.clear()
    result = quietswap(*SWAP, "--yes")
    assert (result.exit_code, "--at-least" in result.stdout) == (1, True)
    environment["QUIETSWAP_RPC_URL"] = None
    result = quietswap(*SWAP, "--yes")
    assert (result.exit_code, "give --at-least AMOUNT" in result.stderr) == (2, True)
    assert service.bodies("order") == []
    assert quietswap(*SWAP, "--yes", "--at-least", "2985").exit_code == 0


@pytest.mark.parametrize(
    ("options", "percent", "code"),
    [
        ((), 2, 0),
        ((), 4, 1),
        (("--max-impact", "5"), 4, 0),
        (("--max-impact", "0.5"), 2, 1),
        (("--at-least", "1"), 2, 0),
        (("--at-least", "1", "--max-impact", "3"), 4, 1),
    ],
)
def test_yes_compares_with_chainlink(
    quietswap: Quietswap,
    service: FakeService,
    approved: FakeChain,
    options: tuple[str, ...],
    percent: int,
    code: int,
) -> None:
    approved.logs[0]["data"] = f"0x{3 * 10**9:064x}"
    service.next("quote", ok(below(percent)))
    result = quietswap(*SWAP, "--yes", *options)
    assert result.exit_code == code, result.output
    text = " ".join(result.stdout.split())
    assert f"reference 3,000 USDC by Chainlink at your node; this is {percent}.00 % below" in text
    assert len(service.bodies("order")) == 1 - code
    if code:
        assert "allow more with --max-impact" in text


def test_a_person_sees_the_comparison_and_decides(
    quietswap: Quietswap,
    service: FakeService,
    approved: FakeChain,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "_is_interactive", lambda: True)
    service.next("quote", ok(below(50)))
    result = quietswap(*SWAP, input="n\n")
    assert "this is 50.00 % below" in " ".join(result.stdout.split())
    assert service.bodies("order") == []
    approved.prices = {REFERENCE_FEEDS[REQUEST.sell_token].address: 3000}  # type: ignore[index]
    result = quietswap(*SWAP, input="y\n")
    assert result.exit_code == 0
    assert "Chainlink" not in result.stdout


@pytest.mark.parametrize(
    "reply",
    [ok(quotes.swap_quote_response(swap_quote(data=UNREADABLE))), unproven(bound=False)],
)
def test_what_a_router_could_bind_has_no_way_around_it(
    quietswap: Quietswap, service: FakeService, approved: FakeChain, reply: Reply
) -> None:
    approved.delivers = 2_985_000_000
    service.next("quote", reply)
    result = quietswap(*SWAP, "--yes")
    assert result.exit_code == 1
    assert "Nothing was signed" in " ".join(result.stdout.split())
    service.next("quote", reply)
    shown = "no router is proven to enforce" in quietswap("quote", "1", "WETH", "USDC").stdout
    assert shown is (reply.body["data"]["verification"].get("bound") is False)


@pytest.mark.parametrize("gone", [("--accept-unbound",), ("--router", FOREIGN)])
def test_an_option_that_signed_without_a_proof_was_removed(
    quietswap: Quietswap, service: FakeService, approved: FakeChain, gone: tuple[str, ...]
) -> None:
    result = quietswap(*SWAP, "--yes", *gone)
    text = " ".join(result.output.split())
    assert (result.exit_code, service.bodies("order")) == (2, [])
    assert f"{gone[0]} was removed: only calldata whose router is proven to enforce" in text
    assert gone[0] not in quietswap("swap", "--help").output


def test_an_approval_beside_an_open_order(
    quietswap: Quietswap, service: FakeService, node: FakeChain
) -> None:
    service.next("history", *[history(OrderStatus.MINING)] * 2)
    result = quietswap(*SWAP, "--yes")
    text = " ".join(result.stdout.split())
    assert (result.exit_code, node.sent) == (1, [])
    assert "order ord_1 is open, and the approval" in text
    assert "--replace" in text
    service.next("history", history(OrderStatus.MINING))
    replaces = quietswap(*SWAP, "--yes", "--replace")
    assert replaces.exit_code == 0
