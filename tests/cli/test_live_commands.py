"""The commands against the real service on the sandbox, as processes of their own."""

import json
import shlex
import signal
import subprocess
from typing import Any

import pytest
from eth_account import Account

from quietswap.cli.demo_sandbox import SandboxInfo
from quietswap.client import QuietswapClient, node_calls
from quietswap.client.flows.approvals import ensure_allowance
from quietswap.client.flows.polling import PollingPolicy
from quietswap.client.flows.quote_checks import SwapRequest
from tests import loopback
from tests.cli.sandbox_process import ROOT, Piped, environment, quietswap, run_command
from tests.cli.test_cancel_command import withheld
from tests.cli.test_terminal import Terminal
from tests.waiting import LONG_S

pytestmark = pytest.mark.xdist_group("live-cli")
FAST = ("--poll", "0.5", "--yes")


def machine(town: SandboxInfo, wallet: int, *words: str) -> Any:
    """Run a command with --json; return its answer and check that it is one line."""
    done = run_command([*words, "--json"], environment(town, wallet))
    assert done.stdout.count("\n") == 1, done.stdout + done.stderr
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def holdings(town: SandboxInfo, wallet: int) -> dict[str, int]:
    address = town.wallets[wallet].address
    with QuietswapClient(town.base_url, town.api_key, rpc_url=town.rpc_url) as client:
        return {
            symbol: client.node(node_calls.token_balance(token, address))
            for symbol, token in town.tokens.items()
        }


def test_swap_says_what_the_chain_says(town: SandboxInfo) -> None:
    before = holdings(town, 3)
    answer = machine(town, 3, "swap", "1", "WETH", "USDC", *FAST)
    after = holdings(town, 3)
    assert answer["order"]["status"] == "confirmed"
    assert after["USDC"] - before["USDC"] == int(answer["received"])
    assert int(answer["received"]) >= int(answer["minimum"])
    assert before["WETH"] - after["WETH"] == 10**18
    assert [len(answer["approvals"]), len(answer["quote"]["sources"])] == [1, 4]


def test_what_must_arrive_arrives_for_no_more_than_was_allowed(town: SandboxInfo) -> None:
    before = holdings(town, 3)
    quote = machine(town, 3, "quote", "WETH", "--receive", "1000", "USDC")
    assert 1000 * 10**6 <= int(quote["minBuyAmount"]) <= 1005 * 10**6
    words = ("swap", "WETH", "--receive", "1000", "USDC", "--max-sell", "0.5", *FAST)
    answer = machine(town, 3, *words)
    after = holdings(town, 3)
    sold = before["WETH"] - after["WETH"]
    assert sold == int(answer["quote"]["sellAmount"]) <= 5 * 10**17
    assert after["USDC"] - before["USDC"] == int(answer["received"]) >= 1000 * 10**6


def test_swap_of_a_token_that_wants_its_allowance_reset(town: SandboxInfo) -> None:
    account = Account.from_key(town.wallets[4].private_key)
    usdt, weth = town.tokens["USDT"], town.tokens["WETH"]
    with QuietswapClient(
        town.base_url,
        town.api_key,
        rpc_url=town.rpc_url,
        polling=PollingPolicy(node_interval_s=0.2),
    ) as client:
        quote = client.quote(SwapRequest(usdt, weth, 10**9, account.address))
        client.run(
            ensure_allowance(
                token=usdt, router=quote.dex_route.target, amount=5, wallet=account.address,
                signer=account, approval="exact", polling=client.polling,
            )
        )  # fmt: skip
        answer = machine(town, 4, "swap", "1000", "USDT", "WETH", *FAST)
        assert [int(each["amount"]) for each in answer["approvals"]][:2] == [0, 10**9]
        left = client.node(
            node_calls.allowance(usdt, account.address, answer["quote"]["dexRoute"]["target"])
        )
    assert left == 0


def test_balances(town: SandboxInfo) -> None:
    answer = machine(town, 0, "balances")
    held = {symbol: int(amount) for symbol, amount in answer["balances"].items()}
    assert held.pop("ETH") > 0
    assert held == holdings(town, 0)


