"""Swaps with ETH by the tools for a model: one plan, each step once, within the person's limits."""

import contextlib
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from quietswap.cli.mcp.limits import SigningLimits, Spending
from quietswap.cli.mcp.prepare import Preparer
from quietswap.cli.mcp.signing import LocalSigner
from quietswap.cli.output.tokens import ETHER as GAS
from quietswap.cli.output.tokens import KNOWN
from quietswap.cli.output.tokens import WETH as WETH_TOKEN
from quietswap.cli.signed_orders import SignedOrdersFile
from quietswap.rules.quotes.request import WrapBalances
from tests.cli.mcp_sessions import call, in_process, refusal, signed_by
from tests.cli.test_mcp_limits import Local, clock, limits, local
from tests.cli.test_mcp_signing import Asked
from tests.client.ether_chain import BROUGHT, EtherChain, quoting, trading
from tests.client.fake_chain import ACCOUNT
from tests.client.fake_servers import ETHER, WALLET, FakeServers, FakeService, ok
from tests.response_json import wraps
from tests.stored_orders import USDC, WETH

__all__ = ["clock", "limits", "local"]

FROM_ETHER = {"sell": "ETH", "buy": "USDC", "amount": "1", "wallet": WALLET}
TO_ETHER = {"sell": "USDC", "buy": "ETH", "amount": "3000", "wallet": WALLET}
STEPS = {"ETH": ["wrap", "approve", "swap"], "USDC": ["approve", "swap", "unwrap"]}
BOTH = pytest.mark.parametrize("request_", [FROM_ETHER, TO_ETHER], ids=["from ETH", "to ETH"])
Server = Callable[[], contextlib.AbstractAsyncContextManager[Client]]


@pytest.fixture
def node() -> EtherChain:
    return EtherChain()


@pytest.fixture
def service(node: EtherChain) -> FakeService:
    return trading(node)


