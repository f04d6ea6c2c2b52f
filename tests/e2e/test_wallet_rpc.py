"""The RPC URL of a wallet on a live sandbox, called by a plain JSON-RPC client."""

import json
import os
import time
from typing import Any

import pytest

from quietswap.service.wallet_rpc.dispatch import CONNECTED_DATA, CONNECTED_TO
from tests import forked, loopback
from tests.e2e.conftest import WETH, Town
from tests.waiting import WITHIN_S


class Node:
    """A JSON-RPC client of one URL that knows nothing of quietswap."""

    def __init__(self, url: str) -> None:
        self._url = url

    def raw(self, method: str, *params: Any) -> bytes:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return loopback.post(self._url, json=body, timeout=WITHIN_S).content

    def ask(self, method: str, *params: Any) -> Any:
        body = json.loads(self.raw(method, *params))
        assert "error" not in body, body
        return body["result"]

    def error(self, method: str, *params: Any) -> dict[str, Any]:
        error: dict[str, Any] = json.loads(self.raw(method, *params))["error"]
        return error


@pytest.fixture
def wallet(town: Town) -> Node:
    return Node(town.facts["walletRpcUrl"])


@pytest.fixture
def node(town: Town) -> Node:
    return Node(town.facts["rpcUrl"])


def rpc(town: Town, *words: str) -> Any:
    """Run `quietswap rpc` on the sandbox's settings."""
    file = town.facts["settingsFile"]
    done = forked.run(["rpc", *words, "--json", "--settings", file], os.environ)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_sandbox_s_url_is_bound_to_all_its_wallets(town: Town) -> None:
    url = town.facts["walletRpcUrl"]
    assert url.startswith(town.facts["baseUrl"] + "/rpc/qr_")
    [listed] = (one for one in rpc(town, "list") if one["name"] == "sandbox")
    assert listed["wallets"] == sorted(one["address"] for one in town.facts["wallets"])
    assert listed["revokedAt"] is None


def test_reads_are_the_node_s(town: Town, wallet: Node, node: Node) -> None:
    owner = town.facts["wallets"][3]["address"]
    number = node.ask("eth_blockNumber")
    block = node.ask("eth_getBlockByNumber", number, False)
    transfer = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
    balance_of = {"to": WETH, "data": "0x70a08231" + owner[2:].lower().rjust(64, "0")}
    for method, params in (
        ("eth_getBlockByNumber", (number, False)),
        ("eth_getBlockByNumber", (number, True)),
        ("eth_getBlockByHash", (block["hash"], True)),
        ("eth_getBalance", (owner, number)),
        ("eth_getCode", (WETH, number)),
        ("eth_getStorageAt", (WETH, "0x0", number)),
        ("eth_getTransactionCount", (owner, number)),
        ("eth_call", (balance_of, number)),
        ("eth_estimateGas", ({"from": owner, "to": WETH, "value": "0x1"}, number)),
        ("eth_feeHistory", ("0x2", number, [50])),
        ("eth_getLogs", ({"fromBlock": number, "toBlock": number, "topics": [transfer]},)),
        ("eth_getTransactionByHash", ("0x" + "1" * 64,)),
        ("eth_getTransactionReceipt", ("0x" + "1" * 64,)),
        ("eth_syncing", ()),
        ("eth_chainId", ()),
        ("net_version", ()),
    ):  # fmt: skip
        assert wallet.ask(method, *params) == node.ask(method, *params), method
    assert int(wallet.ask("eth_blockNumber"), 16) >= int(number, 16)
    assert int(wallet.ask("eth_gasPrice"), 16) > 0
    assert int(wallet.ask("eth_maxPriorityFeePerGas"), 16) >= 0
    assert wallet.ask("eth_accounts") == []


def test_a_revert_has_its_data(wallet: Node, node: Node) -> None:
    withdraw = {"to": WETH, "data": "0x2e1a7d4d" + "f" * 64}
    error = wallet.error("eth_call", withdraw, "latest")
    expected = node.error("eth_call", withdraw, "latest")
    assert (error["code"], error.get("data")) == (expected["code"], expected.get("data"))


def test_an_internal_error_of_the_node_is_no_error_of_the_service(wallet: Node, node: Node) -> None:
    creates = {"data": "0xfe"}
    assert node.error("eth_call", creates, "latest")["code"] == -32603, "as anvil answers"
    assert wallet.error("eth_call", creates, "latest")["code"] == -32000


def test_a_page_finds_out_which_url_the_wallet_uses(town: Town, wallet: Node, node: Node) -> None:
    check = {"to": CONNECTED_TO, "data": CONNECTED_DATA}
    answer = bytes.fromhex(wallet.ask("eth_call", check, "latest")[2:])
    token_id = answer[64 : 64 + int.from_bytes(answer[32:64])].decode()
    assert token_id in {one["id"] for one in rpc(town, "list")}
    assert node.ask("eth_call", check, "latest") == "0x"


def test_what_a_node_can_do_beyond_reading_does_not_exist(town: Town, wallet: Node) -> None:
    owner = town.facts["wallets"][3]["address"]
    for method in ("anvil_setBalance", "evm_mine", "eth_sendTransaction", "eth_sign"):
        assert wallet.error(method, owner, "0x0")["code"] == -32601


def test_a_url_made_over_http_works_until_it_is_revoked(town: Town) -> None:
    owner = town.facts["wallets"][2]["address"]
    made = town.api.post("/api/v1/mev/rpc", json={"wallets": [owner]}).json()["data"]["token"]
    url = Node(made["url"])
    assert url.ask("eth_chainId") == "0x1"
    listed = town.api.get("/api/v1/mev/rpc").json()["data"]["tokens"]
    assert made["id"] in {one["id"] for one in listed}
    assert town.api.delete(f"/api/v1/mev/rpc/{made['id']}").status_code == 200
    _until_refused(url)


def test_a_url_made_by_the_operator_works_until_it_is_revoked(town: Town) -> None:
    key = rpc(town, "list")[0]["keyId"]
    made = rpc(town, "create", "--key", key, "--wallet", town.facts["wallets"][1]["address"])
    url = Node(made["url"])
    assert url.ask("eth_chainId") == "0x1"
    rpc(town, "revoke", made["id"])
    _until_refused(url)


def _until_refused(url: Node) -> None:
    """Call until the URL is refused: it is cached for a second."""
    ends = time.monotonic() + 30
    while time.monotonic() < ends:
        if json.loads(url.raw("eth_chainId")).get("error", {}).get("code") == -32001:
            return
        time.sleep(0.1)
    pytest.fail("a revoked URL still works after 30 s")


def test_a_node_that_is_down_is_told_and_a_wallet_reads_again_after_it(
    town: Town, wallet: Node
) -> None:
    town.fault("node", "down")
    try:
        assert wallet.error("eth_gasPrice")["code"] == -32002
        assert wallet.ask("eth_chainId") == "0x1"
    finally:
        town.heal("node")
    assert int(wallet.ask("eth_gasPrice"), 16) > 0
