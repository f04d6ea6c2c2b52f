"""ETH in one transaction of a delegated wallet: wrap, approve and swap, or swap and unwrap."""

import csv
import io
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount
from mcp import Client

from quietswap.cli.mcp.limits import SigningLimits
from quietswap.cli.mcp.prepare import Preparer
from quietswap.cli.mcp.server import make_server
from quietswap.cli.mcp.signing import LocalSigner, Person
from quietswap.cli.mcp.tools import MOST_WAIT_S
from quietswap.cli.options.signing import WalletSigner
from quietswap.cli.output.tokens import ETHER, KNOWN
from quietswap.client import AsyncQuietswapClient, SwapRequest
from quietswap.client.errors import QuoteDeclined
from quietswap.rules.amounts import format_units
from quietswap.rules.routers.batch import DELEGATES
from quietswap.rules.tx.keccak import keccak256
from quietswap.sandbox.contracts.addresses import CALIBUR
from quietswap.sandbox.contracts.pools import USDC, WETH
from quietswap.service.base.clock import SystemClock
from tests.batches import Batch, wrong_batches
from tests.chain.test_simulate_batched import METAMASK, metamask_creation
from tests.cli.mcp_sessions import call
from tests.cli.test_mcp_signing import Asked
from tests.e2e.conftest import Town
from tests.e2e.test_batched import (
    client_of,
    count,
    require_one_transaction,
    signed_batch,
    swapped_by_command,
    wallet_of,
)
from tests.e2e.test_typescript_client import Page, typescript
from tests.e2e.wallets import Refused, RpcWallet
from tests.spec.api_client import SOLD, ApiClient
from tests.spec.wire import data, order_body, refused, sign
from tests.typescript.package import TypeScript, big, needs_packages

__all__ = ["typescript"]
pytestmark = pytest.mark.timeout(400)
WRAP = {"conversion": "wrap"}
UNWRAP = {
    "conversion": "unwrap",
    "sellToken": USDC.address,
    "buyToken": WETH.address,
    "sellAmount": str(100 * 10**6),
}
WITHDRAWAL = "0x" + keccak256(b"Withdrawal(address,uint256)").hex()


@pytest.fixture
def desk(town: Town) -> Iterator[ApiClient]:
    with ApiClient(town) as found:
        yield found


def delegated_wallet(desk: ApiClient, delegate: str = CALIBUR) -> LocalAccount:
    """Return a wallet with ETH and USDC, but without WETH."""
    if delegate == METAMASK:
        runtime = desk.rpc("eth_call", {"data": metamask_creation()}, "latest")
        desk.rpc("anvil_setCode", METAMASK, runtime)
    wallet = wallet_of(desk, delegate)
    desk.give(wallet, WETH, 0)
    return wallet


def ether(desk: ApiClient, wallet: LocalAccount) -> int:
    return int(desk.rpc("eth_getBalance", wallet.address, "latest"), 16)


def batch_of(wallet: LocalAccount, quote: dict[str, Any]) -> Batch:
    """Return the batch that the quote must offer."""
    route, sold, least = quote["dexRoute"], int(quote["sellAmount"]), int(quote["minBuyAmount"])
    is_wrap = quote["batch"]["conversion"] == "wrap"
    return Batch(
        wallet.address,
        quote["sellToken"],
        route["target"],
        sold,
        bytes.fromhex(route["data"][2:]),
        wrapped=sold if is_wrap else 0,
        unwrapped=0 if is_wrap else least,
    )


def exported(desk: ApiClient, wallet: LocalAccount, **query: str) -> dict[str, str]:
    path = f"/api/v1/mev/orders/user/{wallet.address}/export"
    [row] = csv.DictReader(io.StringIO(desk.api.get(path, params=query).text, newline=""))
    return row


