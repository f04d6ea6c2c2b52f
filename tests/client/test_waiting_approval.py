"""swap() and an approval that may be in the node's pool already."""

import contextlib
from dataclasses import replace

import pytest

from quietswap.client import QuietswapClient
from quietswap.client.errors import QuoteDeclined
from tests.api.scripted_use_cases import ROUTER
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.test_swap_flow import REQUEST


def test_no_second_approval_while_one_waits(client: QuietswapClient, node: FakeChain) -> None:
    """The node may still have that of an earlier try, which would be paid for as well."""
    node.waiting = 1
    with pytest.raises(QuoteDeclined, match="public transaction of the wallet with nonce 7 that"):
        client.swap(replace(REQUEST, any_nonce=True), ACCOUNT)
    assert node.sent == []


@pytest.mark.parametrize(("lags", "sent"), [(3, 1), (4, 0)])
def test_a_node_that_is_behind_is_asked_again(
    client: QuietswapClient, node: FakeChain, lags: int, sent: int
) -> None:
    node.lags = lags
    with contextlib.suppress(QuoteDeclined):
        client.swap(REQUEST, ACCOUNT)
    assert len(node.sent) == sent


def test_an_approval_that_is_mined_between_two_reads_is_not_repeated(
    client: QuietswapClient, node: FakeChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The allowance was read before the block, the nonces after it: they agree at once."""
    answer = node.eth_getTransactionCount

    def mined_by_now(wallet: str, block: str) -> str:
        if block == "latest":
            node.allowances[ROUTER.lower()] = 10**18
        return answer(wallet, block)

    monkeypatch.setattr(node, "eth_getTransactionCount", mined_by_now)
    client.swap(replace(REQUEST, any_nonce=True), ACCOUNT)
    assert node.sent == []


@pytest.mark.parametrize("settles", [1, 2])
def test_an_approval_that_is_mined_meanwhile_is_not_repeated(
    client: QuietswapClient, node: FakeChain, settles: int
) -> None:
    node.waiting, node.settles = 1, settles
    client.swap(replace(REQUEST, any_nonce=True), ACCOUNT)
    assert node.sent == []
    assert node.nonce == 8
