"""What is said where a command leaves signed bytes behind: hash, nonce, and the way back."""

import json
from typing import Any

import pytest

from quietswap.client import QuietswapClient, api_calls
from quietswap.rules import errors
from quietswap.rules.orders.order import Failure, FailureCode, OrderStatus
from tests.cli.conftest import Quietswap
from tests.cli.test_after_signing import time
from tests.cli.test_swap_command import SWAP, approved
from tests.cli.test_swap_oddities import waiting
from tests.client.conftest import Time
from tests.client.fake_chain import FakeChain
from tests.client.fake_node import NodeSays
from tests.client.fake_servers import FakeService, Reply, ok, refused
from tests.client.silence import Silence
from tests.client.test_after_signing import said, silent
from tests.client.test_nonces import FEE, history
from tests.client.test_polling import at
from tests.client.test_swap_safety import change
from tests.client.test_transaction_hash_mismatch import LIE, status

__all__ = ["approved", "time"]


@pytest.mark.parametrize("words", [SWAP, ("wrap", "0.25")])
def test_a_fault_of_this_program_after_signing(
    quietswap: Quietswap,
    service: FakeService,
    approved: FakeChain,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
) -> None:
    """The last resort names what is out, too; before anything is signed it claims nothing."""

    usual, fails = api_calls.read_answer, ["quote"]

    def broken(call: Any, *rest: Any) -> Any:
        assert not call.path.endswith(fails[0]), "a fault of this program"
        return usual(call, *rest)

    monkeypatch.setattr("quietswap.client.transports.read_answer", broken)
    assert quietswap(*words, "--yes", "--json").exit_code == 1
    assert service.bodies("order") + service.bodies("wrap order") == []
    fails[0] = "/order" if words[0] == "wrap" else "/orders"
    result = quietswap(*words, "--yes", "--json")
    assert result.exit_code == 4, result.output
    answer = json.loads(result.stdout)
    assert (answer["error"], answer["nonce"]) == ("AssertionError", 7)
    assert answer["txHash"] == service.tx_hash
    assert f"signed: nonce 7, tx {service.tx_hash}" in result.stderr


def test_another_transaction_is_told_to_machines(
    quietswap: Quietswap, service: FakeService, approved: FakeChain
) -> None:
    silent(approved, service)
    service.lies["status"] = LIE
    result = quietswap(*SWAP, "--yes", "--json")
    assert result.exit_code == 4, result.output
    answer = json.loads(result.stdout)
    assert (answer["error"], answer["nonce"], answer["orderId"]) == ("OtherTransaction", 7, "ord_1")
    assert (answer["txHash"], answer["namedHash"]) == (service.tx_hash, LIE)
    assert answer["fate"] == "open"
    assert "quietswap cancel ord_1 --nonce 7" in result.stderr


def interrupted(monkeypatch: pytest.MonkeyPatch, time: Time) -> None:
    """Somebody presses Ctrl-C in the next pause."""

    def sleep(_: float) -> None:
        raise KeyboardInterrupt

    time.sleep = sleep  # type: ignore[method-assign]
    monkeypatch.setattr(QuietswapClient.__init__, "__kwdefaults__", waiting(time))


def test_an_interrupted_swap_keeps_hash_and_nonce(
    quietswap: Quietswap,
    service: FakeService,
    approved: FakeChain,
    monkeypatch: pytest.MonkeyPatch,
    time: Time,
) -> None:
    interrupted(monkeypatch, time)
    service.next("status", at(OrderStatus.PENDING))
    result = quietswap(*SWAP, "--yes", "--json")
    assert result.exit_code == 4, result.output
    assert json.loads(result.stdout) == {
        "ok": False,
        "error": "LEFT_OPEN",
        "message": "stopped; what was signed may still be mined",
        "orderId": "ord_1",
        "txHash": service.tx_hash,
        "nonce": 7,
    }
    assert f"signed: nonce 7, tx {service.tx_hash}" in result.stderr
    assert "quietswap cancel ord_1 --nonce 7" in result.stderr