@pytest.mark.parametrize("delegate", DELEGATES)
def test_one_transaction_wraps_approves_and_swaps(desk: ApiClient, delegate: str) -> None:
    wallet = delegated_wallet(desk, delegate)
    quote, before = desk.quote(wallet, **WRAP), ether(desk, wallet)
    batch, params = quote["batch"], quote["batch"]["transactionParams"]
    assert (batch["delegate"], batch["reason"], batch["conversion"]) == (delegate, None, "wrap")
    assert params["data"] == "0x" + batch_of(wallet, quote).data.hex()
    assert (params["value"], params["to"]) == ("0", wallet.address)
    order = data(desk.submit(signed_batch(wallet, quote)))["order"]
    end = desk.follow(order["orderId"])
    assert (end["status"], end["kind"], end["conversion"]) == ("confirmed", "swap", "wrap")
    assert int(end["received"]["amount"]) >= int(quote["minBuyAmount"])
    assert "unwrapped" not in end["received"]
    assert ether(desk, wallet) == before - SOLD - int(end["feePaidWei"])
    assert desk.held(wallet, "WETH") == 0
    assert desk.held(wallet, "USDC") == USDC.units(1000) + int(end["received"]["amount"])
    require_one_transaction(desk, wallet, quote, order["txHash"], WETH)
    assert exported(desk, wallet)["conversion"] == "wrap"
    assert exported(desk, wallet, format="koinly")["Sent Currency"] == "ETH"


@pytest.mark.parametrize("delegate", DELEGATES)
def test_one_transaction_swaps_and_unwraps_the_minimum(desk: ApiClient, delegate: str) -> None:
    wallet = delegated_wallet(desk, delegate)
    quote, before = desk.quote(wallet, **UNWRAP), ether(desk, wallet)
    assert quote["batch"]["conversion"] == "unwrap"
    least, params = int(quote["minBuyAmount"]), quote["batch"]["transactionParams"]
    assert params["data"] == "0x" + batch_of(wallet, quote).data.hex()
    order = data(desk.submit(signed_batch(wallet, quote)))["order"]
    end = desk.follow(order["orderId"])
    assert (end["status"], end["kind"], end["conversion"]) == ("confirmed", "swap", "unwrap")
    received = end["received"]
    assert (received["token"], received["unwrapped"]) == (WETH.address, str(least))
    assert int(received["amount"]) >= least
    assert end["delivered"]["toMinimumBps"] >= 0
    assert ether(desk, wallet) == before + least - int(end["feePaidWei"])
    assert desk.held(wallet, "WETH") == int(received["amount"]) - least
    require_one_transaction(desk, wallet, quote, order["txHash"], USDC)
    koinly = exported(desk, wallet, format="koinly")
    assert koinly["Received Currency"] == "ETH"
    assert "the rest is WETH" in koinly["Description"]


@pytest.mark.parametrize("conversion", [WRAP, UNWRAP], ids=["wrap", "unwrap"])
def test_wrong_conversions_are_refused_by_the_running_service(
    desk: ApiClient, conversion: dict[str, str]
) -> None:
    wallet = delegated_wallet(desk)
    quote = desk.quote(wallet, **conversion)
    for wrong in wrong_batches(batch_of(wallet, quote))[::25]:
        body = refused(
            desk.submit(signed_batch(wallet, quote, **wrong.fields)), 422, "VALIDATION_ERROR"
        )
        assert body["details"]["reason"] == "MISMATCH", wrong.name
    assert count(desk, wallet) == 0


