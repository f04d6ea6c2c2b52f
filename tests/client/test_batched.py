"""swap(batch=True): approval and swap in one transaction, or nothing is signed at all."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from quietswap.client import QuietswapClient
from quietswap.client.errors import QuoteDeclined, UnsafeQuote
from quietswap.client.flows.quote_checks import SwapRequest, check_quote, with_params
from quietswap.client.wire import decode
from quietswap.rules.contract.quotes import SwapQuoteResponse
from quietswap.rules.tx.address import from_any_case
from tests.api.scripted_use_cases import ROUTER
from tests.batches import STRANGER, Batch, delegated, wrong_batches
from tests.client.fake_chain import FakeChain
from tests.client.fake_servers import (
    ETHER,
    WALLET,
    FakeServers,
    FakeService,
    calldata,
    ok,
    swap_quote,
)
from tests.client.test_swap_flow import REQUEST, WETH
from tests.client.test_swap_safety import never
from tests.response_json import quotes
from tests.stored_orders import USDC

BATCH = replace(REQUEST, batch=True)
SWAP = swap_quote().route.data
GOOD = Batch(from_any_case(WALLET), WETH, ROUTER, ETHER, SWAP)


def offered(reason: str | None = None, **changes: Any) -> dict[str, Any]:
    """Return the usual quote with a batched form, whose transaction has these changes."""
    quote = quotes.swap_quote_response(swap_quote())
    plain = quote["mevProtection"]["transactionParams"]
    params = plain | {"to": WALLET, "data": "0x" + GOOD.data.hex(), "gasLimit": "400000"} | changes
    quote["batch"] = {
        "delegate": ROUTER,
        "transactionParams": None if reason else params,
        "estimatedGas": None if reason else 300_000,
        "reason": reason,
    }
    return quote


def form(**changes: Any) -> SwapQuoteResponse:
    """Return the quote as the flow checks it: with the transaction of its batched form."""
    quote = decode(msgspec.json.encode(offered(**changes)), SwapQuoteResponse)
    assert quote.batch is not None
    assert quote.batch.transaction_params is not None
    return with_params(quote, quote.batch.transaction_params)


@pytest.fixture
def ready(node: FakeChain) -> FakeChain:
    node.code, node.delivers, node.takes = delegated(), 3 * 10**9, ETHER
    return node


def declined(client: QuietswapClient, service: FakeService, node: FakeChain, words: str) -> None:
    with pytest.raises(QuoteDeclined, match=words):
        client.swap(BATCH, never)
    assert (node.sent, service.bodies("order")) == ([], [])


def test_every_wrong_batch_is_refused(
    client: QuietswapClient, service: FakeService, ready: FakeChain
) -> None:
    wrong = wrong_batches(GOOD)
    assert len(wrong) > 300
    for number, one in enumerate(wrong):
        fields = one.fields | {"value": str(one.value)}
        with pytest.raises(UnsafeQuote):
            check_quote(form(**fields), BATCH, batched=True)
        if number % 20 == 0:
            service.next("quote", ok(offered(**fields)))
            with pytest.raises(UnsafeQuote):
                client.swap(BATCH, never)
    check_quote(form(), BATCH, batched=True)
    assert ready.sent == []


def test_a_plain_swap_in_the_place_of_the_batch_is_refused(
    client: QuietswapClient, service: FakeService, ready: FakeChain
) -> None:
    """What was asked for decides: a swap without its allowance would only burn gas."""
    ready.delivers = None  # the own node has no eth_simulateV1, so nothing else would notice
    plain = quotes.swap_quote_response(swap_quote())["mevProtection"]["transactionParams"]
    service.next("quote", ok(offered(**plain)))
    with pytest.raises(UnsafeQuote, match="another batch than the exact approval and the swap"):
        client.swap(BATCH, never)
    assert (ready.sent, service.bodies("order")) == ([], [])


@pytest.mark.parametrize(
    ("code", "words"),
    [("0x", "not delegated"), ("0x6080", "not delegated"), (delegated(STRANGER), "was not read")],
)
def test_the_wallets_code_is_read_at_the_own_node(
    client: QuietswapClient, service: FakeService, ready: FakeChain, code: str, words: str
) -> None:
    ready.code = code
    service.next("quote", ok(offered()))
    declined(client, service, ready, words)


def test_an_allowance_that_does_not_suffice_is_refused(
    client: QuietswapClient, service: FakeService, ready: FakeChain
) -> None:
    ready.allowances[ROUTER.lower()] = ETHER - 1
    service.next("quote", ok(offered()))
    declined(client, service, ready, f"allowance is {ETHER - 1}")


def test_what_the_service_says_is_passed_on(
    client: QuietswapClient, service: FakeService, ready: FakeChain
) -> None:
    service.next("quote", ok(offered(reason="it is Tuesday")))
    declined(client, service, ready, "it is Tuesday")
    declined(client, service, ready, "the service offers none")


@pytest.mark.parametrize("nonce", [6, 8, None])
def test_both_forms_have_one_nonce(
    client: QuietswapClient, service: FakeService, ready: FakeChain, nonce: int | None
) -> None:
    service.next("quote", ok(offered(nonce=nonce)))
    with pytest.raises((QuoteDeclined, UnsafeQuote), match=r"nonce|not mined yet"):
        client.swap(BATCH, never)


@pytest.mark.parametrize("request_", [REQUEST, BATCH])
@pytest.mark.parametrize("allowance", [0, ETHER])
def test_a_batch_in_the_place_of_the_plain_form_is_refused(
    client: QuietswapClient, service: FakeService, ready: FakeChain, request_: Any, allowance: int
) -> None:
    """Its delegate would not be looked at."""
    ready.allowances[ROUTER.lower()] = allowance
    quote = offered()
    quote["mevProtection"]["transactionParams"] = quote["batch"]["transactionParams"]
    service.next("quote", ok(quote))
    with pytest.raises(UnsafeQuote, match="a target that is not the router"):
        client.swap(request_, never)


@pytest.mark.parametrize("request_", [BATCH, replace(BATCH, sell_token="ETH")])
def test_without_an_own_node_nothing_is_signed(
    service: FakeService, outside: FakeServers, request_: SwapRequest
) -> None:
    """The plain form would sell WETH that the wallet has."""
    service.next("quote", ok(offered()))
    with QuietswapClient(outside.url, "qs_right") as alone:
        with pytest.raises(QuoteDeclined, match="needs your own node"):
            alone.swap(request_, never)
        with pytest.raises(QuoteDeclined, match="needs your own node"):
            alone.plan(request_)
    assert service.bodies("order") == []


def test_only_an_exact_approval_is_batched() -> None:
    with pytest.raises(ValueError, match="batch approves exactly"):
        replace(BATCH, approval="max")


# With ETH: the same transaction wraps what is sold, or unwraps the minimum.

WRAPS = replace(REQUEST, sell_token="ETH", batch=True)
UNWRAPS = replace(
    REQUEST, sell_token=USDC, buy_token="ETH", sell_amount=10**6, batch=True, max_loss_percent=100
)
LEAST = 3 * 10**14
BACK = calldata(sell=USDC, buy=WETH, amount=10**6, minimum=LEAST)
CONVERTING = {
    "wrap": (WRAPS, replace(GOOD, wrapped=ETHER)),
    "unwrap": (
        UNWRAPS,
        replace(GOOD, token=USDC, amount=10**6, swap=BACK, unwrapped=LEAST),
    ),
}


def converting(conversion: str, **changes: Any) -> dict[str, Any]:
    """Return the quote of a request with ETH, whose batch has these changes."""
    request, good = CONVERTING[conversion]
    quote = offered(**{"data": "0x" + good.data.hex()} | changes)
    quote["batch"]["conversion"] = conversion
    if conversion == "unwrap":
        plain = quotes.swap_quote_response(swap_quote(data=BACK))
        quote |= {name: plain[name] for name in ("dexRoute", "mevProtection")}
        quote |= {"sellToken": USDC, "buyToken": WETH, "sellAmount": str(request.sell_amount)}
        quote |= {"buyAmount": str(LEAST + 1), "minBuyAmount": str(LEAST)}
    return quote


@pytest.mark.parametrize("conversion", CONVERTING)
def test_every_wrong_conversion_is_refused(conversion: str) -> None:
    request, good = CONVERTING[conversion]

    def check(**changes: Any) -> None:
        text = msgspec.json.encode(converting(conversion, **changes))
        quote = decode(text, SwapQuoteResponse)
        assert quote.batch is not None
        assert quote.batch.transaction_params is not None
        shown = with_params(quote, quote.batch.transaction_params)
        check_quote(shown, request.in_weth, batched=True)

    for one in wrong_batches(good):
        with pytest.raises(UnsafeQuote):
            check(**one.fields | {"value": str(one.value)})
    check()


@pytest.mark.parametrize("conversion", CONVERTING)
def test_the_plan_is_one_signature(
    client: QuietswapClient, service: FakeService, ready: FakeChain, conversion: str
) -> None:
    """Without eth_simulateV1 at the own node it is planned, and refused."""
    request, good = CONVERTING[conversion]
    ready.delivers = None
    service.next("quote", ok(converting(conversion)))
    plan = client.plan(request)
    assert (plan.steps, plan.signatures, plan.is_batched) == (("batch",), 1, True)
    assert plan.conversion is None
    assert plan.request.batch_conversion == conversion
    assert plan.params.data == "0x" + good.data.hex()
    assert "cannot try the swap" in str(plan.refusal)
    assert [each.query.get("conversion") for each in service.asked if each.query] == [conversion]


def test_a_wrap_needs_the_eth_and_no_weth(
    client: QuietswapClient, service: FakeService, ready: FakeChain
) -> None:
    ready.ether = ETHER
    service.next("quote", ok(converting("wrap")))
    plan = client.plan(WRAPS)
    assert "wei of ETH" in str(plan.refusal)
    with pytest.raises(QuoteDeclined, match=f"holds {ETHER} wei of ETH"):
        client.swap(WRAPS, never)
    assert (ready.sent, service.bodies("order")) == ([], [])


@pytest.mark.parametrize("conversion", CONVERTING)
def test_a_batch_without_the_conversion_is_refused(
    client: QuietswapClient, service: FakeService, ready: FakeChain, conversion: str
) -> None:
    """And none that converts, where none was asked for."""
    request, good = CONVERTING[conversion]
    alone = replace(good, wrapped=0, unwrapped=0)
    service.next("quote", ok(converting(conversion, data="0x" + alone.data.hex())))
    with pytest.raises(UnsafeQuote, match=f"another batch than the {conversion}"):
        client.swap(request, never)
    service.next("quote", ok(converting(conversion)))
    plain = replace(request.in_weth, batch_conversion=None)
    with pytest.raises(UnsafeQuote, match="another batch than the exact approval"):
        client.swap(plain, never)
    assert (ready.sent, service.bodies("order")) == ([], [])


@pytest.mark.parametrize(
    "changes", [{"batch": False}, {"batch_conversion": "unwrap"}, {"sell_token": ROUTER}]
)
def test_only_weth_is_converted_in_a_batch(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="batch_conversion"):
        replace(BATCH, **{"batch_conversion": "wrap"} | changes)
