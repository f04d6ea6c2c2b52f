"""A service that lies about the end of an order, to the command and to the tools for a model."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import Result

from quietswap.cli.output.order_progress import OrderProgress
from quietswap.client.flows.finality import SubmittedTransaction
from quietswap.rules.contract.orders import OrderStatusResponse
from quietswap.rules.orders.order import Failure, FailureCode, Inclusion, OrderStatus
from tests.api.scripted_use_cases import ROUTER, WALLET
from tests.cli.conftest import Quietswap
from tests.cli.mcp_sessions import call, in_process
from tests.client.fake_chain import FakeChain
from tests.client.fake_servers import ETHER, TX_HASH, FakeServers, FakeService, ok, placed
from tests.client.test_finality import (
    NONCE,
    mined,
    nothing,
    of_another_chain,
    replaced,
    reported,
    reverted,
)
from tests.response_json import orders
from tests.stored_orders import NOW_MS, recorded

DO_NOT_REPEAT = "was mined and succeeded: do not repeat it"
CONFIRMED, FAILED, CANCELLED = OrderStatus.CONFIRMED, OrderStatus.FAILED, OrderStatus.CANCELLED
SENT = SubmittedTransaction("the swap", TX_HASH, WALLET, NONCE, "ord_1")
Chain = Callable[[FakeChain], None]
REPEAT = "it may still be mined; repeat it only with the same nonce"
ENDS: list[tuple[Chain, OrderStatus, int, str]] = [
    (mined, CANCELLED, 4, DO_NOT_REPEAT),
    (mined, FAILED, 4, DO_NOT_REPEAT),
    (mined, CONFIRMED, 0, "was mined and succeeded"),
    (reverted, CONFIRMED, 1, "but your own node shows that it was mined and reverted"),
    (reverted, FAILED, 1, "another one is safe"),
    (replaced, CANCELLED, 1, "another transaction used its nonce"),
    (nothing, CONFIRMED, 4, REPEAT),
    (of_another_chain, CONFIRMED, 4, "cannot show it"),
]
"""Chain, what the service reports, exit code, words."""
LATER: list[tuple[Chain, OrderStatus, int, str]] = [
    (nothing, CANCELLED, 4, REPEAT),
    (of_another_chain, FAILED, 4, REPEAT),
]
"""Those that a command would watch for a minute."""


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
def state(tmp_path: Path, environment: dict[str, str | None]) -> None:
    """This machine signed `ord_1`."""
    environment["XDG_STATE_HOME"] = str(tmp_path)
    file = tmp_path / "quietswap" / "orders.jsonl"
    file.parent.mkdir()
    file.write_bytes(msgspec.json.encode(SENT))


def followed(quietswap: Quietswap, *words: str) -> Result:
    return quietswap("history", "--order", "ord_1", *words)


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize(("chain", "status", "code", "words"), ENDS)
def test_the_command_that_is_printed_after_an_interruption(
    quietswap: Quietswap,
    service: FakeService,
    node: FakeChain,
    chain: Chain,
    status: OrderStatus,
    code: int,
    words: str,
) -> None:
    chain(node)
    service.next("status", *[reported(status)] * 4)
    if code == 4 and status is CONFIRMED:  # it looks again for 18 s: one look tells the same
        result = followed(quietswap)
        assert words in " ".join(result.stdout.split())
        return
    result = followed(quietswap, "--follow")
    assert result.exit_code == code
    assert words in " ".join(result.stdout.split())
    machine = followed(quietswap, "--follow", "--json")
    answer = json.loads(machine.stdout)
    own = {mined: "confirmed", reverted: "failed", replaced: "cancelled"}[chain]
    assert (machine.exit_code, answer["status"]) == (code, own)
    assert answer["reportedByService"]["status"] == status.value
    assert (answer["final"], answer["mayBeMined"]) == (True, False)
    assert words in answer["conclusion"]
    is_contradicted = "but your own node" in answer["conclusion"]
    assert followed(quietswap).exit_code == (code if is_contradicted else 0)


@pytest.mark.parametrize("status", [CONFIRMED, FAILED, CANCELLED])
def test_without_a_node_the_command_says_who_reports_it(
    quietswap: Quietswap,
    service: FakeService,
    node: FakeChain,
    environment: dict[str, str | None],
    status: OrderStatus,
) -> None:
    mined(node)
    environment["QUIETSWAP_RPC_URL"] = None
    service.next("status", *[reported(status)] * 2)
    result = followed(quietswap, "--follow")
    assert result.exit_code == (0 if status is CONFIRMED else 4)
    text = " ".join(result.stdout.split())
    assert f"the service reports {status.value}, not checked: there is no node of yours" in text
    assert (REPEAT in text) == (status is not CONFIRMED)
    answer = json.loads(followed(quietswap, "--json").stdout)
    assert {name for name, value in answer.items() if value is not None} == {
        "orderId", "final", "mayBeMined", "conclusion", "reportedByService"
    }  # fmt: skip
    assert not answer["final"]


CLAIM = re.compile(
    r"^ *[0-9.]+ s .*\b(confirmed|failed|cancelled|EXPIRED|never|given up)\b.*$", re.M
)
"""A line of progress that tells an end."""


@pytest.mark.parametrize("status", [CONFIRMED, FAILED, CANCELLED])
@pytest.mark.parametrize("command", ["history", "swap"])
def test_no_progress_tells_an_end_before_the_own_node_does(
    quietswap: Quietswap,
    service: FakeService,
    node: FakeChain,
    request: pytest.FixtureRequest,
    command: str,
    status: OrderStatus,
) -> None:
    """The swap is mined, whatever the service reports."""
    failure = Failure(FailureCode.EXPIRED, "it can never swap") if status is not CONFIRMED else None
    told = recorded(placed(status, failure=failure))
    service.next("status", ok(orders.order_status_response(told)))
    if command == "history":
        request.getfixturevalue("state")
        mined(node)
        output = followed(quietswap, "--follow").output
    else:
        node.allowances[ROUTER.lower()], service.mines = ETHER, node.mine
        output = quietswap("swap", "1", "WETH", "USDC", "--yes", "--poll", "0.2").output
    claims = [line[0] for line in CLAIM.finditer(output)]
    checked = [line for line in claims if "the service reports" not in line]
    assert len(claims) > len(checked), output
    is_shown_later = command == "swap" and status is CONFIRMED
    assert [line.split()[2:] for line in checked] == [["confirmed", "on", "chain"]] * is_shown_later


OTHER_HASH = "0x" + "99" * 32


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize("words", [("--follow",), ()])
def test_the_last_word_is_the_own_nodes_where_another_transaction_is_named(
    quietswap: Quietswap, service: FakeService, node: FakeChain, words: tuple[str, ...]
) -> None:
    mined(node)
    failure = Failure(FailureCode.EXPIRED, "not mined in time")
    named = recorded(placed(CANCELLED, tx_hash=OTHER_HASH, failure=failure))
    service.next("status", ok(orders.order_status_response(named)))
    result = followed(quietswap, *words)
    assert result.exit_code == 4
    assert DO_NOT_REPEAT in " ".join(result.output.split())
    assert "may still be mined" not in result.output


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize(("chain", "code"), [(mined, 0), (reverted, 1), (nothing, 4)])
def test_an_interruption_while_the_service_hides_the_end(
    quietswap: Quietswap,
    service: FakeService,
    node: FakeChain,
    monkeypatch: pytest.MonkeyPatch,
    chain: Chain,
    code: int,
) -> None:
    chain(node)

    def interrupted(_: OrderProgress, record: OrderStatusResponse) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(OrderProgress, "state", interrupted)
    service.next("status", reported(OrderStatus.PENDING))
    result = followed(quietswap, "--follow")
    assert result.exit_code == code, result.output
    assert ("may still be mined" in result.output) == (chain is nothing)


@pytest.mark.usefixtures("state")
def test_block_and_gas_are_those_of_the_own_receipt(
    quietswap: Quietswap, service: FakeService, node: FakeChain
) -> None:
    mined(node)
    lie = Inclusion(11_111_111, "0x" + "cd" * 32, 77_777, 5 * 10**9, NOW_MS, True)
    false = recorded(replace(placed(CONFIRMED), inclusion=lie))
    service.next("status", *[ok(orders.order_status_response(false))] * 2)
    text = followed(quietswap).stdout
    assert "11,111,111" not in text
    assert "77,777" not in text
    lines = {line.split()[0]: line for line in text.splitlines() if line.strip()}
    assert "as the service reports" in lines["sell"]
    assert "confirmed" in lines["state"]
    answer = json.loads(followed(quietswap, "--json").stdout)
    receipt = node.receipts[TX_HASH]
    assert answer["blockNumber"] == int(receipt["blockNumber"], 16)
    assert int(answer["gasUsed"]) == int(receipt["gasUsed"], 16)
    fee = int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)
    assert answer["feePaidWei"] == str(fee)
    assert int(answer["reportedByService"]["gasUsed"]) == 77_777
    assert "orderParams" not in answer


def test_a_list_says_whose_states_it_has(quietswap: Quietswap) -> None:
    assert "states as the service reports them" in quietswap("history").stdout


def decided(found: dict[str, Any]) -> tuple[bool, bool]:
    return found["final"], found["mayBeMined"]


@pytest.mark.parametrize(("chain", "status", "code", "words"), [*ENDS, *LATER])
async def test_a_model_is_told_what_the_own_node_shows(
    outside: FakeServers,
    service: FakeService,
    node: FakeChain,
    chain: Chain,
    status: OrderStatus,
    code: int,
    words: str,
) -> None:
    chain(node)
    service.next("status", reported(status))
    async with in_process(outside, orders={"ord_1": SENT}) as model:
        found = await call(model, "follow_order", order_id="ord_1")
    is_open = chain in (nothing, of_another_chain)
    assert decided(found) == (not is_open, is_open)
    assert found["outcome"] == ("open" if is_open else chain.__name__)
    assert words in found["conclusion"] or chain is of_another_chain
    assert found["reportedByService"]["status"] == status.value
    assert "status" not in found


@pytest.mark.parametrize("status", [CONFIRMED, CANCELLED])
@pytest.mark.parametrize("has_node", [True, False])
async def test_a_model_is_told_no_end_that_nothing_shows(
    outside: FakeServers, service: FakeService, status: OrderStatus, has_node: bool
) -> None:
    """There is no node, or another machine signed the order."""
    service.next("status", reported(status))
    async with in_process(outside, has_node=has_node) as model:
        found = await call(model, "follow_order", order_id="ord_1")
        listed = await call(model, "list_orders", wallet=WALLET)
    assert decided(found) == (False, status is CANCELLED)
    assert found["outcome"] == "unchecked"
    assert "not checked" in found["conclusion"]
    assert listed["reportedByService"]
