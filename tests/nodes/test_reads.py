"""Every read that the product makes, on geth and on anvil: the answers have the same shape."""

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from quietswap.rules.tokens.token import WETH
from quietswap.sandbox.http_server import HttpRequest, HttpResponse
from quietswap.service.wallet_rpc.parameters import READS
from tests.e2e.conftest import Town, running_town
from tests.e2e.test_delegated_wallets import Person, by_command, by_python, by_rpc, by_typescript
from tests.e2e.wallets import RpcWallet
from tests.nodes.town import GethDesk, GethTown, listening, visited
from tests.reports.proxy import RpcProxy
from tests.spec.api_client import ApiClient
from tests.typescript.package import TypeScript, needs_packages

SETTERS = {"anvil_setBalance", "anvil_setStorageAt"}
"""How a desk on anvil makes its wallets."""
AMSTERDAM = re.compile(r"BUILDER_(DEPOSIT|EXIT)_CONTRACT|[bB]lockAccessList|slotNumber")
DIFFERENT = {
    "eth_feeHistory": {".blobGasUsedRatio[]"},
    "eth_getBlockByHash": {".totalDifficulty"},
    "eth_getBlockByNumber": {".totalDifficulty"},
    "eth_getTransactionReceipt": {".blobGasPrice", ".blockTimestamp"},
    "eth_simulateV1": {
        "[].blobGasUsed", "[].excessBlobGas", "[].parentBeaconBlockRoot", "[].requestsHash",
        "[].size", "[].withdrawalsRoot", "[].calls[].maxUsedGas", "[].calls[].error.data",
    },
}  # fmt: skip
"""Members that only one of the two has. The product reads `maxUsedGas` alone, where it is there."""
Shape = dict[str, set[str]]
"""What stands at each path of a method's results."""


ADDRESS = 42


class Recorder(RpcProxy):
    """Hands every call on, and keeps the shape of each result by its method."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.shapes: defaultdict[str, Shape] = defaultdict(lambda: defaultdict(set))

    async def forward(self, request: HttpRequest) -> HttpResponse:
        reply = await super().forward(request)
        calls, answers = json.loads(request.body), json.loads(reply.body)
        results = {a["id"]: a.get("result") for a in as_list(answers) if "error" not in a}
        for call in as_list(calls):
            if call["id"] in results:
                note(self.shapes[call["method"]], "", results[call["id"]])
        return reply


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def note(shape: Shape, path: str, value: Any) -> None:
    if isinstance(value, dict):
        for name, each in value.items():
            note(shape, f"{path}.{name}", each)
    elif isinstance(value, list):
        for each in value:
            note(shape, f"{path}[]", each)
    else:
        shape[path].add(kind(value))


def kind(value: Any) -> str:
    """Return how a value is written: what a reader of it relies on."""
    if not isinstance(value, str) or not value.startswith("0x"):
        return type(value).__name__
    if re.fullmatch("0x([0-9a-f]{2})*", value) and len(value) == ADDRESS:
        return "address"
    if re.fullmatch("0x([0-9a-f]{2})*|0x(0|[1-9a-f][0-9a-f]*)", value):
        return "number or data"
    return f"odd hex {value[:20]}"


def recorded(town: Town, kind: type[ApiClient], folder: Path, ts: TypeScript) -> dict[str, Shape]:
    """Use the product at each of its doors, its node behind a recorder."""
    recorder = Recorder(town.facts["rpcUrl"])
    with listening(recorder) as url, visited(town, folder, kind, NODE__URLS=url) as desk:
        for door in (by_python, by_typescript, by_command, by_rpc):
            person = Person(desk, desk.wallet(), folder, ts, ("", 0))
            assert door(person, "swap") == ""
            assert door(person, "unwrap") == ""
        swapped = desk.history(person.wallet, kind="swap")["orders"][0]["txHash"]
        ask_all(RpcWallet.of(desk), desk, swapped)
    return recorder.shapes


def ask_all(wallet: RpcWallet, desk: ApiClient, swap_hash: str) -> None:
    """Send each read that the wallet RPC hands on."""
    account, tx_hash = wallet.account.address, desk.use_nonce(wallet.account, 0)
    block = wallet.call("eth_getBlockByNumber", "latest", False)
    swap_block = wallet.call("eth_getTransactionReceipt", swap_hash)["blockHash"]
    call = {"from": account, "to": WETH, "data": "0x18160ddd"}
    arguments: dict[str, list[Any]] = {
        "eth_getBlockByNumber": ["latest", True],
        "eth_getBlockByHash": [block["hash"], False],
        "eth_getBalance": [account, "latest"],
        "eth_getCode": [WETH, "latest"],
        "eth_getStorageAt": [WETH, "0x0", "latest"],
        "eth_call": [call, "latest"],
        "eth_estimateGas": [call, "latest"],
        "eth_feeHistory": ["0x2", "latest", [50]],
        "eth_getLogs": [{"blockHash": swap_block, "address": WETH}],
        "eth_getTransactionCount": [account, "latest"],
        "eth_getTransactionByHash": [tx_hash],
        "eth_getTransactionReceipt": [tx_hash],
    }
    for method in READS:
        wallet.call(method, *arguments.get(method, []))


@needs_packages
@pytest.mark.today_in_short
@pytest.mark.capability("each read has the shape of the sandbox's")
def test_answers_have_the_shape_of_anvils(
    town: GethTown, tmp_path: Path, typescript: TypeScript, tmp_path_factory: pytest.TempPathFactory
) -> None:
    on_geth = recorded(town, GethDesk, tmp_path, typescript)
    with running_town("--block-time", "0.5") as on_anvil:
        folder = tmp_path_factory.mktemp("anvil")
        expected = recorded(on_anvil, ApiClient, folder, typescript)
    methods = set(expected) - SETTERS
    assert methods == set(on_geth)
    assert methods >= set(READS)
    differing = {method: unequal(expected[method], on_geth[method]) for method in methods}
    for method, paths in differing.items():
        assert paths <= DIFFERENT.get(method, set()), (method, paths)
    assert "[].calls[].maxUsedGas" in differing["eth_simulateV1"]


def unequal(one: Shape, other: Shape) -> set[str]:
    """Return the paths at which two shapes differ, but for those of Amsterdam alone."""
    paths = {path for path in one.keys() | other.keys() if one.get(path) != other.get(path)}
    return {path for path in paths if path in one or not AMSTERDAM.search(path)}
