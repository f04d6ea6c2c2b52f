"""The trial at the caller's node: it runs as the transaction will, and sees all that leaves."""

from dataclasses import replace
from typing import Any

import pytest

from quietswap.client import QuietswapClient
from quietswap.client.errors import UnexpectedResponse, UnsafeQuote
from quietswap.client.flows.simulation import SwapSimulation
from quietswap.rules.tx.address import Address, from_any_case
from tests.api.scripted_use_cases import ROUTER
from tests.client.conftest import Do
from tests.client.fake_chain import ACCOUNT, FakeChain, transfer
from tests.client.fake_node import NodeSays
from tests.client.fake_servers import ETHER, MINIMUM, WALLET, FakeService, calldata, ok, swap_quote
from tests.client.test_swap_flow import REQUEST, approved
from tests.client.test_swap_safety import DAI, THIEF, never
from tests.response_json import quotes
from tests.routers.router_calldata import ROUTER_OF
from tests.stored_orders import USDC

__all__ = ["approved"]

WETH = REQUEST.sell_token
APPROVAL = "0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925"
FOR_ALL = "0x17307eab39ab6107e8899845ad3d59bd9653f200f220920489ca2b5937696c31"
SINGLE = "0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62"


def word(value: str | int) -> str:
    text = f"{value:x}" if isinstance(value, int) else value[2:].lower()
    return "0x" + text.rjust(64, "0")


def log(token: str, *topics: str | int, data: str = "0x") -> dict[str, Any]:
    """Return a log; topics after the first are padded to words."""
    return {"address": token, "topics": [topics[0], *map(word, topics[1:])], "data": data}


def nft(token: str, sender: str, to: str, number: int) -> dict[str, Any]:
    sold = transfer(token, sender, to, 0)
    return {**sold, "topics": [*sold["topics"], word(number)], "data": "0x"}


SELLS = transfer(WETH, WALLET, ROUTER, ETHER)
ETHER_LOG = "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
SYSTEM_LOG = "0xfffffffffffffffffffffffffffffffffffffffe"
"""Logs ETH after EIP-7708."""

THEFTS = [
    ([transfer(WETH, WALLET, THIEF, ETHER + 1)], 0, "more than the"),
    ([SELLS, transfer(WETH, WALLET, THIEF, 1)], 0, "more than the"),
    ([SELLS], ETHER + 1, "more than the"),
    ([SELLS, transfer(USDC, WALLET, THIEF, 90_000)], 0, "moves 0xA0b8"),
    ([SELLS, transfer(DAI, WALLET, THIEF, 1)], 0, "moves 0x6B17"),
    ([SELLS, nft(DAI, WALLET, THIEF, 7)], 0, "may move the wallet"),
    ([SELLS, transfer(ETHER_LOG, WALLET, THIEF, 1)], 0, "moves ETH"),
    ([SELLS, transfer(SYSTEM_LOG, WALLET, THIEF, 1)], 0, "moves ETH"),
    ([SELLS, log(DAI, APPROVAL, WALLET, THIEF, data=word(1))], 0, "lets others spend"),
    ([SELLS, log(WETH, APPROVAL, WALLET, THIEF, data=word(0))], 0, "lets others spend"),
    ([SELLS, log(WETH, APPROVAL, WALLET, ROUTER, data=word(ETHER + 1))], 0, "lets others spend"),
    ([SELLS, log(DAI, FOR_ALL, WALLET, THIEF, data=word(1))], 0, "lets others spend"),
    ([SELLS, log(DAI, SINGLE, THIEF, WALLET, THIEF, data=word(1) + word(1)[2:])], 0, "moves 0x6B"),
]


@pytest.mark.parametrize(("logs", "takes", "says"), THEFTS)
def test_what_a_standing_allowance_could_lose(
    do_with_node: Do,
    service: FakeService,
    approved: FakeChain,
    logs: list[dict[str, Any]],
    takes: int,
    says: str,
) -> None:
    """Each would deliver the minimum."""
    approved.delivers, approved.trial_logs, approved.takes = MINIMUM, logs, takes
    with pytest.raises(UnsafeQuote, match=f"tried on your node it .*{says}.*: not signed"):
        do_with_node("swap", REQUEST, never)
    assert service.bodies("order") == []


HARMLESS = [
    [SELLS],
    [SELLS, transfer(USDC, ROUTER, WALLET, MINIMUM), transfer(DAI, THIEF, ROUTER, 5)],
    [SELLS, log(WETH, APPROVAL, WALLET, ROUTER, data=word(0))],
    [SELLS, log(DAI, APPROVAL, THIEF, ROUTER, data=word(9))],
    [SELLS, transfer(SYSTEM_LOG, THIEF, ROUTER, 9), transfer(SYSTEM_LOG, ROUTER, WALLET, 1)],
]