@pytest.mark.parametrize("conversion", [WRAP, UNWRAP], ids=["wrap", "unwrap"])
def test_the_form_without_the_conversion_is_another_quote(
    desk: ApiClient, conversion: dict[str, str]
) -> None:
    """The batch of approval and swap alone was not issued for this quote, nor the other way."""
    wallet = wallet_of(desk)
    plain = {name: text for name, text in conversion.items() if name != "conversion"}
    quote = desk.quote(wallet, **conversion)
    alone = Batch(*(getattr(batch_of(wallet, quote), name) for name in (
        "wallet", "token", "router", "amount", "swap",
    )))  # fmt: skip
    changed = signed_batch(wallet, quote, data="0x" + alone.data.hex())
    refused(desk.submit(changed), 422, "VALIDATION_ERROR")
    other = desk.quote(wallet, **plain)
    assert other["batch"]["conversion"] is None
    changed = signed_batch(wallet, other, data=quote["batch"]["transactionParams"]["data"])
    refused(desk.submit(changed), 422, "VALIDATION_ERROR")
    assert count(desk, wallet) == 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"conversion": "wrap", "sellToken": USDC.address, "buyToken": WETH.address}, "sellToken"),
        ({"conversion": "unwrap"}, "buyToken must be WETH"),
        ({"conversion": "Wrap"}, "wrap or unwrap"),
        ({"conversion": ""}, "wrap or unwrap"),
    ],
)
def test_only_weth_is_converted(desk: ApiClient, changes: dict[str, str], words: str) -> None:
    body = refused(desk.ask_quote(desk.wallet(), **changes), 400, "INVALID_PARAMETER")
    assert body["details"]["parameter"] == "conversion"
    assert words in body["message"]


def test_a_plain_wallet_gets_the_ordinary_quote(desk: ApiClient) -> None:
    quote = desk.quote(desk.wallet(), **WRAP)
    assert quote["batch"] is None
    assert quote["mevProtection"]["transactionParams"]["value"] == "0"


def test_eth_that_does_not_suffice_is_named(desk: ApiClient) -> None:
    wallet = delegated_wallet(desk)
    before = desk.quote(wallet, **WRAP)
    desk.rpc("anvil_setBalance", wallet.address, hex(SOLD + 1))
    batch = desk.quote(wallet, **WRAP)["batch"]
    assert batch["transactionParams"] is None
    assert f"the wallet holds {SOLD + 1} wei of ETH" in batch["reason"]
    body = refused(desk.submit(signed_batch(wallet, before)), 400, "INSUFFICIENT_BALANCE")
    assert int(body["details"]["required"]) > SOLD + 1


def test_weth_of_the_wallet_is_left_alone(desk: ApiClient) -> None:
    """What is wrapped is what is sold, whatever the wallet holds already."""
    wallet = wallet_of(desk)
    held = desk.held(wallet, "WETH")
    for conversion in (WRAP, UNWRAP):
        quote = desk.quote(wallet, **conversion)
        order = data(desk.submit(signed_batch(wallet, quote)))["order"]
        end = desk.follow(order["orderId"])
        assert end["status"] == "confirmed"
        if conversion is UNWRAP:
            held += int(end["received"]["amount"]) - int(quote["minBuyAmount"])
        assert desk.held(wallet, "WETH") == held


def test_the_wallet_rpc_takes_the_conversion_with_the_wallets_own_gas(desk: ApiClient) -> None:
    wallet = RpcWallet.of(desk, account=delegated_wallet(desk))
    quote = desk.quote(wallet.account, **WRAP)
    params, good = quote["batch"]["transactionParams"], batch_of(wallet.account, quote)
    filled = wallet.filled({"to": params["to"], "data": params["data"]})
    for wrong in wrong_batches(good)[::60]:
        with pytest.raises(Refused, match="not sent anywhere"):
            wallet.send(filled | wrong.fields)
    tx_hash = wallet.send(filled)
    assert wallet.decided(tx_hash) == "confirmed"
    require_one_transaction(desk, wallet.account, quote, tx_hash, WETH)


def test_both_batches_of_a_swap_are_not_open_at_once(desk: ApiClient) -> None:
    wallet = wallet_of(desk)
    with desk.no_blocks():
        first = desk.quote(wallet, **WRAP)
        order = data(desk.submit(signed_batch(wallet, first)))["order"]
        raw = sign(wallet, first["mevProtection"]["transactionParams"])
        plain = order_body(wallet, first, raw, 50)
        body = refused(desk.api.post("/api/v1/mev/orders", json=plain), 422, "VALIDATION_ERROR")
        assert body["details"] == {
            "reason": "QUOTE_USED", "fields": [], "orderId": order["orderId"],
        }  # fmt: skip
    assert desk.follow(order["orderId"])["status"] == "confirmed"


