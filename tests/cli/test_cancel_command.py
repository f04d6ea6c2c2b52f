"""`quietswap cancel` against the real service on the sandbox."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from eth_account import Account

from quietswap.cli.demo_sandbox import SandboxInfo
from quietswap.client import QuietswapClient
from quietswap.client.flows.approvals import ensure_allowance
from quietswap.client.flows.polling import PollingPolicy
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.client.signing import sign, to_sign
from tests import loopback
from tests.cli.sandbox_process import Piped, environment, run_command
from tests.spec.api_client import give_to_backup
from tests.waiting import LONG_S, wait_until

pytestmark = pytest.mark.xdist_group("live-cli")
ETHER = 10**18
FAST = ("--poll", "0.5", "--yes")


@contextmanager
def withheld(town: SandboxInfo, fault: str = "withhold") -> Iterator[None]:
    """Let the relay put nothing into a block."""
    loopback.put(f"{town.control_url}/faults/relay", json={"fault": fault}).raise_for_status()
    try:
        yield
    finally:
        loopback.delete(f"{town.control_url}/faults/relay").raise_for_status()


def opened(town: SandboxInfo, number: int) -> tuple[str, str, int]:
    """Return id, signed bytes and nonce of an order that was submitted."""
    account = Account.from_key(town.wallets[number].private_key)
    weth, usdc = town.tokens["WETH"], town.tokens["USDC"]
    polling = PollingPolicy(node_interval_s=0.2)
    with QuietswapClient(
        town.base_url, town.api_key, rpc_url=town.rpc_url, polling=polling
    ) as client:
        request = SwapRequest(weth, usdc, ETHER, account.address)
        quote = client.quote(request)
        client.run(
            ensure_allowance(
                token=weth, router=quote.dex_route.target, amount=2**255, wallet=account.address,
                signer=account, approval="max", polling=polling,
            )
        )  # fmt: skip
        quote = client.quote(request)
        raw = sign(to_sign(quote.mev_protection.transaction_params), account, account.address)
        placed = client.submit_order(quote, request, raw)
        nonce = quote.mev_protection.transaction_params.nonce
        assert nonce is not None
        return placed.order.order_id, raw, nonce


def started(town: SandboxInfo, number: int, order_id: str, nonce: int) -> Piped:
    """Run the command until the relay has its cancel."""
    before = held_by_relay(town)
    words = ["cancel", order_id, "--nonce", str(nonce), *FAST, "--json"]
    child = Piped(words, environment(town, number))

    def is_held() -> bool:
        assert child.poll() is None, child.communicate(LONG_S)
        return held_by_relay(town) > before

    wait_until(is_held, "no cancel came", every_s=0.1)
    return child


def held_by_relay(town: SandboxInfo) -> int:
    """Return how many transactions the relay was ever given."""
    return len(loopback.get(f"{town.control_url}/relay").json()["relay"]["transactions"])


def test_cancel_ends_the_order(town: SandboxInfo) -> None:
    with withheld(town):
        order_id, _, nonce = opened(town, 6)
        child = started(town, 6, order_id, nonce)
    out, err = child.communicate(timeout=LONG_S)
    assert child.returncode == 0, out + err
    answer = json.loads(out)
    assert answer["cancelled"] is True
    assert answer["order"]["error"]["code"] == "USER_CANCELLED"
    assert answer["cancel"]["status"] == "confirmed"
    assert answer["cancel"]["orderId"] != order_id
    assert "can be mined" in err


def test_a_swap_that_is_faster_is_told_as_such(town: SandboxInfo) -> None:
    with withheld(town):
        order_id, raw, nonce = opened(town, 7)
        child = started(town, 7, order_id, nonce)
        give_to_backup(town.settings_file, raw)
        out, err = child.communicate(timeout=LONG_S)
    assert child.returncode == 1, out + err
    answer = json.loads(out)
    assert (answer["cancelled"], answer["order"]["status"]) == (False, "confirmed")
    assert answer["cancel"]["error"]["code"] == "REPLACED"
    assert "The swap was faster" in err


def test_the_last_words_of_the_relay_are_shown(town: SandboxInfo) -> None:
    said = "the relay's last answer: HTTP 200, it says “[b]fee[/b] too low”"
    with withheld(town, "refuse:[b]fee[/b] too low"):
        order_id, _, _ = opened(town, 5)
        for words in (["history"], ["history", "--order", order_id]):
            shown = run_command(words, {**environment(town, 5), "COLUMNS": "200"})
            assert shown.returncode == 0, shown.stderr
            assert said in shown.stdout


def test_an_order_that_has_ended_is_not_cancelled(town: SandboxInfo) -> None:
    order_id, _, _ = opened(town, 2)
    with QuietswapClient(
        town.base_url, town.api_key, polling=PollingPolicy(interval_s=0.5)
    ) as client:
        assert client.follow(order_id).status == "confirmed"
    done = run_command(["cancel", order_id, *FAST, "--json"], environment(town, 2))
    assert done.returncode == 1, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert answer["error"] == "VALIDATION_ERROR"
    assert answer["details"]["reason"] == "ORDER_ENDED"
    assert "There is nothing to cancel" in done.stderr
