"""Swaps with ETH by the command on a sandbox of their own: they would use up the client's requests
of a minute for the tests beside them.
"""

import json
import os
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from eth_account import Account

from quietswap.cli.demo_sandbox import SandboxInfo
from quietswap.client import QuietswapClient, node_calls
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.rules.amounts import format_units
from tests import loopback
from tests.cli.sandbox_process import ROOT, environment, run_command
from tests.cli.test_live_commands import FAST, holdings, machine
from tests.e2e.conftest import running_town
from tests.forked import Forked
from tests.waiting import LONG_S

pytestmark = pytest.mark.xdist_group("live-ether")


@pytest.fixture(scope="module")
def town() -> Iterator[SandboxInfo]:
    with running_town("--block-time", "0.5") as running:
        yield msgspec.convert(running.facts, SandboxInfo)


def counted(client: QuietswapClient, wallet: str) -> int:
    return client.node(node_calls.nonce(wallet, "latest"))


def listed(town: SandboxInfo, wallet: int, *words: str) -> list[list[str]]:
    """Return the commands that a quote lists."""
    done = run_command(["quote", *words], environment(town, wallet))
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.strip() for line in done.stdout.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("quietswap ")]


def test_the_command_of_a_quote_swaps_ether_and_back(town: SandboxInfo) -> None:
    """It signs as often as the plan says, and no gas is above its limit."""
    wallet, usdc = town.wallets[5].address, town.tokens["USDC"]
    with QuietswapClient(town.base_url, town.api_key, rpc_url=town.rpc_url) as client:
        before = holdings(town, 5)
        ether, signed = client.node(node_calls.eth_balance(wallet)), counted(client, wallet)
        plan = client.plan(SwapRequest("ETH", usdc, 10**18, wallet))
        assert (plan.refusal, plan.steps[0], plan.steps[-1]) == (None, "wrap", "swap")
        (swap,) = listed(town, 5, "1", "ETH", "USDC")
        received = int(machine(town, 5, *swap, *FAST)["received"])
        assert counted(client, wallet) - signed == plan.signatures
        cost = ether - client.node(node_calls.eth_balance(wallet)) - 10**18
        assert 0 < cost <= plan.max_gas_cost
        assert holdings(town, 5) == before | {"USDC": before["USDC"] + received}

        ether, signed = client.node(node_calls.eth_balance(wallet)), counted(client, wallet)
        plan = client.plan(SwapRequest(usdc, "ETH", received, wallet))
        assert (plan.refusal, plan.steps[-2:]) == (None, ("swap", "unwrap"))
        (swap,) = listed(town, 5, format_units(received, 6), "USDC", "ETH")
        arrived = int(machine(town, 5, *swap, *FAST)["received"])
        assert counted(client, wallet) - signed == plan.signatures
        cost = ether + arrived - client.node(node_calls.eth_balance(wallet))
        assert 0 < cost <= plan.max_gas_cost
        assert holdings(town, 5) == before


KILLS = {
    ("1", "ETH", "USDC"): ("wrap  ", "approval ", "order "),
    ("1000", "USDC", "ETH"): ("swapped", "unwrap  "),
}
"""The lines at which the process is killed: after a signature, a submission and a block."""


@pytest.mark.parametrize(
    ("words", "line"), [(words, line) for words, lines in KILLS.items() for line in lines]
)
def test_a_killed_swap_with_ether_does_nothing_twice(
    town: SandboxInfo, tmp_path: Path, words: tuple[str, ...], line: str
) -> None:
    """By the nonces: as many transactions as the plan has steps, however it was interrupted."""
    account = Account.create()
    loopback.post(town.rpc_url, json=funding(account.address)).raise_for_status()
    env = environment(town, 0) | {"XDG_STATE_HOME": str(tmp_path)}
    env |= {"QUIETSWAP_PRIVATE_KEY": "0x" + bytes(account.key).hex()}
    if words[1] == "USDC":
        first = run_command(["swap", "1", "ETH", "USDC", *FAST], env)
        assert first.returncode == 0, first.stdout + first.stderr
    with QuietswapClient(town.base_url, town.api_key, rpc_url=town.rpc_url) as client:
        before = counted(client, account.address)
        kill_at(line, ["swap", *words, *FAST], env)
        recorded = (tmp_path / "quietswap" / "orders.jsonl").read_text("utf-8").splitlines()
        trade = json.loads(recorded[-1])["trade"]
        again = run_command(["swap", "--resume", trade, *FAST], env)
        assert again.returncode == 0, again.stdout + again.stderr
        assert counted(client, account.address) - before == 3
        assert client.node(node_calls.token_balance(town.tokens["WETH"], account.address)) == 0


def funding(wallet: str) -> dict[str, Any]:
    """Return the call that gives a wallet ETH, and nothing else."""
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "anvil_setBalance",
        "params": [wallet, hex(10**19)],
    }


def kill_at(line: str, words: list[str], env: dict[str, str]) -> None:
    """Run a command and kill it when it prints this line of its progress."""
    reading, writing = os.pipe()
    process = Forked(words, env, stdout=writing, stderr=writing, folder=ROOT)
    os.close(writing)
    with os.fdopen(reading) as output:
        shown = []
        for each in output:
            shown.append(each)
            if f" s  {line}" in each:
                process.send_signal(signal.SIGKILL)
    process.wait(LONG_S)
    assert f" s  {line}" in "".join(shown), "".join(shown)
