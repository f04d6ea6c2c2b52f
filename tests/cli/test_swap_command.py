"""`quietswap swap`: what is shown, what is asked, what is signed, how it ends."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from eth_account import Account

from quietswap.cli.options import connection
from quietswap.rules import errors
from quietswap.rules.chain.pool_reference import Reference
from quietswap.rules.orders.order import Failure, FailureCode, OrderStatus
from quietswap.rules.tokens.token import WETH
from tests.api.scripted_use_cases import ROUTER
from tests.cli.conftest import KEY, Quietswap
from tests.client.fake_chain import FakeChain, transfer
from tests.client.fake_servers import ETHER, WALLET, FakeService, ok, placed, refused, swap_quote
from tests.client.test_nonces import NONCE, history
from tests.client.test_polling import at
from tests.client.test_swap_safety import change
from tests.response_json import orders as response_orders
from tests.response_json import quotes
from tests.stored_orders import USDC, inclusion, recorded

SWAP = ("swap", "1", "WETH", "USDC", "--poll", "0.2")


@pytest.fixture
def approved(node: FakeChain) -> FakeChain:
    node.allowances[ROUTER.lower()] = ETHER
    node.logs = [transfer(USDC, ROUTER, WALLET, 2_994_000_000)]
    return node


def test_shows_compares_signs_and_follows(
    quietswap: Quietswap, service: FakeService, approved: FakeChain
) -> None:
    service.next("status", at(OrderStatus.PENDING), at(OrderStatus.MINING))
    result = quietswap(*SWAP, "--yes")
    assert result.exit_code == 0, result.output
    text = result.stdout
    for expected in (
        "kyberswap",
        "$2,999.12",
        "timed out: no answer in time",
        "at least   2,985 USDC",
        "verified by simulation",
        "MEDIUM: sent publicly it could lose up to $15.00",
        f"{ROUTER} (router of kyberswap)",
        "at most 0.001575 ETH: 262,500 gas at 6 gwei, tip 0",
        f"tx {service.tx_hash}",
        "received   2,994 USDC",
        "promised   3,000 USDC (-0.20 %)",
        "minimum    2,985 USDC",
    ):
        assert expected in text, expected
    states = [line.split()[2] for line in text.splitlines() if line.strip()[:1].isdigit()]
    assert states[-5:] == ["submitted", "pending", "mining", "the", "confirmed"]
    assert "the service reports confirmed\n" in text


def test_the_price_of_the_pools_is_the_service_s_word(
    quietswap: Quietswap, service: FakeService, approved: FakeChain
) -> None:
    block = inclusion(received=2_994 * 10**6, reference=Reference(3_000 * 10**6, ETHER))
    order = replace(placed(OrderStatus.CONFIRMED), inclusion=block)
    service.next("status", ok(response_orders.order_status_response(recorded(order))))
    text = quietswap(*SWAP, "--yes").stdout
    assert "against the pools  -0.20 % of their price, as the service reports" in text


def test_fits_eighty_columns_without_colour(quietswap: Quietswap, approved: FakeChain) -> None:
    text = quietswap(*SWAP, "--yes").stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text


def test_json_is_all_there_is_on_stdout(
    quietswap: Quietswap, service: FakeService, approved: FakeChain
) -> None:
    result = quietswap(*SWAP, "--yes", "--json")
    answer = json.loads(result.stdout)
    assert result.stdout.count("\n") == 1
    assert (answer["ok"], answer["order"]["status"]) == (True, "confirmed")
    assert (answer["received"], answer["promised"], answer["minimum"]) == (
        "2994000000",
        "3000000000",
        "2985000000",
    )
    assert answer["quote"]["source"] == "kyberswap"
    assert "kyberswap" in result.stderr


@pytest.mark.parametrize(("mode", "amount"), [("exact", ETHER), ("max", 2**256 - 1)])
def test_approves_when_the_allowance_is_short(
    quietswap: Quietswap, node: FakeChain, mode: str, amount: int
) -> None:
    result = quietswap(*SWAP, "--yes", "--approve", mode)
    assert result.exit_code == 0, result.output
    assert node.allowances == {ROUTER.lower(): amount}
    assert "first, publicly: 0x6131…37b5 may move" in result.stdout
    assert "approved" in result.stdout


RECEIVE = ("swap", "WETH", "USDC", "--receive", "2985", "--poll", "0.2")


def test_sells_the_least_for_what_must_arrive(
    quietswap: Quietswap, service: FakeService, node: FakeChain
) -> None:
    """The approval is of the most to sell: the quote after it may need a little more."""
    result = quietswap(*RECEIVE, "--max-sell", "1.02", "--yes")
    assert result.exit_code == 0, result.output
    quotes = [each.query for each in service.asked if each.path.endswith("/quote")]
    assert [each.get("minBuyAmount") for each in quotes] == ["2985000000"] * 2
    assert node.allowances == {ROUTER.lower(): 102 * ETHER // 100}
    assert "may move 1.02 WETH" in result.stdout


def test_sells_no_more_than_was_allowed(
    quietswap: Quietswap, service: FakeService, approved: FakeChain
) -> None:
    result = quietswap(*RECEIVE, "--max-sell", "0.99", "--yes")
    assert result.exit_code == 1
    assert "it sells 1 WETH, more than 0.99 WETH: not signed" in " ".join(result.output.split())
    assert service.bodies("order") == []


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("swap", "WETH", "USDC"), "Missing argument 'BUY'"),
        (("swap", "1", "WETH", "USDC", "--receive", "5"), "--receive takes the place of AMOUNT"),
        (RECEIVE, "--receive needs --max-sell AMOUNT"),
        ((*RECEIVE, "--max-sell", "1", "--at-least", "3"), "leave --at-least out"),
        (("swap", "1", "WETH", "USDC", "--max-sell", "1"), "--max-sell is for --receive"),
        ((*RECEIVE, "--max-sell", "1 ETH"), "--max-sell: "),
        (("quote", "WETH", "USDC", "--receive", "0"), "--receive: the amount must be greater"),
    ],
)
def test_what_must_arrive_is_asked_for_with_its_limit(
    quietswap: Quietswap, service: FakeService, words: tuple[str, ...], why: str
) -> None:
    result = quietswap(*words)
    assert result.exit_code == 2
    assert why in " ".join(result.output.split())
    assert service.asked == []


def test_the_fee_includes_the_approvals_gas(quietswap: Quietswap, node: FakeChain) -> None:
    """48,000 gas and a quarter, at twice the base fee and the tip, beside the swap's own."""
    cost = 60_000 * (2 * node.base_fee + 10**9)
    total = Decimal(262_500 * 6 * 10**9 + cost).scaleb(-18).normalize()
    text = " ".join(quietswap(*SWAP, "--yes").stdout.split())
    assert f"at most {total:f} ETH: 262,500 gas at 6 gwei, tip 0" in text
    assert f"and {Decimal(cost).scaleb(-18).normalize():f} ETH to approve" in text


