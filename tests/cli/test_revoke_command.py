"""`quietswap revoke`, and the approvals that `quietswap history` knows from this machine."""

import json
from pathlib import Path

import pytest

from quietswap.rules.chain.rpc_wire import SEND
from quietswap.rules.orders.order import OrderStatus
from quietswap.rules.orders.order_views import OrderPage
from quietswap.rules.tokens.token import WETH
from quietswap.rules.vendors import VENDORS
from tests.api.scripted_use_cases import ROUTER, WALLET
from tests.cli.conftest import Quietswap
from tests.client.fake_chain import FakeChain
from tests.client.fake_node import Swallowed
from tests.client.fake_servers import ETHER, FakeService, ok, placed
from tests.response_json import orders
from tests.stored_orders import listed, recorded

OTHER = next(each.router for each in VENDORS.values() if each.router != ROUTER)
STRANGER = "0x00000000000000000000000000000000000000A1"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, environment: dict[str, str | None]) -> Path:
    environment["XDG_STATE_HOME"] = str(tmp_path)
    return tmp_path / "quietswap"


def test_each_router_that_may_move_the_token(quietswap: Quietswap, node: FakeChain) -> None:
    node.allowances = {ROUTER.lower(): ETHER, OTHER.lower(): 2**256 - 1}
    result = quietswap("revoke", "WETH", "--yes")
    assert result.exit_code == 0, result.output
    told = " ".join(result.stdout.split())
    assert f"{ROUTER} may move 1 WETH" in told
    assert f"{OTHER} may move any amount of WETH" in told
    assert len(node.sent) == 2
    assert node.allowances == {ROUTER.lower(): 0, OTHER.lower(): 0}


def test_only_the_router_that_is_named(quietswap: Quietswap, node: FakeChain) -> None:
    node.allowances = {ROUTER.lower(): 5, STRANGER.lower(): 7}
    result = quietswap("revoke", "WETH", "--yes", "--json", "--router", STRANGER)
    assert result.exit_code == 0, result.output
    revoked = [{"router": STRANGER, "allowance": "7"}]
    assert json.loads(result.stdout) == {"ok": True, "token": WETH, "revoked": revoked}
    assert node.allowances == {ROUTER.lower(): 5, STRANGER.lower(): 0}


@pytest.mark.parametrize(("nonce", "sent"), [(7, 0), (8, 0), (9, 2)])
def test_revocations_take_no_nonce_of_an_open_order(
    quietswap: Quietswap, service: FakeService, node: FakeChain, nonce: int, sent: int
) -> None:
    """The next nonce is 7, and two are revoked."""
    node.allowances = {ROUTER.lower(): ETHER, OTHER.lower(): 5}
    waiting = placed(OrderStatus.MINING, nonce=nonce)
    page = OrderPage((listed(waiting),), 1)
    service.next("history", ok(orders.order_history_response(page, 200, 0)))
    service.next("status", ok(orders.order_status_response(recorded(waiting))))
    result = quietswap("revoke", "WETH", "--yes")
    assert ("order ord_1 is open" in " ".join(result.output.split())) is (sent == 0)
    assert (result.exit_code, len(node.sent)) == (int(sent == 0), sent)


def test_nothing_to_revoke_signs_nothing(quietswap: Quietswap, node: FakeChain) -> None:
    result = quietswap("revoke", "WETH", "--yes")
    assert result.exit_code == 0
    assert f"No router may move WETH of {WALLET}." in result.stdout
    assert node.sent == []


def test_it_needs_a_node_and_a_person(
    quietswap: Quietswap, node: FakeChain, environment: dict[str, str | None]
) -> None:
    node.allowances = {ROUTER.lower(): 5}
    assert quietswap("revoke", "WETH").exit_code == 2
    environment["QUIETSWAP_RPC_URL"] = None
    result = quietswap("revoke", "WETH", "--yes")
    assert (result.exit_code, "give --rpc-url" in result.output) == (2, True)
    assert node.sent == []


def test_its_gas_has_a_limit(quietswap: Quietswap, node: FakeChain) -> None:
    node.allowances = {ROUTER.lower(): 5}
    result = quietswap("revoke", "WETH", "--yes", "--max-fee", "0.000000001")
    assert result.exit_code == 1
    assert "--max-fee" in result.stdout
    assert "max_fee_wei" not in result.stdout
    assert node.sent == []


def test_a_node_that_never_answers_what_was_sent(quietswap: Quietswap, node: FakeChain) -> None:
    node.allowances = {ROUTER.lower(): 5}
    node.busy = lambda method: Swallowed() if method == SEND else None  # type: ignore[assignment,return-value]
    result = quietswap("revoke", "WETH", "--yes")
    assert result.exit_code == 4, result.output
    assert "quietswap revoke WETH" in result.stdout


def test_the_history_has_the_approvals_that_were_signed_here(
    quietswap: Quietswap, service: FakeService, node: FakeChain, state: Path
) -> None:
    """The own node sends them, so no service knows of them."""
    assert quietswap("swap", "1", "WETH", "USDC", "--yes", "--at-least", "1").exit_code == 0
    assert quietswap("revoke", "WETH", "--yes").exit_code in (0, 1)
    result = quietswap("history", "--kind", "approval")
    assert result.exit_code == 0, result.output
    assert "1 WETH" in result.stdout
    assert "confirmed" in result.stdout
    told = json.loads(quietswap("history", "--kind", "any", "--json").stdout)
    assert {"orders", "total", "signedHere"} <= told.keys()
    first = told["signedHere"][-1]
    assert (first["token"], first["router"], first["amount"]) == (WETH, ROUTER, str(ETHER))
    assert (first["wallet"], first["state"]) == (WALLET, "confirmed")
    assert (state / "approvals.jsonl").stat().st_mode & 0o077 == 0
    assert "signedHere" not in json.loads(quietswap("history", "--json").stdout)


def test_an_approval_has_one_row_whoever_lists_it(
    quietswap: Quietswap, service: FakeService, node: FakeChain, state: Path
) -> None:
    """Its file has it twice, and the service lists it with a state of its own."""
    assert quietswap("swap", "1", "WETH", "USDC", "--yes", "--at-least", "1").exit_code == 0
    file = state / "approvals.jsonl"
    (line,) = file.read_bytes().splitlines()
    file.write_bytes(line + b"\n" + line)
    approval = json.loads(line)["txHash"]
    for items in ((listed(placed(OrderStatus.FAILED, tx_hash=approval)),), ()):
        page = ok(orders.order_history_response(OrderPage(items, len(items)), 2, 0))
        service.next("history", page, page)
        result = quietswap("history", "--kind", "approval")
        assert result.stdout.count("1 WETH") == 1, result.output
        assert "No orders." not in result.stdout
        assert "failed" not in result.stdout
        told = json.loads(quietswap("history", "--kind", "approval", "--json").stdout)
        assert len(told["signedHere"]) == 1
