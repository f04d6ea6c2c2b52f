"""swap(batch=True): approval and swap in one transaction, or nothing is signed at all."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from quietswap.client import QuietswapClient
from quietswap.client.errors import QuoteDeclined, UnsafeQuote
from quietswap.client.flows.quote_checks import check_quote, with_params
from quietswap.client.wire import decode
from quietswap.rules.contract.quotes import SwapQuoteResponse
from quietswap.rules.tx.address import from_any_case
from tests.api.scripted_use_cases import ROUTER
from tests.batches import STRANGER, Batch, delegated, wrong_batches
from tests.client.fake_chain import FakeChain
from tests.client.fake_servers import ETHER, WALLET, FakeService, ok, swap_quote
from tests.client.test_swap_flow import REQUEST, WETH
from tests.client.test_swap_safety import never
from tests.response_json import quotes

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


def test_only_an_exact_approval_is_batched() -> None:
    with pytest.raises(ValueError, match="batch approves exactly"):
        replace(BATCH, approval="max")