@pytest.mark.parametrize("code", [FailureCode.REPLACED, FailureCode.EXPIRED])
def test_an_interruption_after_the_end_says_what_is_final(
    quietswap: Quietswap,
    service: FakeService,
    approved: FakeChain,
    monkeypatch: pytest.MonkeyPatch,
    time: Time,
    code: FailureCode,
) -> None:
    """The own node is still asked then: without its word the exit code stays 4."""
    interrupted(monkeypatch, time)
    silent(approved, service)
    failure = Failure(code, "another transaction used the nonce")
    service.next("status", status(OrderStatus.CANCELLED, failure=failure))
    result = quietswap(*SWAP, "--yes", "--json")
    assert result.exit_code == 4, result.output
    said, known = json.loads(result.stdout)["message"], " ".join(result.stderr.split())
    is_final = code is FailureCode.REPLACED
    for text in (said, known.split("Interrupted: ")[1].split(". To check it")[0]):
        ended = "the order ended as cancelled (REPLACED: another transaction used the nonce)"
        assert (ended in text) is is_final
        assert ("may still be mined" in text) is not is_final
    assert "quietswap cancel" not in known


@pytest.mark.parametrize(
    "words", [(*SWAP, "--yes"), ("history", "--order", "ord_1", "--follow")], ids=lambda it: it[0]
)
def test_ctrl_c_ends_a_wait_for_a_silent_stream(
    quietswap: Quietswap,
    service: FakeService,
    approved: FakeChain,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
) -> None:
    silence = Silence(service, monkeypatch)
    result = quietswap(*words, "--json", "--poll", "0.2")
    assert silence.was_left()
    assert result.exit_code == 4, result.output
    answer = json.loads(result.stdout)
    assert (answer["error"], answer["orderId"]) == ("LEFT_OPEN", "ord_1")
    assert words[0] == "history" or "nonce 7\n" in result.stderr
    assert "the order may still be mined. to check it" in result.stderr.lower()


def test_an_interruption_after_an_approval_was_signed(
    quietswap: Quietswap,
    service: FakeService,
    node: FakeChain,
    monkeypatch: pytest.MonkeyPatch,
    time: Time,
) -> None:
    """The approval is in no block yet, so it may still be mined: exit code 4, as --help says."""
    interrupted(monkeypatch, time)
    node.holds = 10
    result = quietswap(*SWAP, "--yes", "--json")
    answer = json.loads(result.stdout)
    assert (len(node.sent), service.bodies("order")) == (1, [])
    assert (result.exit_code, answer["error"]) == (4, "LEFT_OPEN")
    assert "an approval was, which may still be mined" in answer["message"]
    assert answer["txHash"] in node.receipts


def test_an_interruption_before_any_order_came_back(
    quietswap: Quietswap,
    service: FakeService,
    approved: FakeChain,
    monkeypatch: pytest.MonkeyPatch,
    time: Time,
) -> None:
    interrupted(monkeypatch, time)
    service.next("order", Reply(None))
    result = quietswap(*SWAP, "--yes", "--json")
    answer = json.loads(result.stdout)
    assert (result.exit_code, answer["orderId"]) == (4, None)
    assert (answer["txHash"], answer["nonce"]) == (service.tx_hash, 7)
    assert f"signed: nonce 7, tx {service.tx_hash}" in result.stderr


def test_an_interruption_after_a_refusal_says_what_the_service_said(
    quietswap: Quietswap,
    service: FakeService,
    approved: FakeChain,
    monkeypatch: pytest.MonkeyPatch,
    time: Time,
) -> None:
    interrupted(monkeypatch, time)
    silent(approved, service)
    service.next("order", refused(errors.NonceTooLow(provided=7, expected=8)))
    result = quietswap(*SWAP, "--yes", "--json")
    assert result.exit_code == 4, result.output
    said = " ".join(result.stderr.split())
    assert "no response" not in said
    assert "Interrupted: NONCE_TOO_LOW" in said
    assert "To check whether an order exists:" in said


