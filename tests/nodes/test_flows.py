"""What the API does on geth, and what its clients see of the chain."""

from pathlib import Path
from typing import Any

import pytest

from quietswap.sandbox.contracts.addresses import CALIBUR
from quietswap.sandbox.contracts.pools import WETH
from tests.e2e.test_batched import allowance, signed_batch
from tests.e2e.test_node_limits import doors
from tests.e2e.test_wallet_libraries import swap_with
from tests.e2e.wallets import RpcWallet
from tests.nodes.town import GethDesk, GethTown
from tests.spec.api_client import ETHER
from tests.spec.wire import data


@pytest.mark.capability("received amount and history")
def test_a_swap_tells_what_arrived(desk: GethDesk) -> None:
    wallet = desk.wallet()
    usdc = desk.held(wallet, "USDC")
    order = desk.order(wallet)
    end = desk.follow(order["orderId"])
    assert end["status"] == "confirmed"
    gained = desk.held(wallet, "USDC") - usdc
    assert end["received"]["amount"] == str(gained)
    assert int(end["gasUsed"]) == int(desk.receipt(order["txHash"])["gasUsed"], 16)
    [row] = desk.history(wallet)["orders"]
    assert (row["orderId"], row["status"]) == (order["orderId"], "confirmed")


@pytest.mark.capability("a reverted swap is told")
def test_a_swap_that_reverts_on_the_chain_has_failed(desk: GethDesk) -> None:
    """The wallet itself sends it in public, after its tokens have gone."""
    wallet = desk.wallet()
    order_id, _ = desk.stuck(wallet)
    raw = desk.stuck_raw[order_id]
    tx_hash = desk.rpc("eth_sendRawTransaction", raw)
    desk.until(lambda: desk.receipt(tx_hash))
    assert desk.receipt(tx_hash)["status"] == "0x0"
    end = desk.follow(order_id)
    assert (end["status"], end["error"]["code"]) == ("failed", "REVERTED")


@pytest.mark.capability("approve and swap in one (delegated wallet)")
def test_a_delegated_wallet_approves_and_swaps_in_one(desk: GethDesk) -> None:
    wallet = desk.wallet()
    desk.delegate(wallet, CALIBUR)
    quote = desk.quote(wallet)
    assert quote["batch"]["delegate"] == CALIBUR
    order = data(desk.submit(signed_batch(wallet, quote)))["order"]
    assert desk.follow(order["orderId"])["status"] == "confirmed"
    assert desk.held(wallet, "WETH") == ETHER - int(quote["sellAmount"])
    assert allowance(desk, wallet, WETH, quote["dexRoute"]["target"]) == 0


@pytest.mark.capability("wallet RPC: viem, ethers")
@pytest.mark.parametrize("library", ["viem", "ethers"])
def test_a_library_swaps_through_the_rpc_url(desk: GethDesk, library: str) -> None:
    wallet = RpcWallet.of(desk)
    swap_with(library, desk, wallet)
    assert desk.held(wallet.account, "WETH") == ETHER - ETHER // 10


@pytest.mark.capability("readiness, serve --check, sources check")
def test_readiness_and_both_checks_pass(town: GethTown, tmp_path: Path) -> None:
    answers: dict[str, tuple[Any, str]] = doors(town, tmp_path, town.geth.url)
    assert {name: answer[0] for name, answer in answers.items()} == {
        "quote": 200, "readyz": 200, "sources": 0, "serve": 0,
    }  # fmt: skip