def test_the_fee_of_a_reset_is_included(quietswap: Quietswap, node: FakeChain) -> None:
    """USDT's kind: to zero first, then from zero, with the gas that Amsterdam asks for."""
    node.allowances[ROUTER.lower()], node.resets_first = 1, True
    cost = (60_000 + (60_000 + 17_100 + 88_000) * 5 // 4) * (2 * node.base_fee + 10**9)
    text = " ".join(quietswap(*SWAP, "--yes").stdout.split())
    shown = text.split(" ETH to approve")[0].rsplit(" ", 1)[1]
    assert 0 <= Decimal(shown) * 10**18 - cost < 10**12


@pytest.mark.parametrize("allowance", [0, 1])
def test_as_many_transactions_are_asked_about_as_are_signed(
    quietswap: Quietswap, service: FakeService, node: FakeChain, allowance: int
) -> None:
    """USDT's kind resets what is left of an allowance first."""
    node.allowances[ROUTER.lower()], node.resets_first = allowance, True
    text = " ".join(quietswap(*SWAP, "--yes").stdout.split())
    count = "the approval" if allowance == 0 else "2 approvals"
    assert f"from 7: first for {count}, then for the swap" in text
    assert ("in 2 transactions, as the token first resets it to 0" in text) == bool(allowance)
    assert len(node.sent) + len(service.bodies("order")) == (2 if allowance == 0 else 3)


def test_approve_never_signs_nothing_where_the_allowance_is_short(
    quietswap: Quietswap, service: FakeService, node: FakeChain
) -> None:
    result = quietswap(*SWAP, "--yes", "--approve", "never")
    assert result.exit_code == 1
    assert f"{ROUTER} may move 0 WETH of 1 WETH, and --approve is never" in result.stdout
    raw = quietswap(
        *SWAP[:1], "1000000000000000000", *SWAP[2:], "--yes", "--raw", "--approve", "never"
    )
    assert "may move 0 of 1000000000000000000 smallest units" in raw.stdout
    assert (node.sent, service.bodies("order")) == ([], [])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--approve", "never"), "--approve is never"),
        (("--nonce", "7"), "only nonce 7 may be signed"),
        ((), "order ord_1 is open, and the approval"),
    ],
)
def test_an_approval_that_is_not_allowed_is_refused_before_asking(
    quietswap: Quietswap,
    service: FakeService,
    node: FakeChain,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    says: str,
) -> None:
    monkeypatch.setattr(connection, "_is_interactive", lambda: True)
    service.next("history", *[history(OrderStatus.MINING)] * 2)
    result = quietswap(*SWAP, *options, input="y\n")
    assert result.exit_code == 1
    assert says in " ".join(result.stdout.split())
    assert "Sign and submit?" not in result.output
    assert node.sent == []