def test_an_interrupted_wrap_keeps_hash_and_nonce(
    quietswap: Quietswap,
    service: FakeService,
    approved: FakeChain,
    monkeypatch: pytest.MonkeyPatch,
    time: Time,
) -> None:
    interrupted(monkeypatch, time)
    silent(approved, service)
    result = quietswap("wrap", "0.25", "--yes", "--json")
    assert result.exit_code == 4, result.output
    answer = json.loads(result.stdout)
    assert (answer["txHash"], answer["nonce"]) == (service.tx_hash, 7)
    assert f"signed: nonce 7, tx {service.tx_hash}" in result.stderr


@pytest.mark.parametrize("words", [SWAP, ("wrap", "0.25")])
@pytest.mark.parametrize(
    ("state", "found"), [(OrderStatus.MINING, True), (OrderStatus.FAILED, False)]
)
def test_an_order_is_found_in_the_history_by_its_hash(
    quietswap: Quietswap,
    service: FakeService,
    approved: FakeChain,
    words: tuple[str, ...],
    state: OrderStatus,
    found: bool,
) -> None:
    """While it is live the same nonce is refused: cancelling is the way."""
    silent(approved, service)
    name = "order" if words[0] == "swap" else "wrap order"
    service.next(name, Reply({"ok": False, "error": "X", "message": "no"}, 400))
    empty = [history()] * (3 if words[0] == "wrap" else 0)
    service.next("history", *empty, history(OrderStatus.CONFIRMED, state))
    result = quietswap(*words, "--yes")
    assert result.exit_code == 4, result.output
    assert ("quietswap cancel ord_1 --nonce 7" in result.stdout) is found
    again = "swap 1 WETH USDC" if words[0] == "swap" else "wrap 0.25"
    assert f"quietswap {again} --nonce 7" in result.stdout


def test_the_seconds_of_a_wait_are_told(
    quietswap: Quietswap, service: FakeService, approved: FakeChain
) -> None:
    body = {"ok": False, "error": "RATE_LIMIT_EXCEEDED", "message": "slowly", "retryAfter": 1e9}
    service.next("status", Reply(body, 429))
    result = quietswap(*SWAP, "--yes")
    assert result.exit_code == 0, result.output
    assert "trying again in 300 s" in result.stdout


def test_yes_bounds_what_gas_may_cost(
    quietswap: Quietswap,
    service: FakeService,
    environment: dict[str, str | None],
) -> None:
    environment["QUIETSWAP_RPC_URL"] = None
    dear = ok(change(FEE, str(200 * 10**9)))
    words = (*SWAP, "--yes", "--at-least", "2985")
    service.next("quote", *[dear] * 3)
    refused = quietswap(*words)
    assert (refused.exit_code, "--max-fee" in refused.stdout) == (1, True)
    assert service.bodies("order") == []
    assert quietswap(*words, "--max-fee", "0.06").exit_code == 0
    assert quietswap(*SWAP, "--yes", "--at-least", "2985", "--max-fee", "x").exit_code == 2


def test_bad_utf8_after_submission(
    quietswap: Quietswap, service: FakeService, approved: FakeChain
) -> None:
    silent(approved, service)
    service.next("order", Reply(b'{"ok":false,"error":"X","message":"\xff"}', 400))
    result = quietswap(*SWAP, "--yes", "--json")
    assert result.exit_code == 4, result.output
    answer = json.loads(result.stdout)
    assert (answer["error"], answer["nonce"]) == ("MayBeMined", 7)


@pytest.mark.parametrize(
    ("state", "offered"), [(OrderStatus.MINING, True), (OrderStatus.FAILED, False)]
)
def test_no_cancel_is_offered_for_an_order_that_was_never_sent(
    quietswap: Quietswap,
    service: FakeService,
    approved: FakeChain,
    state: OrderStatus,
    offered: bool,
) -> None:
    """Without the relay the order is stored as failed, and the service then takes no cancel."""
    silent(approved, service)
    service.next("order", said("PROVIDER_UNAVAILABLE", 503, reason="NOT_SENT", orderId="ord_1"))
    service.next("status", at(state))
    result = quietswap(*SWAP, "--yes")
    assert result.exit_code == 4, result.output
    assert "quietswap history --order ord_1 --follow" in result.stdout
    assert "quietswap swap 1 WETH USDC --nonce 7" in result.stdout
    assert ("quietswap cancel ord_1" in result.stdout) is offered
    assert ("cancel first" in result.stdout) is offered


