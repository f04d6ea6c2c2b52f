"""viem and ethers with a wallet's RPC URL as their only RPC: approve, swap, wait."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from quietswap.rules.tokens.token import WETH
from tests.e2e.conftest import USDC, Town
from tests.e2e.wallets import RpcWallet
from tests.spec.api_client import ETHER, ApiClient

FOLDER = Path(__file__).parent / "wallet_libraries"


@pytest.fixture
def desk(town: Town) -> Iterator[ApiClient]:
    with ApiClient(town) as found:
        yield found


@pytest.mark.parametrize("library", ["viem", "ethers"])
def test_a_library_swaps_through_the_rpc_url(desk: ApiClient, library: str) -> None:
    wallet = RpcWallet.of(desk)
    before = desk.held(wallet.account, "WETH")
    swap_with(library, desk, wallet)
    assert desk.held(wallet.account, "WETH") == before - ETHER // 10
    assert desk.town.control.get("/mempool-leaks").json()["leaks"] == []


def swap_with(library: str, desk: ApiClient, wallet: RpcWallet) -> None:
    """Approve and swap 0.1 WETH by the library, and wait until both are confirmed."""
    environment = {
        "PATH": os.environ["PATH"],
        "WALLET_RPC_URL": wallet.url,
        "API_URL": desk.town.facts["baseUrl"],
        "API_KEY": desk.secret,
        "PRIVATE_KEY": wallet.account.key.to_0x_hex(),
        "SELL_TOKEN": WETH,
        "BUY_TOKEN": USDC,
    }
    done = subprocess.run(
        ["node", str(FOLDER / f"{library}.mjs")],
        env=environment, capture_output=True, text=True, timeout=110, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    sent = json.loads(done.stdout)
    assert (sent["approval"]["status"], sent["swap"]["status"]) == (1, 1)
    assert wallet.decided(sent["swap"]["hash"]) == "confirmed"
    assert wallet.decided(sent["approval"]["hash"], "approval") == "confirmed"