@pytest.mark.parametrize(
    "words", [SWAP, ("wrap", "0.25"), ("unwrap", "0.25"), ("cancel", "ord_1", "--nonce", "7")]
)
def test_without_a_terminal_no_quote_is_asked_for(
    quietswap: Quietswap, service: FakeService, approved: FakeChain, words: tuple[str, ...]
) -> None:
    result = quietswap(*words)
    assert result.exit_code == 2
    assert "give --yes" in result.stderr
    assert [call for call in service.asked if call.path.endswith(("/quote", "/cancel"))] == []


@pytest.mark.parametrize(("answer", "code", "orders"), [("y\n", 0, 1), ("n\n", 1, 0), ("", 1, 0)])
def test_asks_before_it_signs(
    quietswap: Quietswap,
    service: FakeService,
    approved: FakeChain,
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    code: int,
    orders: int,
) -> None:
    monkeypatch.setattr(connection, "_is_interactive", lambda: True)
    result = quietswap(*SWAP, input=answer)
    assert result.exit_code == code
    assert len(service.bodies("order")) == orders


def test_a_worse_quote_after_the_approval_is_not_signed(
    quietswap: Quietswap, service: FakeService, node: FakeChain
) -> None:
    plain = swap_quote()
    worse = swap_quote(buy_amount=2_000_000_000, min_buy_amount=1_990_000_000)
    service.next(
        "quote", ok(quotes.swap_quote_response(plain)), ok(quotes.swap_quote_response(worse))
    )
    result = quietswap(*SWAP, "--yes")
    assert result.exit_code == 1
    assert "this quote is worse" in result.stdout
    assert service.bodies("order") == []


def test_a_swap_behind_one_that_only_this_machine_knows(
    quietswap: Quietswap,
    service: FakeService,
    approved: FakeChain,
    environment: dict[str, str | None],
    tmp_path: Path,
) -> None:
    """A service that lists no open order may have lost one, or hide it."""
    environment["XDG_STATE_HOME"] = str(tmp_path)
    assert quietswap(*SWAP, "--yes").exit_code == 0
    [line] = (tmp_path / "quietswap" / "orders.jsonl").read_bytes().splitlines()
    sent = json.loads(line)
    assert (sent["sell_token"], sent["sell_amount"], sent["nonce"]) == (WETH, ETHER, 7)
    service.next("quote", ok(change(NONCE, 8)))
    result = quietswap(*SWAP, "--yes", "--nonce", "8")
    assert result.exit_code == 1
    assert f"open orders with lower nonces sell {ETHER} of them" in " ".join(result.output.split())
    assert len(service.bodies("order")) == 1


def test_a_failed_order(quietswap: Quietswap, service: FakeService, approved: FakeChain) -> None:
    failure = Failure(FailureCode.REVERTED, "the swap reverted")
    failed = placed(OrderStatus.FAILED, failure=failure)
    approved.reverts = True
    service.next("status", ok(response_orders.order_status_response(recorded(failed))))
    result = quietswap(*SWAP, "--yes")
    assert result.exit_code == 1
    assert "REVERTED: the swap reverted" in result.stdout


