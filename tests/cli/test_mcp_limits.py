"""The local signer of `quietswap mcp`: its limits, what is confirmed, and who is asked."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import click
import pytest
from eth_account import Account
from mcp import Client

from quietswap.cli.mcp.answers import Refused
from quietswap.cli.mcp.limits import SigningLimits, Spending
from quietswap.cli.mcp.prepare import Preparer
from quietswap.cli.mcp.server import make_server
from quietswap.cli.mcp.signing import LocalSigner, Person
from quietswap.cli.options.signing import WalletSigner
from quietswap.cli.output.tokens import ETHER, WETH
from quietswap.client import AsyncQuietswapClient
from quietswap.rules.time_units import DAY_MS
from tests import forked
from tests.api.scripted_use_cases import ROUTER
from tests.cli.conftest import KEY
from tests.cli.mcp_sessions import call, in_process, over_http, refusal
from tests.cli.test_hostile_text import TOKEN as TOKEN_OF_SERVICE
from tests.cli.test_mcp import TOKEN
from tests.cli.test_mcp_signing import Asked
from tests.cli.test_mcp_text import page
from tests.cli.test_terminal import Terminal
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_servers import ETHER as ONE
from tests.client.fake_servers import WALLET, FakeServers, FakeService, quotes, swap_quote
from tests.manual_clock import ManualClock

SWAP = {"sell": "WETH", "buy": "USDC", "amount": "1", "wallet": WALLET}
Local = Callable[[Preparer], LocalSigner]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def limits(tmp_path: Path, clock: ManualClock) -> SigningLimits:
    most = {ETHER: ONE // 20, WETH: 2 * ONE}
    return SigningLimits(tmp_path / "new" / "limits.sqlite3", WALLET, most, clock)


@pytest.fixture
def local(limits: SigningLimits, clock: ManualClock, node: FakeChain) -> Local:
    node.allowances[ROUTER.lower()] = ONE

    def of(preparer: Preparer) -> LocalSigner:
        preparer.monotonic = clock.monotonic
        preparer.max_loss_percent = Decimal(25)
        signer = WalletSigner(WALLET, ACCOUNT, "the keystore")
        return LocalSigner(preparer, signer, limits, Person("client"))

    return of


def test_a_limit_is_that_of_24_hours_and_of_its_wallet(
    limits: SigningLimits, clock: ManualClock
) -> None:
    limits.count(Spending(WETH, ONE), Spending(ETHER, 7))
    clock.advance(DAY_MS / 1000 - 1)
    limits.count(Spending(WETH, ONE))
    with pytest.raises(Refused, match="2 WETH are used"):
        limits.check(Spending(WETH, 1))
    replace(limits, wallet=ROUTER).check(Spending(WETH, 2 * ONE))
    clock.advance(2)
    limits.check(Spending(WETH, ONE))
    with pytest.raises(Refused, match="1 WETH are used"):
        limits.count(Spending(ETHER, 1), Spending(WETH, ONE + 1))
    assert limits.spent(ETHER) == 0, "nothing of a refused signature is counted"


def test_limits_that_cannot_be_read_refuse_everything(limits: SigningLimits) -> None:
    limits.file.parent.mkdir()
    limits.file.write_bytes(b"no database" * 100)
    with pytest.raises(Refused, match="cannot be read") as refused:
        limits.count(Spending(ETHER, 1))
    assert refused.value.error == "LIMITS_UNKNOWN"


async def test_what_the_signer_refuses_is_not_counted(
    outside: FakeServers, local: Local, limits: SigningLimits, service: FakeService
) -> None:
    def refuses(_: object) -> str:
        raise click.ClickException("refused")

    def of(preparer: Preparer) -> LocalSigner:
        return replace(local(preparer), signer=WalletSigner(WALLET, refuses, "your command"))

    async with in_process(outside, of, elicitation_callback=Asked("yes")) as model:
        prepared = await call(model, "prepare_swap", **SWAP)
        refused = await refusal(model, "sign_and_submit", prepared_id=prepared["preparedId"])
    assert refused["error"] == "SIGNER_REFUSED"
    assert (limits.spent(WETH), limits.spent(ETHER)) == (0, 0)
    assert service.bodies("order") == []


@pytest.mark.parametrize(
    ("buys", "least", "signs"),
    [(3_000_000_000, 2_992_500_000, True), (2_980_000_000, 2_972_550_000, False)],
)
async def test_a_quote_that_grew_old_is_replaced_within_what_was_confirmed(
    outside: FakeServers,
    local: Local,
    clock: ManualClock,
    service: FakeService,
    buys: int,
    least: int,
    signs: bool,
) -> None:
    asked = Asked("yes")

    async def slow(context: Any, params: Any) -> Any:
        clock.advance(21)
        newer = swap_quote(buy_amount=buys, min_buy_amount=least, slippage_bps=25)
        service.quote = lambda: quotes.swap_quote_response(newer)
        return await asked(context, params)

    async with in_process(outside, local, elicitation_callback=slow) as model:
        prepared = await call(model, "prepare_swap", **SWAP)
        ids = {"prepared_id": prepared["preparedId"]}
        done = await model.call_tool("sign_and_submit", ids)
    assert "for at least 2,985 USDC" in asked.questions[0]
    body = done.structured_content
    sent = [one["orderParams"]["minReturnAmount"] for one in service.bodies("order")]
    assert sent == ([str(least)] if signs else [])
    assert body.get("error") == (None if signs else "Declined")
    last = [one for one in service.asked if one.path == "/api/v1/quote"][-1]
    assert last.query["slippageBps"] == "25"


@pytest.mark.parametrize(("typed", "signs"), [("yes", False), ("20 %", True)])
async def test_a_great_loss_has_to_be_typed_by_the_person(
    outside: FakeServers, local: Local, service: FakeService, typed: str, signs: bool
) -> None:
    dear = swap_quote(impact_percent=Decimal("19.5"))
    service.quote = lambda: quotes.swap_quote_response(dear)
    person = Asked(typed)
    async with in_process(outside, local, elicitation_callback=person) as model:
        refused = await refusal(model, "prepare_swap", **SWAP)
        prepared = await call(model, "prepare_swap", **SWAP, max_loss_percent=25)
        ids = {"prepared_id": prepared["preparedId"]}
        done = await model.call_tool("sign_and_submit", ids)
    assert refused["error"] == "Declined"
    assert "It may lose: 19.50 % price impact" in person.questions[0]
    assert "type 20" in person.questions[0]
    assert done.is_error != signs
    assert len(service.bodies("order")) == signs


async def test_a_sale_that_only_the_service_can_measure_is_not_prepared(
    outside: FakeServers, service: FakeService
) -> None:
    entry = {"address": TOKEN_OF_SERVICE, "symbol": "ODD", "name": "Odd", "decimals": 6}
    async with (
        AsyncQuietswapClient(outside.url, "qs_right") as client,
        Client(make_server(Preparer(client, has_node=False))) as model,
    ):
        service.next("tokens", page([entry]))
        refused = await refusal(model, "prepare_swap", **SWAP | {"sell": TOKEN_OF_SERVICE})
    assert (refused["error"], refused["field"]) == ("BAD_INPUT", "amount")


@pytest.fixture
def asking(outside: FakeServers, node: FakeChain, tmp_path: Path) -> Iterator[tuple[Terminal, str]]:
    """Start a server that asks on its terminal; return that, and the server's URL."""
    node.allowances[ROUTER.lower()] = ONE
    env = forked.without_settings() | {
        "QUIETSWAP_URL": outside.url,
        "QUIETSWAP_API_KEY": "qs_right",
        "QUIETSWAP_RPC_URL": outside.rpc_url,
        "QUIETSWAP_PRIVATE_KEY": KEY,
        "QUIETSWAP_MCP_TOKEN": TOKEN,
        "XDG_STATE_HOME": str(tmp_path),
    }
    words = ("mcp", "--http", "0", "--confirm", "terminal", "--limit", "WETH=2")
    with Terminal(words, env) as terminal:
        terminal.expect("/mcp")
        (url,) = re.findall(r"ready: (\S+)", terminal.text)
        yield terminal, url


