"""What swap() refuses to sign, whatever the service says."""

from dataclasses import replace
from typing import Any

import pytest
from eth_account import Account

from quietswap.client import QuietswapClient
from quietswap.client.errors import QuoteDeclined, SignerMismatch, UnsafeQuote
from quietswap.rules.tokens.token import WETH
from tests.api.scripted_use_cases import ROUTER
from tests.client.conftest import Time
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_servers import ETHER, MINIMUM, WALLET, FakeService, calldata, ok, swap_quote
from tests.client.test_swap_flow import OTHER_ROUTER, REQUEST
from tests.response_json import quotes
from tests.stored_orders import USDC


@pytest.fixture
def approved(node: FakeChain) -> FakeChain:
    node.allowances[ROUTER.lower()] = ETHER
    return node


def change(path: str, value: Any) -> dict[str, Any]:
    """Return the usual quote with one member changed."""
    quote = quotes.swap_quote_response(swap_quote())
    *parents, last = path.split(".")
    inner = quote
    for parent in parents:
        inner = inner[parent]
    inner[last] = value
    return quote


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("sellToken", USDC),
        ("buyToken", WETH),
        ("sellAmount", str(ETHER + 1)),
        ("minBuyAmount", "0"),
        ("minBuyAmount", "2900000000"),
        ("mevProtection.transactionParams.to", OTHER_ROUTER),
        ("mevProtection.transactionParams.data", "0xdeadbeef"),
        ("mevProtection.transactionParams.value", "1"),
        ("mevProtection.transactionParams.maxPriorityFeePerGas", "1"),
        ("mevProtection.transactionParams.chainId", 137),
        ("mevProtection.transactionParams.type", 0),
        ("mevProtection.transactionParams.gasLimit", str(2**24 + 1)),
        ("mevProtection.transactionParams.nonce", None),
    ],
)
def test_nothing_else_is_signed(
    client: QuietswapClient, service: FakeService, approved: FakeChain, path: str, value: Any
) -> None:
    service.next("quote", ok(change(path, value)))
    with pytest.raises(UnsafeQuote):
        client.swap(REQUEST, never)


FOREIGN = "0x1111111254EEB25477B68fb85Ed929f73A960582"
DAI = "0x6B175474E89094C44Da98b954EedeAC495271d0F"
THIEF = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


def never(_: object) -> str:
    raise AssertionError("asked to sign")


@pytest.mark.parametrize(
    ("lie", "says"),
    [
        ({"target": FOREIGN}, "is not a router known here"),
        ({"data": calldata(to=THIEF)}, "pays 0x7099"),
        ({"data": calldata(minimum=MINIMUM - 10**6)}, "enforces only 2984000000"),
        ({"data": calldata(amount=2 * ETHER)}, "another amount"),
        ({"data": calldata(sell=DAI)}, "sells another token"),
        ({"data": calldata(buy=DAI)}, "buys another token"),
        ({"data": calldata()[:-96]}, "malformed"),
    ],
)
def test_a_lying_service_gets_neither_signature_nor_approval(
    client: QuietswapClient, service: FakeService, node: FakeChain, lie: dict[str, Any], says: str
) -> None:
    service.next("quote", ok(quotes.swap_quote_response(swap_quote(**lie))))
    with pytest.raises(UnsafeQuote, match=says):
        client.swap(REQUEST, never)
    assert node.sent == []


OTHER_ACCOUNT = Account.from_key("0x" + "11" * 32)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"to": THIEF}, r"changed the transaction \(to\)"),
        ({"value": 1}, r"changed the transaction \(value\)"),
        ({"nonce": 8}, r"changed the transaction \(nonce\)"),
        ({"gas": 21_000, "data": "0x"}, r"changed the transaction \(data, gas\)"),
        ({"maxFeePerGas": 10**12}, r"changed the transaction \(maxFeePerGas\)"),
        ({"maxPriorityFeePerGas": 1}, r"changed the transaction \(maxPriorityFeePerGas\)"),
        ({"chainId": 137}, "chainId must be 1"),
    ],
)
def test_a_signer_that_changes_the_transaction(
    client: QuietswapClient,
    service: FakeService,
    approved: FakeChain,
    change: dict[str, Any],
    says: str,
) -> None:
    def careless(transaction: dict[str, Any]) -> bytes:
        return bytes(ACCOUNT.sign_transaction(transaction | change).raw_transaction)

    with pytest.raises(SignerMismatch, match=says):
        client.swap(REQUEST, careless)
    assert service.bodies("order") == []


def test_a_wrongly_signed_approval_is_not_sent(client: QuietswapClient, node: FakeChain) -> None:
    with pytest.raises(SignerMismatch, match="not for 0xf39F"):
        client.swap(REQUEST, OTHER_ACCOUNT)
    with pytest.raises(SignerMismatch, match="no usable transaction"):
        client.swap(REQUEST, lambda _: "0x1234")
    with pytest.raises(SignerMismatch, match="returned NoneType, not bytes or hex"):
        client.swap(REQUEST, lambda _: None)  # type: ignore[arg-type,return-value]
    with pytest.raises(SignerMismatch, match="no usable transaction"):
        client.wrap("1", lambda _: b"", wallet=WALLET)
    assert node.sent == []


def test_an_approval_that_is_none_is_named() -> None:
    with pytest.raises(ValueError, match="approval must be exact, max or never, not 'foo'"):
        replace(REQUEST, approval="foo")  # type: ignore[arg-type]


def test_the_callers_conditions(client: QuietswapClient, service: FakeService) -> None:
    with pytest.raises(QuoteDeclined):
        client.swap(replace(REQUEST, at_least=2_985_000_001), ACCOUNT)
    with pytest.raises(QuoteDeclined):
        client.swap(replace(REQUEST, accept=lambda quote: quote.source != "kyberswap"), ACCOUNT)
    assert service.bodies("order") == []


def test_nothing_is_approved_for_a_swap_the_wallet_cannot_pay(
    client: QuietswapClient, node: FakeChain
) -> None:
    node.balance = ETHER - 1
    with pytest.raises(QuoteDeclined, match=f"holds {ETHER - 1} of {ETHER} smallest units"):
        client.swap(REQUEST, ACCOUNT)
    assert node.sent == []


@pytest.mark.parametrize(("allowance", "passes"), [(ETHER, True), (ETHER - 1, False)])
def test_without_an_approval_the_allowance_must_suffice(
    do_with_node: Any, node: FakeChain, service: FakeService, allowance: int, passes: bool
) -> None:
    node.allowances[ROUTER.lower()] = allowance
    request = replace(REQUEST, approval="never")
    if passes:
        assert do_with_node("swap", request, ACCOUNT).succeeded
        return
    with pytest.raises(
        QuoteDeclined, match=f"may move {allowance} .*approval \\(--approve\\) is never"
    ):
        do_with_node("swap", request, never)
    assert node.sent == []


@pytest.mark.parametrize(("seconds", "quotes_asked"), [(20.0, 1), (20.5, 2)])
def test_a_quote_that_is_older_than_twenty_seconds_is_replaced(
    client: QuietswapClient, service: FakeService, approved: FakeChain, time: Time,
    seconds: float, quotes_asked: int,
) -> None:  # fmt: skip
    """Accepting takes time only once."""
    waits = iter([seconds, 0.0])

    def accept(_: object) -> bool:
        time.sleep(next(waits))
        return True

    assert client.swap(replace(REQUEST, accept=accept), ACCOUNT).succeeded
    assert sum(each.path.endswith("/quote") for each in service.asked) == quotes_asked
