"""Swaps with ETH by command and tools, on a sandbox beside that of the other commands."""

import asyncio
import json
import re
import shlex
import signal
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from eth_account import Account
from mcp import Client

from quietswap.cli.demo_sandbox import SandboxInfo
from quietswap.client import QuietswapClient, node_calls
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.rules.amounts import format_units
from quietswap.sandbox.contracts.pools import USDC
from tests import loopback
from tests.batches import delegated
from tests.cli.mcp_sessions import call, over_http, signed_by, variables
from tests.cli.sandbox_process import Piped, environment, run_command
from tests.cli.test_cancel_command import withheld
from tests.cli.test_live_commands import FAST, holdings, machine
from tests.e2e.conftest import running_town
from tests.forked import Forked
from tests.waiting import LONG_S, wait_until

pytestmark = pytest.mark.xdist_group("live-ether")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[SandboxInfo]:
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


def seller(town: SandboxInfo, folder: Path, words: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """Return a new wallet that holds what `words` sell, and its environment with a record there."""
    account = Account.create()
    loopback.post(town.rpc_url, json=funding(account.address)).raise_for_status()
    env = environment(town, 0) | {"XDG_STATE_HOME": str(folder)}
    env |= {"QUIETSWAP_PRIVATE_KEY": "0x" + bytes(account.key).hex()}
    if words[1] == "USDC":
        place = [USDC.address, USDC.balance_key(account.address), f"0x{USDC.units(5000):064x}"]
        gift = funding(account.address) | {"method": "anvil_setStorageAt", "params": place}
        loopback.post(town.rpc_url, json=gift).raise_for_status()
    return account.address, env


@pytest.mark.parametrize(
    ("words", "line"), [(words, line) for words, lines in KILLS.items() for line in lines]
)
def test_a_killed_swap_with_ether_does_nothing_twice(
    town: SandboxInfo, tmp_path: Path, words: tuple[str, ...], line: str
) -> None:
    """By the nonces: as many transactions as the plan has steps, however it was interrupted."""
    wallet, env = seller(town, tmp_path, words)
    with QuietswapClient(town.base_url, town.api_key, rpc_url=town.rpc_url) as client:
        before = counted(client, wallet)
        kill_at(line, ["swap", *words, *FAST], env)
        recorded = (tmp_path / "quietswap" / "orders.jsonl").read_text("utf-8").splitlines()
        trade = json.loads(recorded[-1])["trade"]
        again = run_command(["swap", "--resume", trade, *FAST], env)
        assert again.returncode == 0, again.stdout + again.stderr
        assert counted(client, wallet) - before == 3
        assert client.node(node_calls.token_balance(town.tokens["WETH"], wallet)) == 0


def signs_in_one(town: SandboxInfo, wallet: str) -> None:
    code = {"method": "anvil_setCode", "params": [wallet, delegated()]}
    loopback.post(town.rpc_url, json=funding(wallet) | code).raise_for_status()


BATCH = ("--approve", "batch", *FAST)


@pytest.mark.parametrize("words", [("1", "ETH", "USDC"), ("1000", "USDC", "ETH")])
@pytest.mark.parametrize("line", ["batch  ", "order "])
def test_a_killed_batch_with_ether_is_told_and_not_made_twice(
    town: SandboxInfo, tmp_path: Path, words: tuple[str, ...], line: str
) -> None:
    """The same command is refused until its end was told, also after its block."""
    wallet, env = seller(town, tmp_path, words)
    signs_in_one(town, wallet)
    with QuietswapClient(town.base_url, town.api_key, rpc_url=town.rpc_url) as client:
        before = counted(client, wallet)
        kill_at(line, ["swap", *words, *BATCH], env)
        if line == "order ":
            wait_until(lambda: counted(client, wallet) == before + 1)
        again = run_command(["swap", *words, *BATCH], env)
        assert again.returncode == 1, again.stdout + again.stderr
        (resume,) = re.findall(r"^ *quietswap (swap --resume .*)$", again.stdout, re.MULTILINE)
        end = run_command([*shlex.split(resume), "--json", "--yes"], env)
        assert end.returncode == 0, end.stdout + end.stderr
        told = json.loads(end.stdout.splitlines()[-1])
        assert (told["ok"], list(told["steps"])) == (True, ["batch"])
        assert int(told["received"]) >= int(told["minimum"])
        assert counted(client, wallet) == before + 1
        if words[0] == "1":
            other = run_command(["swap", *words, *BATCH], env)
            assert other.returncode == 0, other.stdout + other.stderr
            assert counted(client, wallet) == before + 2


def ready_url(log: Path) -> str:
    wait_until(lambda: "ready: " in log.read_text())
    (url,) = re.findall(r"ready: (\S+)", log.read_text())
    return str(url)


@asynccontextmanager
async def tools(env: Mapping[str, str], log: Path) -> AsyncIterator[tuple[Forked, Client]]:
    """Start the tools for a model over HTTP; return the process and a session with it."""
    with log.open("wb") as stderr:
        process = Forked(["mcp", "--http", "0"], env, stderr=stderr.fileno())
    try:
        async with over_http(ready_url(log), env["QUIETSWAP_MCP_TOKEN"]) as model:
            yield process, model
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(LONG_S)


@pytest.mark.parametrize("step", ["wrap", "swap"])
async def test_killed_tools_do_nothing_twice(town: SandboxInfo, tmp_path: Path, step: str) -> None:
    """Killed while a step is open; another process goes on with what is recorded."""
    account = Account.create()
    loopback.post(town.rpc_url, json=funding(account.address)).raise_for_status()
    env = variables(town, tmp_path) | {"QUIETSWAP_MCP_TOKEN": "t" * 40}
    record, request = tmp_path / "quietswap" / "orders.jsonl", {"wallet": account.address}
    request |= {"sell": "ETH", "buy": "USDC", "amount": "1"}
    async with tools(env, tmp_path / "first.log") as (process, model):
        ready = await call(model, "prepare_swap", **request)
        assert ready["swapWithEth"]["steps"] == ["wrap", "approve", "swap"]
        while ready["kind"] != step:
            done = await call(model, "submit_signed", **submission(account, ready))
            ready = await call(model, "resume_swap", trade=done["trade"])
        with withheld(town):
            lines = record.read_text().count("\n") if record.exists() else -1
            sending = asyncio.create_task(
                model.call_tool("submit_signed", submission(account, ready))
            )
            await asyncio.to_thread(
                wait_until, lambda: record.exists() and record.read_text().count("\n") > lines
            )
            process.send_signal(signal.SIGKILL)
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
    trade = json.loads(record.read_text("utf-8").splitlines()[-1])["trade"]
    async with tools(env, tmp_path / "second.log") as (_, model):
        while not (ready := await call(model, "resume_swap", trade=trade)).get("final"):
            await call(model, "submit_signed", **submission(account, ready))
    assert ready["ok"]
    with QuietswapClient(town.base_url, town.api_key, rpc_url=town.rpc_url) as client:
        assert counted(client, account.address) == 3
        assert client.node(node_calls.token_balance(town.tokens["WETH"], account.address)) == 0


def submission(account: Any, ready: Mapping[str, Any]) -> dict[str, str]:
    raw = signed_by(account, ready)
    return {"prepared_id": ready["preparedId"], "signed_transaction": raw}


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
    process, shown = Piped(words, env, joined=True), ""
    for each in process.stdout:
        shown += each
        if f" s  {line}" in each:
            process.send_signal(signal.SIGKILL)
    process.communicate(LONG_S)
    assert f" s  {line}" in shown, shown
