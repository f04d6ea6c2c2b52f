"""A node of the caller that refuses for a while, as providers with rate limits do."""

import random
from collections.abc import Callable

import pytest

from quietswap.client import QuietswapClient
from quietswap.client.errors import MayBeMined, NodeRpcError, NodeUnreachable
from quietswap.client.flows.effects import BUSY_PAUSES_S
from tests.api.scripted_use_cases import ROUTER
from tests.client.conftest import Do, Time
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_node import NodeSays, Swallowed
from tests.client.test_swap_flow import REQUEST

BUSY = [
    (429, "call rate exceeded"), (503, ""), (-32005, "daily request count exceeded"),
    (-32016, "over rate limit"), (-32007, "50/second request limit reached"), (-32090, "wait"),
    (-32000, "Too Many Requests"), (-32603, "rate limit exceeded"), (-32000, "header not found"),
    (-32000, "transaction indexing is in progress"), (-32603, "internal error"),
    (-32001, "block not found: 0x18c"), (-32000, "Block 7 could not be found"),
    (-39001, "Unknown block"), (-32602, "BlockOutOfRange: height is 5 but requested was 6"),
]  # fmt: skip


def busy(
    node: FakeChain, fails: Callable[[str], bool], code: int = 429, words: str = "slow down"
) -> None:
    """Let the node refuse each call of which `fails` says so."""
    node.busy = lambda method: NodeSays(words, code) if fails(method) else None


@pytest.mark.parametrize(("code", "words"), BUSY)
def test_one_refusal_after_an_approval_ends_no_swap(
    do_with_node: Do, node: FakeChain, code: int, words: str
) -> None:
    refused: list[str] = []

    def fails(method: str) -> bool:
        is_first = method == "eth_getTransactionReceipt" and node.sent and not refused
        refused.extend([method] * bool(is_first))
        return bool(is_first)

    busy(node, fails, code, words)
    assert do_with_node("swap", REQUEST, ACCOUNT).succeeded
    assert (len(refused), len(node.sent)) == (1, 1)


@pytest.mark.parametrize("seed", range(3))
def test_one_refusal_in_ten_ends_no_swap(do_with_node: Do, node: FakeChain, seed: int) -> None:
    chance = random.Random(seed)
    busy(node, lambda _: chance.random() < 0.1)
    assert do_with_node("swap", REQUEST, ACCOUNT).succeeded


@pytest.mark.parametrize("lates", [1, 2, 5])
@pytest.mark.parametrize("before", [0, 5])
def test_answers_from_before_the_approval_end_no_swap(
    do_with_node: Do, node: FakeChain, lates: int, before: int
) -> None:
    """One of several backends is late: by the allowance, the nonce, the estimate or the trial."""
    node.lates, node.resets_first, node.delivers = lates, True, 3 * 10**9
    node.allowances[ROUTER.lower()] = before
    assert do_with_node("swap", REQUEST, ACCOUNT).succeeded
    assert len(node.sent) == (2 if before else 1), "each approval is paid for once"


def test_one_refusal_in_ten_ends_no_wrap_either(do_with_node: Do, node: FakeChain) -> None:
    chance = random.Random(5)
    busy(node, lambda _: chance.random() < 0.1)
    assert do_with_node("wrap", "0.5", ACCOUNT).receipt.succeeded


def test_a_node_that_stays_busy_leaves_the_approval_named(
    client: QuietswapClient, node: FakeChain, time: Time
) -> None:
    busy(node, lambda method: bool(node.sent) and method == "eth_getTransactionReceipt")
    with pytest.raises(MayBeMined, match="the node is busy: slow down") as caught:
        client.swap(REQUEST, ACCOUNT)
    error, (approval,) = caught.value, node.receipts
    assert (error.tx_hash, error.nonce, error.order_id) == (approval, 7, None)
    assert isinstance(error.cause, NodeUnreachable)
    # as long as the flow may wait, and the watch alone paces
    assert time.pauses == [1, 2, 4, 8, 16, *[30] * 8]
    assert sum(time.pauses) <= client.polling.until() < sum(time.pauses) + 30


@pytest.mark.parametrize("answered", [True, False])
def test_an_approval_whose_sending_has_no_answer_is_named(
    client: QuietswapClient, node: FakeChain, answered: bool
) -> None:
    """The node may have passed it on."""
    usual = node.eth_sendRawTransaction

    def lost(raw: str) -> str:
        usual(raw) if answered else None
        raise Swallowed

    node.eth_sendRawTransaction = lost  # type: ignore[method-assign]
    with pytest.raises(MayBeMined) as caught:
        client.swap(REQUEST, ACCOUNT)
    assert caught.value.nonce == 7


def test_a_node_that_is_busy_is_not_taken_for_one_that_reverts(
    client: QuietswapClient, node: FakeChain
) -> None:
    """A rate limit at the estimate of an approval would reset the allowance first."""
    node.allowances[ROUTER.lower()] = 5
    refused: list[str] = []

    def fails(method: str) -> bool:
        is_first = method == "eth_estimateGas" and not refused
        refused.extend([method] * is_first)
        return is_first

    busy(node, fails)
    assert client.swap(REQUEST, ACCOUNT).succeeded
    assert len(node.sent) == 1


def test_a_busy_read_is_repeated_for_some_seconds(
    client: QuietswapClient, node: FakeChain, time: Time
) -> None:
    busy(node, lambda method: method == "eth_chainId")
    with pytest.raises(NodeUnreachable, match="eth_chainId: the node is busy: slow down"):
        client.swap(REQUEST, ACCOUNT)
    assert time.pauses == list(BUSY_PAUSES_S)
    busy(node, lambda method: method == "eth_chainId", 3, "execution reverted")
    with pytest.raises(NodeRpcError):
        client.swap(REQUEST, ACCOUNT)