@pytest.fixture
def server(outside: FakeServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    """Start a server that knows what is on the disk, as a new process does."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    @asynccontextmanager
    async def start() -> AsyncIterator[Client]:
        async with in_process(outside, orders=SignedOrdersFile()) as model:
            yield model

    return start


def funded(node: EtherChain, request: dict[str, str]) -> list[str]:
    node.held[USDC] = 3_000_000_000 if request is TO_ETHER else 0
    return STEPS[request["sell"]]


def signed(prepared: dict[str, Any]) -> dict[str, str]:
    """Return the arguments of submit_signed, as an external signer makes them."""
    raw = signed_by(ACCOUNT, prepared)
    return {"prepared_id": prepared["preparedId"], "signed_transaction": raw}


async def submitted(model: Client, prepared: dict[str, Any]) -> dict[str, Any]:
    return await call(model, "submit_signed", **signed(prepared))


@BOTH
async def test_each_process_does_the_step_that_is_left(
    server: Server, node: EtherChain, request_: dict[str, str]
) -> None:
    """After each transaction the process is gone; the record on the disk has the trade."""
    steps, trade = funded(node, request_), None
    while len(node.steps) < 3:
        async with server() as model:
            if trade is None:
                prepared = await call(model, "prepare_swap", **request_)
            else:
                prepared = await call(model, "resume_swap", trade=trade)
            told = prepared["swapWithEth"]
            assert told["steps"] == steps[len(node.steps) :]
            assert told["signatures"] == len(told["steps"])
            assert told["atLeastSeconds"] == 12 * told["signatures"]
            assert told.get("trade") == trade
            done = await submitted(model, prepared)
            trade = done.get("trade") or trade
            assert done["next"].startswith("resume_swap" if trade else "prepare the swap again")
    assert node.steps == steps
    async with server() as model:
        assert trade is not None
        end = await call(model, "resume_swap", trade=trade)
        again = await call(model, "resume_swap", trade=trade)
    token = USDC if request_ is FROM_ETHER else WETH
    assert (end["final"], end["ok"], end["received"]) == (True, True, str(BROUGHT[token]))
    assert again == end
    assert node.steps == steps
    assert node.held[WETH] == 0


@BOTH
async def test_an_end_is_told_when_it_is_asked_for_once_more(
    server: Server, node: EtherChain, request_: dict[str, str]
) -> None:
    """An answer that got lost with its process, or on its way, begins no second swap."""
    steps = funded(node, request_)
    async with server() as model:
        prepared = await call(model, "prepare_swap", **request_)
        while not prepared.get("final"):
            done = await submitted(model, prepared)
            prepared = (
                await call(model, "resume_swap", trade=done["trade"])
                if "trade" in done
                else await call(model, "prepare_swap", **request_)
            )
    async with server() as model:
        refused = await refusal(model, "prepare_swap", **request_)
        assert (refused["error"], refused["trade"]) == ("UnfinishedTrade", done["trade"])
        assert await call(model, "resume_swap", trade=done["trade"]) == prepared
        assert (await refusal(model, "prepare_swap", **request_))["error"] == "UnfinishedTrade"
        assert await call(model, "resume_swap", trade=done["trade"]) == prepared
        node.held[USDC] = 3_000_000_000
        other = await call(model, "prepare_swap", **request_)
    assert other["swapWithEth"].get("trade") is None
    assert node.steps == steps


async def test_a_fall_below_the_terms_is_told_as_such(server: Server, node: EtherChain) -> None:
    funded(node, FROM_ETHER)
    node.brought[USDC] = 2_984_999_999
    async with server() as model:
        prepared = await call(model, "prepare_swap", **FROM_ETHER)
        while not prepared.get("final"):
            done = await submitted(model, prepared)
            trade = done["trade"]
            prepared = await call(model, "resume_swap", trade=trade)
    assert (prepared["ok"], prepared["received"]) == (False, "2984999999")
    assert int(prepared["minimum"]) == 2_985_000_000


async def test_a_second_first_step_is_not_submitted(server: Server, node: EtherChain) -> None:
    """Both were prepared while nothing was signed; the second one would begin another swap."""
    async with server() as model:
        first = await call(model, "prepare_swap", **FROM_ETHER)
        second = await call(model, "prepare_swap", **FROM_ETHER | {"amount": "0.999"})
        done = await submitted(model, first)
        refused = await refusal(model, "submit_signed", **signed(second))
        unfinished = await refusal(model, "prepare_swap", **FROM_ETHER)
        batched = await refusal(model, "prepare_swap", **FROM_ETHER, batch=True)
        other = await call(model, "prepare_swap", **FROM_ETHER, new_trade=True)
    assert (refused["error"], refused["trade"]) == ("UnfinishedTrade", done["trade"])
    assert (unfinished["error"], unfinished["trade"]) == ("UnfinishedTrade", done["trade"])
    assert "resume_swap" in unfinished["next"]
    assert (batched["error"], batched["trade"]) == ("UnfinishedTrade", done["trade"])
    assert other["kind"] == "wrap"
    assert node.steps == ["wrap"]


async def test_a_step_that_was_signed_meanwhile_is_not_submitted(
    server: Server, node: EtherChain, service: FakeService
) -> None:
    async with server() as model:
        trade = (await submitted(model, await call(model, "prepare_swap", **FROM_ETHER)))["trade"]
        await submitted(model, await call(model, "resume_swap", trade=trade))
        assert node.steps == ["wrap", "approve"]
        first = await call(model, "resume_swap", trade=trade)
        service.quote = quoting(service, worse_bps=1)
        second = await call(model, "resume_swap", trade=trade)
        await submitted(model, first)
        same = await submitted(model, first)
        refused = await refusal(model, "submit_signed", **signed(second))
    assert same["trade"] == trade
    assert "has gone on since" in refused["untrustedText"]["message"]
    assert node.steps == ["wrap", "approve", "swap"]


async def test_a_swap_of_the_command_is_gone_on_with(server: Server, tmp_path: Path) -> None:
    """The command records it while the server runs."""
    async with server() as model, server() as other:
        done = await submitted(other, await call(other, "prepare_swap", **FROM_ETHER))
        unfinished = await refusal(model, "prepare_swap", **FROM_ETHER)
        following = await call(model, "resume_swap", trade=done["trade"])
        with SignedOrdersFile().swap_with_ether(WALLET):
            running = await refusal(model, "resume_swap", trade=done["trade"])
        with (tmp_path / "quietswap" / "orders.jsonl").open("a") as file:
            file.write("\n{")
        damaged = await refusal(model, "prepare_swap", **FROM_ETHER)
        stopped = await refusal(model, "resume_swap", trade=done["trade"])
        fresh = await call(model, "prepare_swap", **FROM_ETHER, new_trade=True)
        begun = await submitted(model, fresh)
        after = await call(model, "resume_swap", trade=begun["trade"])
    assert unfinished["trade"] == done["trade"]
    assert following["kind"] == "approval"
    assert (running["error"], damaged["error"]) == ("SWAP_RUNNING", "RECORD_DAMAGED")
    assert stopped["error"] == "RECORD_DAMAGED"
    assert after["kind"] == "approval", "it began after the damage"


@pytest.mark.parametrize("batch", [False, True])
async def test_without_a_node_no_swap_with_ether_is_prepared(
    outside: FakeServers, batch: bool
) -> None:
    async with in_process(outside, has_node=False) as model:
        refused = await refusal(model, "prepare_swap", **FROM_ETHER, batch=batch)
    assert refused["error"] == "Declined"
    assert "needs your own node" in refused["untrustedText"]["message"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"buy": "WETH"}, "buy"),
        ({"buy": "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"}, "buy"),
        ({"sell": "WETH", "new_trade": True}, "new_trade"),
    ],
)
async def test_what_is_no_swap_with_ether_is_refused(
    outside: FakeServers, change: dict[str, Any], field: str
) -> None:
    async with in_process(outside) as model:
        refused = await refusal(model, "prepare_swap", **FROM_ETHER | change)
    assert (refused["error"], refused["field"]) == ("BAD_INPUT", field)


async def test_a_quote_and_a_price_with_ether(outside: FakeServers, service: FakeService) -> None:
    held = WrapBalances("Wrapped Ether", "WETH", ETHER - 1, 0)
    service.next("wrap info", *[ok(wraps.wrap_info_response(held))] * 2)
    async with in_process(outside) as model:
        price = await call(model, "price", sell="ETH", buy="USDC", amount="1")
        quote = await call(model, "quote", **FROM_ETHER)
        explained = await call(model, "explain_quote", quote_id=quote["quoteId"])
    assert price["inWholeTokens"]["sellAmount"] == "1"
    plan = quote["plan"]
    assert (plan["signatures"], plan["steps"][0], plan["steps"][-1]) == (
        len(plan["steps"]), "wrap", "swap",
    )  # fmt: skip
    assert plan["missingEth"] == {"actual": str(ETHER - 1), "needed": str(ETHER)}
    assert quote["sellToken"] == WETH
    assert explained["checks"]["passed"] is True
    assert explained["plan"] == plan


@pytest.fixture
def lender(local: Local, limits: SigningLimits) -> Callable[[int], Local]:
    """Return a local signer that may sell so much WETH."""

    def of(most: int) -> Local:
        allowed = {GAS: ETHER // 20, WETH_TOKEN: most}
        return lambda preparer: replace(local(preparer), limits=replace(limits, limits=allowed))

    return of


async def test_the_limit_of_weth_holds_for_ether_and_counts_a_trade_once(
    outside: FakeServers, node: EtherChain, lender: Callable[[int], Local], limits: SigningLimits
) -> None:
    """What ETH becomes is sold: 1 ETH and then anything of either is above a limit of 1 WETH."""
    person = Asked("yes")
    async with in_process(outside, lender(ETHER), elicitation_callback=person) as model:
        prepared = await call(model, "prepare_swap", **FROM_ETHER)
        done = await call(model, "sign_and_submit", prepared_id=prepared["preparedId"])
        assert limits.spent(WETH_TOKEN) == ETHER
        following = await call(model, "resume_swap", trade=done["trade"])
        await call(model, "sign_and_submit", prepared_id=following["preparedId"])
        end = await call(model, "resume_swap", trade=done["trade"])
        assert (end["ok"], node.steps) == (True, ["wrap", "swap"])
        assert await call(model, "resume_swap", trade=done["trade"]) == end
        assert limits.spent(WETH_TOKEN) == ETHER
        asked = len(person.questions)
        node.held[WETH] = ETHER
        for sell in ("ETH", "WETH"):
            more = await call(model, "prepare_swap", **FROM_ETHER | {"sell": sell})
            refused = await refusal(model, "sign_and_submit", prepared_id=more["preparedId"])
            assert refused["error"] == "LIMIT_EXCEEDED"
    assert len(person.questions) == asked == 2
    assert node.steps == ["wrap", "swap"]
    first = person.questions[0]
    assert "a swap of 1 ETH\nfor at least 2,985 USDC" in first
    assert "2 signatures, this is the first: wrap, swap" in first
    assert "wrap 1 ETH into WETH" in first
    assert "It may lose: " in first
    assert f"gas, at most {prepared['swapWithEth']['maxGasCostEth']} ETH" in first
    assert "sold 1 WETH: 1 WETH of 1 WETH within 24 hours" in first
    assert "sold 1 WETH: 1 WETH of 1 WETH within 24 hours" in person.questions[1]


async def test_without_a_limit_of_weth_no_ether_is_sold(
    outside: FakeServers, node: EtherChain, local: Local, limits: SigningLimits
) -> None:
    def of(preparer: Preparer) -> LocalSigner:
        most = replace(limits, limits={GAS: ETHER * 100})
        return replace(local(preparer), limits=most)

    async with in_process(outside, of, elicitation_callback=Asked("yes")) as model:
        prepared = await call(model, "prepare_swap", **FROM_ETHER)
        refused = await refusal(model, "sign_and_submit", prepared_id=prepared["preparedId"])
    assert refused["error"] == "NO_LIMIT"
    assert "WETH, which is that of ETH, too" in refused["message"]
    assert node.steps == []


@BOTH
async def test_the_gas_that_is_told_first_is_enough_for_all_steps(
    outside: FakeServers,
    node: EtherChain,
    local: Local,
    limits: SigningLimits,
    request_: dict[str, str],
) -> None:
    """So a trade that begins can end, and none begins with a limit that is below it."""
    steps = funded(node, request_)
    most = {GAS: ETHER, WETH_TOKEN: ETHER, KNOWN["USDC"]: 3_000_000_000}

    def of(preparer: Preparer) -> LocalSigner:
        signer = replace(local(preparer), limits=replace(limits, limits=most))
        node.allowances.clear()
        return signer

    person = Asked("yes")
    async with in_process(outside, of, elicitation_callback=person) as model:
        first = await call(model, "prepare_swap", **request_)
        told = first["swapWithEth"]["maxGasCostEth"]
        most[GAS] = int(Decimal(told) * ETHER) - 1
        refused = await refusal(model, "sign_and_submit", prepared_id=first["preparedId"])
        assert (refused["error"], node.steps) == ("LIMIT_EXCEEDED", [])
        most[GAS] += 1
        trade = None
        while len(node.steps) < len(steps):
            again = {"resume_swap": {"trade": trade}} if trade else {"prepare_swap": request_}
            ((tool, arguments),) = again.items()
            prepared = await call(model, tool, **arguments)
            done = await call(model, "sign_and_submit", prepared_id=prepared["preparedId"])
            trade = done.get("trade")
        end = await call(model, "resume_swap", trade=trade)
    assert (end["ok"], node.steps) == (True, steps)
    assert f"gas, at most {told} ETH" in person.questions[0]


async def test_a_step_that_grew_old_keeps_the_terms(
    outside: FakeServers, node: EtherChain, service: FakeService, local: Local, clock: Any
) -> None:
    asked = Asked("yes")

    async def slow(context: Any, params: Any) -> Any:
        clock.advance(21)
        return await asked(context, params)

    async with in_process(outside, local, elicitation_callback=slow) as model:
        prepared = await call(model, "prepare_swap", **FROM_ETHER)
        done = await call(model, "sign_and_submit", prepared_id=prepared["preparedId"])
        following = await call(model, "resume_swap", trade=done["trade"])
        service.quote = quoting(service, worse_bps=20)
        await call(model, "sign_and_submit", prepared_id=following["preparedId"])
        end = await call(model, "resume_swap", trade=done["trade"])
    assert (end["ok"], end["minimum"], node.steps) == (True, "2985000000", ["wrap", "swap"])
    assert "for at least 2,985 USDC" in asked.questions[1]


def test_limits_of_an_earlier_release_are_read(limits: SigningLimits, clock: Any) -> None:
    limits.file.parent.mkdir()
    with sqlite3.connect(limits.file) as database:
        database.execute(
            "CREATE TABLE signed (id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL,"
            " wallet TEXT NOT NULL, token TEXT NOT NULL, amount TEXT NOT NULL)"
        )
        database.execute(
            "INSERT INTO signed (at_ms, wallet, token, amount) VALUES (?, ?, ?, '7')",
            (clock.now_ms(), WALLET, WETH),
        )
    assert limits.spent(WETH_TOKEN) == 7
    counted = limits.count(Spending(GAS, 3), Spending(WETH_TOKEN, 5))
    limits.name_trade(counted, "0xa")
    limits.count(Spending(WETH_TOKEN, 5, "0xa"))
    assert (limits.spent(WETH_TOKEN), limits.spent(WETH_TOKEN, "0xa")) == (12, 7)
    assert limits.spent(GAS, "0xa") == 3