@pytest.mark.parametrize("logs", HARMLESS)
def test_what_an_honest_swap_logs(
    do_with_node: Do, approved: FakeChain, logs: list[dict[str, Any]]
) -> None:
    approved.delivers, approved.trial_logs, approved.takes = MINIMUM, logs, ETHER
    assert do_with_node("swap", REQUEST, ACCOUNT).succeeded


@pytest.mark.parametrize(
    ("delivers", "reverts", "says"),
    [(MINIMUM - 1, False, "delivers 2984999999, not 2985000000"), (0, False, "delivers 0, not"),
     (-5, False, "delivers -5, not"), (MINIMUM, True, "the swap reverts: no deal")],
)  # fmt: skip
def test_a_bound_swap_that_would_fail_is_not_signed_either(
    do_with_node: Do, approved: FakeChain, delivers: int, reverts: bool, says: str
) -> None:
    approved.delivers, approved.trial_reverts = delivers, reverts
    with pytest.raises(UnsafeQuote, match=says):
        do_with_node("swap", REQUEST, never)


def test_it_runs_as_the_transaction_will(
    client: QuietswapClient, service: FakeService, approved: FakeChain
) -> None:
    approved.delivers, approved.takes = MINIMUM, ETHER
    for _ in range(2):
        client.swap(REQUEST, ACCOUNT)
    (state, block), (again, _) = approved.trials
    head = int(block, 16)
    first, second = state["blockStateCalls"]
    params = service.quote()["mevProtection"]["transactionParams"]
    assert first["calls"] == [
        {
            "from": WALLET,
            "to": params["to"],
            "data": params["data"],
            "value": "0x0",
            "gas": hex(int(params["gasLimit"])),
            "maxFeePerGas": hex(int(params["maxFeePerGas"])),
            "maxPriorityFeePerGas": "0x0",
        }
    ]
    overrides = first["blockOverrides"]
    randao, root = overrides.pop("prevRandao"), overrides.pop("beaconRoot")
    assert overrides == {
        "number": hex(head + 1),
        "time": hex(approved.time + 12),
        "gasLimit": hex(45_000_000),
        "feeRecipient": from_any_case("0x" + "4b" * 20),
        "baseFeePerGas": hex(approved.base_fee),
    }
    history, ring, time = first["stateOverrides"], 8191, approved.time + 12
    word = "0x{:064x}".format
    assert list(history.values()) == [
        {"stateDiff": {word(head % ring): word(head)}},
        {"stateDiff": {word(time % ring): word(time), word(time % ring + ring): root}},
    ]
    [(reader, override)] = second["stateOverrides"].items()
    assert reader == WALLET
    paid = sum(int(view["gas"], 16) * int(view["maxFeePerGas"], 16) for view in second["calls"])
    assert int(override["balance"], 16) > paid
    assert state["traceTransfers"] is True
    assert state["validation"] is True
    assert len(randao) == 66
    assert again["blockStateCalls"][0]["blockOverrides"]["prevRandao"] != randao


