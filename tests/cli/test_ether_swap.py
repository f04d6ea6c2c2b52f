"""`quietswap swap` with ETH: one command, every step once, and a command that goes on."""

import errno
import io
import json
import re
import shlex
import sys
from pathlib import Path
from typing import IO, Any

import click
import pytest
from click.testing import Result

from quietswap.cli.flows.ether_swap import EtherSwapRun
from quietswap.cli.options import connection
from quietswap.cli.options.signing import EnvironmentKey
from quietswap.cli.signed_orders import SignedOrdersFile
from quietswap.client import SubmittedTransaction, TradeResult, TradeStep
from quietswap.rules.quotes.request import WrapBalances
from quietswap.rules.tokens.token import WETH
from tests.api.scripted_use_cases import ROUTER
from tests.cli.conftest import Quietswap
from tests.client.ether_chain import BROUGHT, EtherChain, quoting, trading
from tests.client.fake_servers import ETHER, FakeService, ok
from tests.response_json import wraps
from tests.stored_orders import USDC

FROM_ETHER = ("swap", "1", "ETH", "USDC")
TO_ETHER = ("swap", "3000", "USDC", "ETH")
STEPS = {FROM_ETHER: ["wrap", "approve", "swap"], TO_ETHER: ["approve", "swap", "unwrap"]}
BOTH = pytest.mark.parametrize("words", [FROM_ETHER, TO_ETHER], ids=["from ETH", "to ETH"])
WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"


@pytest.fixture
def node() -> EtherChain:
    return EtherChain()


@pytest.fixture
def service(node: EtherChain) -> FakeService:
    return trading(node)


@pytest.fixture(autouse=True)
def state(environment: dict[str, str | None], tmp_path: Path) -> Path:
    environment["XDG_STATE_HOME"] = str(tmp_path)
    return tmp_path


def funded(node: EtherChain, words: tuple[str, ...]) -> list[str]:
    node.held[USDC] = 3_000_000_000 if words == TO_ETHER else 0
    return STEPS[words]


@BOTH
def test_the_gas_of_all_transactions_is_told(
    quietswap: Quietswap, node: EtherChain, words: tuple[str, ...]
) -> None:
    funded(node, words)
    done = quietswap(*words, "--yes", "--json")
    told = json.loads(done.stdout)
    fees = [
        int(each["gasUsed"], 16) * int(each["effectiveGasPrice"], 16)
        for each in node.receipts.values()
    ]
    assert len(fees) == 3
    assert told["gasPaidWei"] == str(sum(fees))


@BOTH
def test_the_gas_of_the_swap_is_named_so(
    quietswap: Quietswap, node: EtherChain, words: tuple[str, ...]
) -> None:
    funded(node, words)
    text = " ".join(quietswap(*words, "--yes").stdout.split())
    assert "swap gas " in text
    assert re.search(r"all gas 0\.\d+ ETH for 3 transactions", text)


def commands(result: Result) -> list[list[str]]:
    """Return the words of each printed command."""
    lines = [line.strip() for line in result.output.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("quietswap ")]


@BOTH
def test_one_command_shows_all_signatures_and_makes_them(
    quietswap: Quietswap, node: EtherChain, words: tuple[str, ...]
) -> None:
    steps = funded(node, words)
    result = quietswap(*words, "--yes")
    assert (result.exit_code, node.steps) == (0, steps), result.output
    shown, _, done = result.stdout.partition("with nonce 7")
    text = " ".join(shown.split())
    assert f"to sign {', '.join(steps)}: 3 signatures" in text
    assert "36 s at least" in text
    assert f"to {steps[0] if words == FROM_ETHER else 'unwrap'}" in text
    assert max(map(len, result.stdout.splitlines())) <= 80 + len("tx 0x" + 64 * "0")
    assert ("received   2,994 USDC" if words == FROM_ETHER else "received   0.999 ETH") in done


