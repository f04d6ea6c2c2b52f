"""What a client signed for an order is what it recorded itself, not what the service names."""

import pytest

from quietswap.client import QuietswapClient
from quietswap.client.errors import AfterSubmission, NonceMismatch, TransactionHashMismatch
from quietswap.client.flows.cancel import CancelRequest
from quietswap.client.flows.finality import SubmittedTransaction
from quietswap.client.flows.polling import PollingPolicy
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.client.signing import hash_of, sign, to_sign
from quietswap.rules.tokens.token import WETH
from tests.api.scripted_use_cases import ROUTER, WALLET
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_servers import ETHER, FakeServers, FakeService
from tests.client.test_transaction_hash_mismatch import LIE
from tests.stored_orders import USDC


def test_the_client_remembers_what_it_signed(client: QuietswapClient) -> None:
    request = SwapRequest(WETH, USDC, ETHER, WALLET, approval="never")
    placed = client.quote(request)
    raw = sign(to_sign(placed.mev_protection.transaction_params), ACCOUNT, WALLET)
    order_id = client.submit_order(placed, request, raw).order.order_id
    assert client.orders[order_id].tx_hash == hash_of(raw)
    assert client.orders[order_id].nonce == 7
    with pytest.raises(NonceMismatch, match=f"signed as transaction {hash_of(raw)} with nonce 7"):
        client.cancel(CancelRequest(order_id, WALLET, nonce=8), ACCOUNT)


def test_one_order_id_is_not_named_for_two_transactions(
    outside: FakeServers, node: FakeChain
) -> None:
    node.allowances[ROUTER.lower()] = ETHER
    other = SubmittedTransaction("the swap", "0x" + "5a" * 32, WALLET, 6, "ord_1")
    orders = {"ord_1": other}
    polling = PollingPolicy(doubt_s=0)
    with (
        QuietswapClient(
            outside.url, "qs_right", rpc_url=outside.rpc_url, polling=polling, orders=orders
        ) as client,
        pytest.raises(AfterSubmission, match="order ord_1 for two transactions"),
    ):
        client.swap(SwapRequest(WETH, USDC, ETHER, WALLET), ACCOUNT)
    assert orders == {"ord_1": other}


def test_an_order_is_followed_by_the_hash_that_was_signed(
    client: QuietswapClient, service: FakeService, node: FakeChain
) -> None:
    node.allowances[ROUTER.lower()] = ETHER
    order_id = client.swap(SwapRequest(WETH, USDC, ETHER, WALLET), ACCOUNT).status.order_id
    assert client.follow(order_id).status == "confirmed"
    service.lies["status"] = LIE
    with pytest.raises(TransactionHashMismatch):
        client.follow(order_id)