def test_tokens_prices_and_allowances(town: SandboxInfo) -> None:
    usdc, weth = town.tokens["USDC"], town.tokens["WETH"]
    found = machine(town, 0, "tokens", usdc)["tokens"][0]
    assert (found["symbol"], found["decimals"], found["transferFeeBps"]) == ("USDC", 6, 0)
    price = machine(town, 0, "price", "1", "WETH", "USDC")
    assert (price["sellToken"], price["buyToken"]) == (weth, usdc)
    assert price["indicative"]
    assert len(price["sources"]) == 4
    assert [row["source"] for row in price["sources"] if row["buyAmount"]] == ["uniswap"]
    held = machine(town, 0, "balances", "WETH", "USDC", "--allowances")
    expected = holdings(town, 0)
    assert held["balances"]["USDC"] == str(expected["USDC"])
    assert set(held["allowances"]) == {"WETH", "USDC"}


def test_wrap_and_unwrap(town: SandboxInfo) -> None:
    before = holdings(town, 5)
    machine(town, 5, "wrap", "2", "--yes")
    machine(town, 5, "unwrap", "0.5", "--yes")
    after = holdings(town, 5)
    assert after["WETH"] - before["WETH"] == 15 * 10**17


def approve_best_route(town: SandboxInfo, wallet: int, sell: str, buy: str) -> None:
    account = Account.from_key(town.wallets[wallet].private_key)
    tokens = town.tokens[sell], town.tokens[buy]
    with QuietswapClient(town.base_url, town.api_key, rpc_url=town.rpc_url) as client:
        quote = client.quote(SwapRequest(*tokens, 10**18, account.address))
        client.run(
            ensure_allowance(
                token=tokens[0], router=quote.dex_route.target, amount=10**18,
                wallet=account.address, signer=account, approval="max", polling=client.polling,
            )
        )  # fmt: skip


def started(town: SandboxInfo, wallet: int, *words: str) -> Piped:
    """Run a swap until it says that its transaction is submitted."""
    process = Piped(["swap", *words], environment(town, wallet), joined=True)
    for line in process.stdout:
        if "submitted" in line:
            break
    return process


@pytest.mark.parametrize("names", [["SIGINT"], ["SIGTERM"], ["SIGHUP", "SIGHUP", "SIGTERM"]])
def test_an_interruption_leaves_the_order_and_history_follows_it(
    town: SandboxInfo, names: list[str]
) -> None:
    approve_best_route(town, 6, "WETH", "DAI")
    loopback.post(f"{town.control_url}/pause_mining")  # it must be open when the signal comes
    try:
        process = started(town, 6, "1", "WETH", "DAI", "--yes", "--poll", "30")
        for name in names:
            process.send_signal(signal.Signals[name])
        rest = process.communicate(timeout=LONG_S)[0]
    finally:
        loopback.post(f"{town.control_url}/resume_mining")
    assert process.returncode == 4, rest
    hint = next(line for line in rest.splitlines() if "--follow" in line)
    words = hint.split()[1:]
    done = run_command([*words, "--poll", "0.5"], environment(town, 6))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "confirmed" in done.stdout
    newest = machine(town, 6, "history")["orders"][0]  # other tests trade from this wallet too
    assert newest["orderId"] in words
    assert newest["status"] == "confirmed"