class Refusals:
    """Signs, and refuses signature number `at`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
        self._sign, self._left = EnvironmentKey.__call__, at
        monkeypatch.setattr(EnvironmentKey, "__call__", self.sign_or_refuse(self))

    @staticmethod
    def sign_or_refuse(it: "Refusals") -> Any:
        def sign(key: EnvironmentKey, transaction: dict[str, Any]) -> bytes:
            it._left -= 1
            if it._left == -1:
                raise click.ClickException("refused")
            return it._sign(key, transaction)

        return sign


@pytest.mark.parametrize("at", [0, 1, 2])
@BOTH
def test_a_declined_signature_names_the_command_that_goes_on(
    quietswap: Quietswap,
    node: EtherChain,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    at: int,
) -> None:
    steps = funded(node, words)
    Refusals(monkeypatch, at)
    typed = ("--wallet", WALLET, "--slippage-bps", "60")
    result = quietswap(*words, *typed, "--yes")
    assert (result.exit_code, node.steps) == (1, steps[:at]), result.output
    again = commands(result)
    if any(step != "approve" for step in node.steps):
        (again_words,) = again
        assert again_words[:2] == ["swap", "--resume"]
        assert again_words[3:] == ["--slippage-bps", "60", "--wallet", WALLET]
    else:
        assert again == [], "nothing is recorded: the same command begins with what is left"
        again_words = [*words]
    assert quietswap(*again_words, "--yes").exit_code == 0
    assert node.steps == steps


@pytest.mark.parametrize(
    ("words", "moment", "code", "says"),
    [
        (FROM_ETHER, "wrap signed", 4, "the wrap was signed and may still be mined: nonce 7"),
        (FROM_ETHER, "wrap mined", 1, "1 ETH wrapped"),
        (FROM_ETHER, "swap signed", 4, "1 ETH wrapped, and the swap was signed and may still"),
        (TO_ETHER, "swap mined", 1, "0.999 WETH swapped"),
        (TO_ETHER, "unwrap signed", 4, "0.999 WETH swapped, and the unwrap was signed and may"),
    ],
)
def test_ctrl_c_says_what_is_done_and_goes_on(
    quietswap: Quietswap,
    node: EtherChain,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    moment: str,
    code: int,
    says: str,
) -> None:
    steps, show = funded(node, words), EtherSwapRun._print_step

    def interrupted(run: EtherSwapRun, event: TradeStep) -> None:
        show(run, event)
        if f"{event.step} {event.state}" == moment:
            monkeypatch.undo()
            raise KeyboardInterrupt

    monkeypatch.setattr(EtherSwapRun, "_print_step", interrupted)
    result = quietswap(*words, "--yes")
    assert result.exit_code == code, result.output
    assert f"Interrupted: {says}" in " ".join(result.output.split())
    (again,) = commands(result)
    assert quietswap(*again, "--yes").exit_code == 0
    assert node.steps == steps


@pytest.mark.parametrize("more", [(), ("--json",)], ids=["text", "JSON"])
@BOTH
def test_the_end_is_recorded_after_its_result_is_written(
    quietswap: Quietswap,
    node: EtherChain,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    more: tuple[str, ...],
) -> None:
    """Killed at the moment when it would be recorded, the person has the result."""
    steps, keep, written = funded(node, words), SignedOrdersFile.__setitem__, []

    def killed(orders: SignedOrdersFile, key: str, sent: SubmittedTransaction) -> None:
        if sent.told:
            written.append(sys.stdout.buffer.getvalue().decode())  # type: ignore[attr-defined]
            raise SystemExit(137)
        keep(orders, key, sent)

    monkeypatch.setattr(SignedOrdersFile, "__setitem__", killed)
    assert quietswap(*words, "--yes", *more).exit_code == 137
    monkeypatch.undo()
    (text,) = written
    assert ('"received":"' if more else "received   ") in text
    again = quietswap(*words, "--yes")
    assert (again.exit_code, node.steps) == (1, steps)
    resume, _ = commands(again)
    assert quietswap(*resume, "--yes").exit_code == 0
    node.held[USDC] = 3_000_000_000 if words == TO_ETHER else 0
    assert quietswap(*words, "--yes").exit_code == 0


class Full(io.StringIO):
    """An output whose disk is full."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__()
        self._file = file

    def write(self, _: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    def fileno(self) -> int:
        return self._file.fileno()


def test_an_end_that_could_not_be_written_is_not_told(
    quietswap: Quietswap, node: EtherChain, monkeypatch: pytest.MonkeyPatch, state: Path
) -> None:
    show = EtherSwapRun._end

    def unwritable(run: EtherSwapRun, result: TradeResult) -> None:
        monkeypatch.setattr(sys.stdout, "_stream", Full(file))
        show(run, result)

    monkeypatch.setattr(EtherSwapRun, "_end", unwritable)
    with (state / "full").open("wb") as file:
        assert quietswap(*FROM_ETHER, "--yes").exit_code == 0
        monkeypatch.undo()
    again = quietswap(*FROM_ETHER, "--yes")
    assert (again.exit_code, node.steps) == (1, STEPS[FROM_ETHER])
    assert "was not followed to its end" in " ".join(again.output.split())


def test_both_minimums_are_named(
    quietswap: Quietswap, service: FakeService, node: EtherChain
) -> None:
    """The quote after the wrap has half of the slippage, so a higher minimum."""
    service.quote = quoting(service)
    result = quietswap(*FROM_ETHER, "--yes")
    assert (result.exit_code, node.steps) == (0, STEPS[FROM_ETHER])
    text = " ".join(result.stdout.split())
    assert "2,992.5 USDC by the quote that was signed; 2,985 USDC was accepted" in text


def stopped_after_the_wrap(quietswap: Quietswap, service: FakeService) -> Result:
    """Run it while each quote after the wrap is worse than the terms."""
    ask, service.quote = service.quote, quoting(service, 0)
    asked: list[int] = []

    def falling() -> dict[str, Any]:
        asked.append(1)
        return quoting(service, 100 * (len(asked) > 1))()

    service.quote = falling
    result = quietswap(*FROM_ETHER, "--yes")
    service.quote = ask
    return result


def test_a_worse_price_after_the_wrap_says_what_is_held(
    quietswap: Quietswap, service: FakeService, node: EtherChain
) -> None:
    result = stopped_after_the_wrap(quietswap, service)
    text = " ".join(result.output.split())
    assert (result.exit_code, node.steps) == (1, ["wrap"]), result.output
    assert "it could deliver less than 2,985 USDC: not signed" in text
    assert "The wallet holds 1 ETH as WETH" in text
    resume, swap, unwrap = commands(result)
    assert (swap, unwrap) == (["swap", "1", "WETH", "USDC"], ["unwrap", "1"])
    balances = WrapBalances("Wrapped Ether", "WETH", 5 * ETHER, ETHER)
    service.next("wrap info", *[ok(wraps.wrap_info_response(balances))] * 2)
    assert quietswap(*unwrap, "--yes").exit_code == 0
    assert node.held[WETH] == 0
    declined = quietswap(*resume, "--yes")
    assert (declined.exit_code, node.steps) == (1, ["wrap", "unwrap"]), declined.output


def test_the_weth_of_a_stopped_swap_is_swapped_at_the_price_of_now(
    quietswap: Quietswap, service: FakeService, node: EtherChain
) -> None:
    _, swap, _ = commands(stopped_after_the_wrap(quietswap, service))
    assert quietswap(*swap, "--yes").exit_code == 0
    node.held[USDC] = 0
    assert quietswap(*FROM_ETHER, "--yes").exit_code == 0, "the earlier one is over"


def test_the_same_command_again_names_both_ways(
    quietswap: Quietswap, service: FakeService, node: EtherChain
) -> None:
    stopped_after_the_wrap(quietswap, service)
    result = quietswap(*FROM_ETHER, "--yes")
    assert result.exit_code == 1
    assert "was not followed to its end: go on with it" in " ".join(result.output.split())
    resume, other = commands(result)
    assert other == [*FROM_ETHER, "--new"]
    assert node.steps == ["wrap"]
    assert quietswap(*resume, "--yes").exit_code == 0
    assert node.steps == STEPS[FROM_ETHER]


@pytest.mark.parametrize("more", [(), ("--nonce", "8")], ids=["", "nonce"])
def test_a_batch_is_no_second_trade_beside_an_unfinished_one(
    quietswap: Quietswap, service: FakeService, node: EtherChain, more: tuple[str, ...]
) -> None:
    stopped_after_the_wrap(quietswap, service)
    words = (*FROM_ETHER, "--approve", "batch", "--yes", *more)
    result = quietswap(*words)
    assert (result.exit_code, node.steps) == (1, ["wrap"])
    assert "was not followed to its end: go on with it" in " ".join(result.output.split())
    other = quietswap(*words, "--new")
    assert "the wallet is not delegated" in " ".join(other.output.split())
    assert (other.exit_code, node.steps) == (1, ["wrap"])


@pytest.mark.parametrize(("answer", "steps"), [("y\ny\n", STEPS[FROM_ETHER]), ("n\nn\n", ["wrap"])])
def test_a_person_is_asked_for_the_unfinished_one(
    quietswap: Quietswap,
    service: FakeService,
    node: EtherChain,
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    steps: list[str],
) -> None:
    stopped_after_the_wrap(quietswap, service)
    monkeypatch.setattr(connection, "_is_interactive", lambda: True)
    result = quietswap(*FROM_ETHER, input=answer)
    assert "A swap of 1 ETH for at least 2,985 USDC was not followed to its end" in result.output
    assert (result.exit_code, node.steps) == (int(answer[0] == "n"), steps), result.output


def test_an_unwrap_that_is_left_is_asked_for(
    quietswap: Quietswap, node: EtherChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    funded(node, TO_ETHER)
    Refusals(monkeypatch, 2)
    (again,) = commands(quietswap(*TO_ETHER, "--yes"))
    monkeypatch.setattr(connection, "_is_interactive", lambda: True)
    declined = quietswap(*again, input="n\n")
    assert "unwrap 0.999 WETH into ETH" in declined.output
    assert (declined.exit_code, node.steps) == (1, ["approve", "swap"])
    assert commands(declined) == [again]
    assert quietswap(*again, input="y\n").exit_code == 0
    assert node.amounts[-1] == BROUGHT[WETH]


def test_what_cannot_be_recorded_is_not_submitted(
    quietswap: Quietswap, service: FakeService, state: Path
) -> None:
    (state / "quietswap").write_text("no folder")
    result = quietswap(*FROM_ETHER, "--yes")
    assert result.exit_code == 1
    assert "it cannot be recorded" in " ".join(result.output.split())
    assert "Stopped: nothing was submitted." in result.output
    assert service.bodies("wrap order") == []


@pytest.mark.parametrize("more", [(), ("--approve", "batch")], ids=["", "batch"])
def test_a_damaged_record_begins_no_second_swap(
    quietswap: Quietswap,
    service: FakeService,
    node: EtherChain,
    state: Path,
    more: tuple[str, ...],
) -> None:
    stopped_after_the_wrap(quietswap, service)
    record = state / "quietswap" / "orders.jsonl"
    record.write_bytes(record.read_bytes()[:-30])
    result = quietswap(*FROM_ETHER, "--yes", *more)
    assert (result.exit_code, node.steps) == (1, ["wrap"])
    text = " ".join(result.output.split())
    assert "orders.jsonl is damaged from line 1 on" in text
    assert "Do not remove the line" in text
    assert quietswap(*FROM_ETHER, "--yes", "--new").exit_code == 0


@pytest.mark.parametrize("line", [0, 1, 2])
@BOTH
def test_a_damaged_record_is_not_resumed(
    quietswap: Quietswap, node: EtherChain, state: Path, words: tuple[str, ...], line: int
) -> None:
    """The swap is mined, and its line is damaged: with other WETH it would be made again.

    A line above those of the trade is none of its own.
    """
    steps = funded(node, words)
    assert quietswap(*words, "--yes").exit_code == 0
    record = state / "quietswap" / "orders.jsonl"
    lines = record.read_bytes().splitlines()
    trade = json.loads(lines[0])["trade"]
    node.held[WETH], node.held[USDC] = (5 * ETHER, 0) if words == FROM_ETHER else (0, 3 * 10**9)
    broken = [*lines[:line], lines[line][:40], *lines[line + 1 :]]
    record.write_bytes(b"\n".join(broken))
    refused = quietswap("swap", "--resume", trade, "--yes")
    assert (refused.exit_code, node.steps) == (1, steps), refused.output
    text = " ".join(refused.output.split())
    assert "is damaged from line" in text or (line == 0 and "is not on the record" in text)
    record.write_bytes(b"\n".join([lines[0][:40], *lines]))
    assert quietswap("swap", "--resume", trade, "--yes").exit_code == 0
    assert node.steps == steps


def test_one_swap_of_a_wallet_at_a_time(
    quietswap: Quietswap, node: EtherChain, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    with SignedOrdersFile().swap_with_ether(WALLET):
        for more in ((), ("--approve", "batch")):
            result = quietswap(*FROM_ETHER, "--yes", *more)
            assert (result.exit_code, node.steps) == (1, [])
            assert "is running on this machine" in " ".join(result.output.split())
    assert quietswap(*FROM_ETHER, "--yes").exit_code == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("1", "ETH", "ETH"), "SELL and BUY are both ETH"),
        (("1", "ETH", "USDC", "--nonce", "7"), "--nonce: a swap with ETH is several"),
        (("1", "ETH", "USDC", "--any-nonce"), "--any-nonce: a swap with ETH is several"),
        (("--resume", "0x1", "--approve", "batch"), "leave --approve batch out"),
        (("1", "ETH", "USDC", "--rpc-url", ""), "--yes needs a price"),
        (("1", "ETH", "USDC", "--rpc-url", "", "--at-least", "1"), "it needs --rpc-url"),
        (("1", "ETH", "WETH"), "one to one: quietswap wrap 1"),
        (("2", "WETH", "ETH"), "one to one: quietswap unwrap 2"),
        (("1", "WETH", "USDC", "--new"), "--new is for a swap with ETH"),
        (("1", "ETH", "USDC", "--resume", "0x1"), "leave AMOUNT to BUY out"),
        ((), "Missing argument 'AMOUNT'"),
    ],
)
def test_usage(
    quietswap: Quietswap, service: FakeService, words: tuple[str, ...], says: str
) -> None:
    result = quietswap("swap", *words, "--yes")
    assert result.exit_code == 2
    assert says in " ".join(result.stderr.split())
    assert service.asked == []