def test_ctrl_c_leaves_the_order(
    quietswap: Quietswap,
    service: FakeService,
    approved: FakeChain,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from quietswap.client.flows.effects import Sleep
    from quietswap.client.transports import SyncTransport

    usual = SyncTransport.perform

    def interrupted(self: SyncTransport, effect: object) -> object:
        if isinstance(effect, Sleep):
            raise KeyboardInterrupt
        return usual(self, effect)

    monkeypatch.setattr(SyncTransport, "perform", interrupted)
    service.next("status", at(OrderStatus.MINING))
    result = quietswap(*SWAP, "--yes")
    assert result.exit_code == 4
    assert "the order may still be mined" in result.stdout
    assert "quietswap history --order ord_1 --follow" in result.stdout


@pytest.mark.parametrize("json_flag", [[], ["--json"]])
def test_a_refusal_names_code_and_suggestion(
    quietswap: Quietswap, service: FakeService, json_flag: list[str]
) -> None:
    error = errors.ValidationError("differs", [{"field": "to", "expected": "a", "provided": "b"}])
    service.next("quote", refused(error))
    result = quietswap(*SWAP, "--yes", *json_flag)
    assert result.exit_code == 1
    people = result.stderr if json_flag else result.stdout
    assert "VALIDATION_ERROR: differs" in people
    assert "to: expected a, provided b" in people
    assert "Request a fresh quote" in people
    if json_flag:
        answer = json.loads(result.stdout)
        assert (answer["ok"], answer["error"]) == (False, "VALIDATION_ERROR")
        assert answer["details"]["fields"][0]["field"] == "to"


def test_an_unreachable_service(quietswap: Quietswap, environment: dict[str, str | None]) -> None:
    environment["QUIETSWAP_URL"] = "http://127.0.0.1:1"
    result = quietswap(*SWAP, "--yes", "--json")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["error"] == "Unreachable"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("0", "WETH", "USDC"), "greater than zero"),
        (("x", "WETH", "USDC"), "not an amount"),
        (("1e3", "WETH", "USDC"), "not an amount"),
        (("1_000", "WETH", "USDC"), "not an amount"),
        (("٣", "WETH", "USDC"), "not an amount"),
        (("1,5", "WETH", "USDC"), "not an amount"),
        (("1.0000001", "USDC", "WETH"), "USDC has 6"),
        (("1", "NOPE", "USDC"), "neither WETH"),
        (("1", WALLET[:-1] + "7", "USDC"), "checksum"),
        (("1.5", "WETH", "USDC", "--raw"), "smallest units are whole"),
    ],
)
def test_usage(quietswap: Quietswap, words: tuple[str, ...], says: str) -> None:
    result = quietswap("swap", *words, "--yes")
    assert result.exit_code == 2
    assert says in result.stderr


def test_raw_amounts_in_and_out(
    quietswap: Quietswap, service: FakeService, approved: FakeChain
) -> None:
    result = quietswap("swap", str(ETHER), "WETH", "USDC", "--raw", "--yes", "--poll", "0.2")
    assert result.exit_code == 0, result.output
    assert service.asked[1].query["sellAmount"] == str(ETHER)
    assert "received   2994000000 USDC" in result.stdout


def test_secrets_are_never_shown(quietswap: Quietswap, approved: FakeChain) -> None:
    result = quietswap(*SWAP, "--yes")
    helped = quietswap("swap", "--help")
    for secret in (KEY, KEY[2:], "qs_right", "/rpc/secret"):
        assert secret not in result.output
        assert secret not in helped.output


def test_signed_by_the_wallet(
    quietswap: Quietswap, service: FakeService, approved: FakeChain
) -> None:
    quietswap(*SWAP, "--yes")
    (body,) = service.bodies("order")
    assert Account.recover_transaction(body["signedTransaction"]) == WALLET
    assert body["orderParams"]["userAddress"] == WALLET


def test_without_a_node_it_says_what_it_cannot_do(
    quietswap: Quietswap, service: FakeService, environment: dict[str, str | None]
) -> None:
    environment["QUIETSWAP_RPC_URL"] = None
    result = quietswap(*SWAP, "--yes", "--at-least", "2985")
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert "approve the router yourself; nonce, fee, price, output and receipt" in said
    assert "at least the minimum, reported by the service; --rpc-url" in said