def test_a_closed_terminal_does_not_stop_a_swap_under_nohup(town: SandboxInfo) -> None:
    process = subprocess.Popen(
        ["nohup", *quietswap("swap", "0.1", "WETH", "USDC", *FAST, "--json")], cwd=ROOT,
        env=environment(town, 2), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:
        if "submitted" in line:
            break
    process.send_signal(signal.SIGHUP)
    out, rest = process.communicate(timeout=LONG_S)
    assert (process.returncode, json.loads(out)["ok"]) == (0, True), rest


def test_too_poor(town: SandboxInfo) -> None:
    done = run_command(["swap", "999999", "WETH", "USDC", *FAST, "--json"], environment(town, 7))
    assert done.returncode == 1
    assert json.loads(done.stdout)["ok"] is False


def test_people_read_it_in_a_pipe(town: SandboxInfo) -> None:
    done = run_command(["swap", "900", "DAI", "WETH", *FAST], environment(town, 7))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\x1b" not in done.stdout
    assert [line for line in done.stdout.splitlines() if len(line) > 80] == []
    sources = ("kyberswap", "velora", "sushi", "uniswap")
    for word in (*sources, "approval", "approved", "received", "confirmed"):
        assert word in done.stdout
    key = town.wallets[7].private_key
    assert not any(secret in done.stdout + done.stderr for secret in (key, key[2:], town.api_key))


def test_a_service_stopped_in_the_middle_leaves_a_way_back(town: SandboxInfo) -> None:
    """Its node stays away: the service answers 503 until then, and the order is not lost."""
    url = f"{town.control_url}/faults/node"
    process = started(town, 2, "0.2", "WETH", "USDC", *FAST)
    loopback.put(url, json={"fault": "down"}).raise_for_status()
    try:
        status = run_command(["balances"], environment(town, 2))
        assert (status.returncode, "SERVICE_UNAVAILABLE" in status.stdout) == (1, True)
    finally:
        loopback.delete(url).raise_for_status()
    rest = process.communicate(timeout=LONG_S)[0]
    assert process.returncode == 0, rest
    assert "received" in rest


def test_why_a_source_gave_no_route(town: SandboxInfo) -> None:
    """A vendor's sentence is quoted as its own, and what it does not take is not asked."""
    fault = f"{town.control_url}/faults/kyberswap"
    loopback.put(fault, json={"fault": "no_route"}).raise_for_status()
    try:
        words = ("1", "WETH", "USDC", "--slippage-bps")
        done = run_command(["quote", *words, "50"], environment(town, 3))
        said = " ".join(done.stdout.split())
        assert "no route: vendor: “route not found” (code 4008)" in said, done.stdout
        rows = machine(town, 3, "quote", *words, "2001")["sources"]
    finally:
        loopback.delete(fault).raise_for_status()
    [report] = [row for row in rows if row["source"] == "kyberswap"]
    assert report["outcome"] == "skipped"
    assert report["reason"] == "its vendor takes a slippage of 0 to 2000 bps"


def test_quote_and_swap_fit_a_screen_of_80_columns_and_24_lines(town: SandboxInfo) -> None:
    """Four sources, one of them refused, and an approval: up to the question, with its line."""
    env, fault = environment(town, 5), f"{town.control_url}/faults/velora"
    loopback.put(fault, json={"fault": "foreign_router"}).raise_for_status()
    try:
        quoted = run_command(["quote", "100", "USDC", "DAI"], env | {"COLUMNS": "80"}).stdout
        with Terminal(["swap", "100", "USDC", "DAI"], env) as screen:
            screen.expect("Sign and submit? [y/N]: ")
            lines = screen.text.splitlines()
            screen.type("n\n")
            assert screen.end() == 1
    finally:
        loopback.delete(fault).raise_for_status()
    assert quoted.count("why not") == 0  # the reasons are below the figures
    assert len(quoted.splitlines()) <= 24
    for text in (*("kyberswap", "velora", "sushi", "uniswap"), "approve", "sign for", "nonce"):
        assert text in screen.text
    assert len(lines) <= 24, screen.text


def test_shares_of_a_balance_and_the_gas_that_a_wrap_of_all_leaves(town: SandboxInfo) -> None:
    wallet, before = 1, holdings(town, 1)
    machine(town, wallet, "swap", "2.5%", "DAI", "WETH", *FAST)
    assert holdings(town, wallet)["DAI"] == before["DAI"] - before["DAI"] // 40
    machine(town, wallet, "unwrap", "all", "--yes")
    assert holdings(town, wallet)["WETH"] == 0
    machine(town, wallet, "wrap", "all", "--yes")
    again = machine(town, wallet, "swap", "1", "WETH", "USDC", *FAST)
    assert len(again["approvals"]) == 1, "what was kept pays for an approval and a swap"
    machine(town, wallet, "unwrap", "50%", "--yes")


def test_a_swap_queues_behind_an_open_order(town: SandboxInfo) -> None:
    approve_best_route(town, 3, "WETH", "DAI")
    words = ("0.1", "WETH", "DAI", "--yes", "--poll", "0.5")
    with withheld(town):
        first = started(town, 3, *words)
        refused = run_command(["swap", *words], environment(town, 3))
        assert refused.returncode == 1, refused.stdout
        hint = next(line for line in refused.stdout.splitlines() if "--nonce" in line)
        second = started(town, 3, *shlex.split(hint)[2:], "--yes", "--poll", "0.5")
    for process in (first, second):
        rest = process.communicate(timeout=LONG_S)[0]
        assert process.returncode == 0, rest