def test_the_base_fee_is_the_next_blocks(client: QuietswapClient, approved: FakeChain) -> None:
    approved.delivers = MINIMUM
    usual = approved.eth_getBlockByNumber
    full = {"gasUsed": hex(45_000_000)}
    approved.eth_getBlockByNumber = lambda *asked: usual(*asked) | full  # type: ignore[method-assign]
    client.swap(REQUEST, ACCOUNT)
    overrides = approved.trials[0][0]["blockStateCalls"][0]["blockOverrides"]
    assert overrides["baseFeePerGas"] == hex(approved.base_fee * 9 // 8)


def test_every_swap_is_tried_and_the_flow_is_told(
    client: QuietswapClient, approved: FakeChain
) -> None:
    approved.delivers = MINIMUM + 5
    told: list[object] = []
    client.swap(REQUEST, ACCOUNT, told.append)
    assert [each for each in told if isinstance(each, SwapSimulation)] == [
        SwapSimulation(MINIMUM + 5, gas_used=200_000)
    ]


def test_it_comes_after_the_approval(client: QuietswapClient, node: FakeChain) -> None:
    node.delivers = MINIMUM
    seen: list[str] = []
    client.swap(REQUEST, ACCOUNT, lambda event: seen.append(type(event).__name__))
    assert seen[2:4] == ["ApprovalSent", "Approved"]
    assert seen[4:7] == ["SwapQuoteResponse", "SwapPlan", "SwapSimulation"]


def test_a_node_without_the_method_tries_nothing_and_says_so(
    client: QuietswapClient, approved: FakeChain
) -> None:
    told: list[object] = []
    client.swap(REQUEST, ACCOUNT, told.append)
    (trial,) = (each for each in told if isinstance(each, SwapSimulation))
    assert trial.delivers is None
    assert "does not exist" in trial.reason


@pytest.mark.parametrize("says", ["insufficient funds for gas", "block gas limit", "nonce too low"])
def test_a_node_that_refuses_this_swap_is_heard(
    client: QuietswapClient, approved: FakeChain, monkeypatch: pytest.MonkeyPatch, says: str
) -> None:
    def refuses(*_: object) -> object:
        raise NodeSays(says)

    monkeypatch.setattr(approved, "eth_simulateV1", refuses)
    with pytest.raises(UnsafeQuote, match=f"your node cannot try the swap.*{says}"):
        client.swap(REQUEST, never)


@pytest.mark.parametrize(
    "answer",
    [None, [], [{"calls": []}], [{"calls": [{"status": "0x1"}]}, {"calls": []}],
     [{"calls": [{"status": "0x1", "logs": [{"address": "x", "topics": [], "data": "0x"}]}]},
      {"calls": [{"status": "0x1", "returnData": word(1)}] * 2}],
     [{"calls": [{"status": "0x1"}]}, {"calls": [{"status": "0x1", "returnData": "0x"}] * 2}]],
)  # fmt: skip
def test_an_answer_that_cannot_be_read_signs_nothing(
    client: QuietswapClient, approved: FakeChain, monkeypatch: pytest.MonkeyPatch, answer: object
) -> None:
    monkeypatch.setattr(approved, "eth_simulateV1", lambda *_: answer)
    with pytest.raises(UnexpectedResponse):
        client.swap(replace(REQUEST, approval="never"), never)


VELORA = str(ROUTER_OF["velora"])
TAXED = "0x1111111111111111111111111111111111111111"


def through_velora(service: FakeService, approved: FakeChain, buy: str = str(USDC)) -> None:
    """Let the service quote a router that measures itself, for this buy token."""
    approved.allowances[VELORA.lower()] = 2**255
    data = calldata("velora", minimum=MINIMUM + 1, buy=buy)
    quote = swap_quote(target=VELORA, data=data, buy_token=Address(buy))
    service.next("quote", ok(quotes.swap_quote_response(quote)))


@pytest.mark.parametrize(("fee_bps", "credited"), [(1, 0), (0, 1)])
def test_a_fee_on_transfer_that_the_router_does_not_see_is_refused(
    do_with_node: Do, service: FakeService, approved: FakeChain, fee_bps: int, credited: int
) -> None:
    """It shows in what arrives when the wallet sends it on, or in what the logs say."""
    approved.delivers, approved.transfer_fee_bps = MINIMUM, fee_bps
    approved.trial_logs = [SELLS, transfer(USDC, ROUTER, WALLET, MINIMUM + credited)]
    through_velora(service, approved)
    with pytest.raises(UnsafeQuote, match="takes a fee on transfer"):
        do_with_node("swap", REQUEST, never)


@pytest.mark.parametrize(("fee_bps", "fails"), [(2000, False), (1, False), (0, True)])
def test_a_fee_that_only_the_payer_pays_is_refused(
    do_with_node: Do, service: FakeService, approved: FakeChain, fee_bps: int, fails: bool
) -> None:
    """Between people the token moves without a fee."""
    approved.delivers, approved.payer_fee_bps, approved.payer_fails = MINIMUM, fee_bps, fails
    through_velora(service, approved)
    with pytest.raises(UnsafeQuote, match="takes a fee on transfer, or cannot be sent on"):
        do_with_node("swap", REQUEST, never)


def test_a_probe_without_all_its_steps_proves_nothing(
    do_with_node: Do, service: FakeService, approved: FakeChain
) -> None:
    approved.delivers, approved.probe_steps = MINIMUM, 4
    through_velora(service, approved)
    with pytest.raises(UnexpectedResponse):
        do_with_node("swap", REQUEST, never)


def test_a_router_that_looks_at_the_wallet_needs_no_such_probe(
    do_with_node: Do, approved: FakeChain
) -> None:
    approved.delivers, approved.transfer_fee_bps = MINIMUM, 100
    assert do_with_node("swap", REQUEST, ACCOUNT).succeeded


def test_untried_only_tokens_without_such_a_fee_are_bought_through_it(
    do: Do, do_with_node: Do, service: FakeService, approved: FakeChain
) -> None:
    """Without a node, and with one that cannot try."""
    for swap in (do, do_with_node):
        through_velora(service, approved, TAXED)
        with pytest.raises(UnsafeQuote, match="would not see a fee on transfer of 0x1111"):
            swap("swap", replace(REQUEST, buy_token=TAXED), never)
        through_velora(service, approved)
        approval = replace(REQUEST, approval="never")
        assert swap("swap", approval, ACCOUNT).status.status == "confirmed"


def test_a_revert_without_a_reason_is_shown_without_one(
    do_with_node: Do, approved: FakeChain
) -> None:
    approved.delivers, approved.trial_reverts, approved.trial_says = MINIMUM, True, ""
    with pytest.raises(UnsafeQuote, match=r"^tried on your node the swap reverts: not signed$"):
        do_with_node("swap", REQUEST, never)