@pytest.mark.parametrize("delegate", DELEGATES)
def test_the_python_client_signs_once_in_each_direction(desk: ApiClient, delegate: str) -> None:
    wallet = delegated_wallet(desk, delegate)
    there = SwapRequest("ETH", USDC.address, SOLD, wallet.address, batch=True)
    back = SwapRequest(USDC.address, "ETH", 100 * 10**6, wallet.address, batch=True)
    with client_of(desk) as client:
        for request in (there, back):
            before, used = ether(desk, wallet), count(desk, wallet)
            plan = client.plan(request)
            assert (plan.refusal, plan.steps, plan.signatures) == (None, ("batch",), 1)
            result = client.swap(request, wallet)
            assert result.succeeded
            assert result.received is not None
            assert count(desk, wallet) == used + 1
            fee = int(result.status.fee_paid_wei or 0)
            least = int(result.quote.min_buy_amount)
            moved = -SOLD if request is there else least
            assert ether(desk, wallet) == before + moved - fee
        assert desk.held(wallet, "WETH") == result.received - least


@needs_packages
@pytest.mark.parametrize("delegate", DELEGATES)
def test_the_typescript_client_signs_once_in_each_direction(
    desk: ApiClient, typescript: TypeScript, delegate: str
) -> None:
    wallet = delegated_wallet(desk, delegate)
    page = Page(desk, typescript, wallet)
    there = {"sellToken": "ETH", "buyToken": USDC.address, "sellAmount": big(SOLD)}
    back = {"sellToken": USDC.address, "buyToken": "ETH", "sellAmount": big(100 * 10**6)}
    for request in (there, back):
        before, used = ether(desk, wallet), count(desk, wallet)
        terms = request | {"wallet": wallet.address, "batch": True}
        plan = page.ask("plan", terms)
        assert (plan.get("refusal"), plan["steps"], plan["signatures"]) == (None, ["batch"], 1)
        result = page.ask("swap", terms)
        assert result["succeeded"]
        assert count(desk, wallet) == used + 1
        least, fee = int(result["quote"]["minBuyAmount"]), int(result["status"]["feePaidWei"])
        moved = -SOLD if request is there else least
        assert ether(desk, wallet) == before + moved - fee
    assert desk.held(wallet, "WETH") == result["received"] - least


@pytest.mark.parametrize("delegate", DELEGATES)
def test_the_command_signs_once_in_each_direction(desk: ApiClient, delegate: str) -> None:
    """It shows what is wrapped or unwrapped, and that what is above the minimum stays WETH."""
    wallet = delegated_wallet(desk, delegate)
    before = ether(desk, wallet)
    answer, shown = swapped_by_command(desk, wallet, "0.1", "ETH", "USDC")
    assert "wrap in the same transaction: 0.1 ETH" in shown
    assert "may move exactly 0.1 WETH" in shown
    assert "wrap, approval and swap: 1 signature" in shown
    assert (count(desk, wallet), desk.held(wallet, "WETH")) == (1, 0)
    assert ether(desk, wallet) == before - SOLD - int(answer["order"]["feePaidWei"])
    assert answer["ok"]

    before = ether(desk, wallet)
    answer, shown = swapped_by_command(desk, wallet, "100", "USDC", "ETH")
    least, received = int(answer["minimum"]), int(answer["received"])
    minimum, rest = format_units(least, 18), format_units(received - least, 18)
    assert f"same transaction: {minimum} WETH, the minimum, arrives as ETH" in shown
    assert "what is above it stays WETH" in shown
    assert "approval, swap and unwrap: 1 signature" in shown
    assert f"of it {minimum} ETH, and {rest} WETH" in shown
    assert (count(desk, wallet), desk.held(wallet, "WETH")) == (2, received - least)
    assert ether(desk, wallet) == before + least - int(answer["order"]["feePaidWei"])