def test_a_hash_that_was_not_signed_here_is_not_resumed(quietswap: Quietswap) -> None:
    result = quietswap("swap", "--resume", "0x" + "77" * 32, "--yes")
    assert result.exit_code == 1
    assert "is not on the record here" in result.output


def test_a_quote_names_the_missing_ether_and_repeats_its_options(
    quietswap: Quietswap, node: EtherChain
) -> None:
    """The fake service says that the wallet holds 5 ETH."""
    typed = ("--wallet", WALLET, "--slippage-bps", "60")
    text = quietswap("quote", "6", "ETH", "USDC", *typed).stdout
    assert "missing    balance: the wallet holds 5 ETH, too little to wrap" in text
    assert f"quietswap swap 6 ETH USDC --slippage-bps 60 --wallet {WALLET}" in text
    assert "too little" not in quietswap("quote", "1", "ETH", "USDC").stdout
    assert (node.allowances, ROUTER in text) == ({}, False)


def test_the_command_of_a_quote_of_a_minimum_has_that_floor(
    quietswap: Quietswap, service: FakeService
) -> None:
    service.quote = lambda: quoting_one(service)
    text = quietswap("quote", "ETH", "--receive", "2985", "USDC").stdout
    assert "quietswap swap 1 ETH USDC --at-least 2985" in text


def quoting_one(service: FakeService) -> dict[str, Any]:
    service.asked[-1].query["sellAmount"] = str(ETHER)
    return quoting(service)()