@pytest.mark.parametrize(("typed", "error"), [("yes", None), ("no", "NOT_CONFIRMED")])
async def test_the_person_confirms_on_the_terminal(
    asking: tuple[Terminal, str], service: FakeService, typed: str, error: str | None
) -> None:
    terminal, url = asking
    async with over_http(url, TOKEN) as model:
        prepared = await call(model, "prepare_swap", **SWAP)
        ids = {"prepared_id": prepared["preparedId"]}
        running = asyncio.create_task(model.call_tool("sign_and_submit", ids))
        await asyncio.to_thread(terminal.expect, "To sign it, type yes")
        terminal.type(f"{typed}\n")
        done = await running
    assert done.structured_content.get("error") == error
    assert len(service.bodies("order")) == (error is None)
    assert "for at least 2,985 USDC" in terminal.text
    assert KEY[2:] not in terminal.text + json.dumps(done.structured_content)


async def test_one_confirmation_signs_once(
    asking: tuple[Terminal, str], service: FakeService
) -> None:
    terminal, url = asking
    async with over_http(url, TOKEN) as model:
        prepared = await call(model, "prepare_swap", **SWAP)
        ids = {"prepared_id": prepared["preparedId"]}
        both = [asyncio.create_task(model.call_tool("sign_and_submit", ids)) for _ in range(2)]
        await asyncio.to_thread(terminal.expect, "To sign it, type yes")
        terminal.type("yes\nyes\n")
        done = [(await one).structured_content for one in both]
    assert sorted(str(one.get("field")) for one in done) == ["None", "prepared_id"]
    assert len(service.bodies("order")) == 1


async def test_ctrl_c_ends_it_while_the_terminal_asks(
    asking: tuple[Terminal, str], service: FakeService
) -> None:
    terminal, url = asking
    async with over_http(url, TOKEN) as model:
        prepared = await call(model, "prepare_swap", **SWAP)
        ids = {"prepared_id": prepared["preparedId"]}
        running = asyncio.create_task(model.call_tool("sign_and_submit", ids))
        await asyncio.to_thread(terminal.expect, "To sign it, type yes: ")
        terminal.type("\x03")
        code = await asyncio.to_thread(terminal.end)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert code == 1
    assert re.fullmatch(r"\^C\s*Aborted!\s*", terminal.text.rpartition("type yes: ")[2])
    assert service.bodies("order") == []


def test_a_keystore_without_a_password_cannot_be_asked_for_one(tmp_path: Path) -> None:
    file = tmp_path / "key.json"
    file.write_text(json.dumps(Account.encrypt(KEY, "word", iterations=2)))
    env = forked.without_settings() | {"QUIETSWAP_API_KEY": "qs_right"}
    done = forked.run(
        ["mcp", "--keystore", str(file), "--limit", "WETH=1"], env, typed='{"jsonrpc": "2.0"}\n'
    )
    assert done.returncode == 2
    assert "--password-file" in done.stderr