async def test_the_tools_sign_once_in_each_direction(desk: ApiClient) -> None:
    """Within the limit of WETH, which is that of the ETH that is sold."""
    wallet, person = delegated_wallet(desk), Asked("yes")
    swaps = (("ETH", "USDC", "0.1"), ("USDC", "ETH", "100"))
    async with signing_tools(desk, wallet, person) as (model, limits):
        for sell, buy, amount in swaps:
            before, used = ether(desk, wallet), count(desk, wallet)
            request = {"sell": sell, "buy": buy, "amount": amount, "wallet": wallet.address}
            prepared = await call(model, "prepare_swap", **request, batch=True)
            steps = "wrap, approval and swap" if sell == "ETH" else "approval, swap and unwrap"
            assert (prepared["kind"], prepared["inOneTransaction"]) == ("swap", steps)
            placed = await call(model, "sign_and_submit", prepared_id=prepared["preparedId"])
            end = await call(
                model, "follow_order", order_id=placed["orderId"], wait_seconds=MOST_WAIT_S
            )
            assert (end["final"], end["outcome"]) == (True, "mined")
            refused = await model.call_tool("prepare_swap", request | {"batch": True})
            assert refused.structured_content["error"] == "UnfinishedTrade"
            told = await call(model, "resume_swap", trade=placed["trade"])
            assert (told["final"], told["ok"], list(told["steps"])) == (True, True, ["batch"])
            assert count(desk, wallet) == used + 1
            fee = int(end["reportedByService"]["feePaidWei"])
            moved = -SOLD if sell == "ETH" else int(prepared["quote"]["minBuyAmount"])
            assert ether(desk, wallet) == before + moved - fee
            assert f"in one transaction of the wallet: {steps}" in person.questions[-1]
        assert limits.spent(KNOWN["WETH"]) == SOLD
        more = await call(model, "prepare_swap", **request | {
            "sell": "ETH", "buy": "USDC", "amount": "0.1"}, batch=True, new_trade=True)  # fmt: skip
        refusal = await model.call_tool("sign_and_submit", {"prepared_id": more["preparedId"]})
    assert refusal.structured_content["error"] == "LIMIT_EXCEEDED"
    assert len(person.questions) == 2


@asynccontextmanager
async def signing_tools(
    desk: ApiClient, wallet: LocalAccount, person: Asked
) -> AsyncIterator[tuple[Client, SigningLimits]]:
    """Connect to the tools with a local signer that may sell 0.1 WETH and 100 USDC."""
    facts = desk.town.facts
    url, rpc_url = facts["baseUrl"], facts["rpcUrl"]
    async with AsyncQuietswapClient(url, desk.secret, rpc_url=rpc_url) as client:
        preparer = Preparer(client, has_node=True)
        with tempfile.TemporaryDirectory() as folder:
            most = {ETHER: 10**17, KNOWN["WETH"]: SOLD, KNOWN["USDC"]: 100 * 10**6}
            file = Path(folder) / "limits.sqlite3"
            limits = SigningLimits(file, wallet.address, most, SystemClock())
            signer = WalletSigner(wallet.address, wallet, "a key of this test")
            server = make_server(preparer, LocalSigner(preparer, signer, limits, Person("client")))
            async with Client(server, elicitation_callback=person) as model:
                yield model, limits


def test_the_python_client_signs_nothing_for_a_plain_wallet(desk: ApiClient) -> None:
    wallet = desk.wallet()
    request = SwapRequest("ETH", USDC.address, SOLD, wallet.address, batch=True)
    with client_of(desk) as client, pytest.raises(QuoteDeclined, match="not delegated"):
        client.swap(request, wallet)
    assert count(desk, wallet) == 0