@pytest.mark.parametrize(("code", "again"), [("NONCE_TOO_LOW", False), ("X", True)])
def test_a_used_nonce_is_not_proposed_again(
    quietswap: Quietswap, service: FakeService, code: str, again: bool
) -> None:
    service.next("wrap order", said(code, 400, provided=7, expected=8))
    result = quietswap("wrap", "0.25", "--nonce", "7", "--yes", "--rpc-url", "")
    assert result.exit_code == 4, result.output
    assert ("quietswap wrap 0.25 --nonce 7" in result.stdout) is again
    assert "quietswap balances --wallet" in result.stdout


def test_an_interruption_while_it_is_told_what_is_open(
    quietswap: Quietswap,
    service: FakeService,
    approved: FakeChain,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A service may hold its answers back until somebody presses Ctrl-C."""

    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(QuietswapClient, "order_history", pressed)
    silent(approved, service)
    service.next("order", said("X", 400))
    result = quietswap(*SWAP, "--yes", "--json")
    assert result.exit_code == 4, result.output
    answer = json.loads(result.stdout)
    assert answer["error"] == "LEFT_OPEN"
    assert (answer["txHash"], answer["nonce"]) == (service.tx_hash, 7)


def test_an_interruption_after_the_end_changes_no_result(
    quietswap: Quietswap, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, calls = QuietswapClient.wrap_info, []

    def pressed(self: QuietswapClient, wallet: str) -> Any:
        calls.append(wallet)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return usual(self, wallet)

    monkeypatch.setattr(QuietswapClient, "wrap_info", pressed)
    result = quietswap("wrap", "0.25", "--yes", "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert (answer["ok"], answer["order"]["txHash"]) == (True, service.tx_hash)
    assert len(calls) == 2


@pytest.mark.parametrize(
    "sources", [["x"], [{"source": 5, "outcome": None, "reason": 7}], [[]], "x", 5]
)
def test_odd_details_of_a_refusal_hide_no_hash(
    quietswap: Quietswap, service: FakeService, approved: FakeChain, sources: Any
) -> None:
    silent(approved, service)
    service.next("order", said("X", 400, sources=sources, fields=sources))
    result = quietswap(*SWAP, "--yes", "--json")
    assert result.exit_code == 4, result.output
    answer = json.loads(result.stdout)
    assert (answer["error"], answer["txHash"]) == ("MayBeMined", service.tx_hash)


def test_a_node_that_fails_after_an_approval_leaves_it_named(
    quietswap: Quietswap, service: FakeService, node: FakeChain
) -> None:
    def refusal(method: str) -> NodeSays | None:
        is_late = node.sent and method == "eth_getTransactionReceipt"
        return NodeSays("internal error", -32603) if is_late else None

    node.busy = refusal
    result = quietswap(*SWAP, "--yes", "--json")
    assert result.exit_code == 4, result.output
    answer = json.loads(result.stdout)
    assert (answer["error"], answer["nonce"], answer["approval"]["nonce"]) == ("MayBeMined", 7, 7)
    assert answer["approval"]["txHash"] in result.stderr
    assert "an approval was sent, and may still be mined:" in result.stderr
    assert service.bodies("order") == []


def test_a_refusal_after_a_mined_approval_names_it(
    quietswap: Quietswap, service: FakeService, node: FakeChain
) -> None:
    other = ("mevProtection.transactionParams.gasLimit", "1")
    usual = service.quote
    service.quote = lambda: change(*other) if node.sent else usual()
    result = quietswap(*SWAP, "--yes", "--json")
    assert result.exit_code == 1, result.output
    assert json.loads(result.stdout)["approval"]["nonce"] == 7
    assert "an approval was sent, before this:" in result.stderr
