"""Calldata that no router is proven to enforce is refused by name, whoever offers it."""

from dataclasses import replace
from typing import Any

import pytest

from quietswap.client import QuietswapClient
from quietswap.client.errors import UnsafeQuote
from quietswap.rules.quotes.route_policy import check_route
from quietswap.rules.routers import settlers
from quietswap.rules.tx.address import Address, from_any_case
from tests.client.conftest import Do
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_node import NodeSays
from tests.client.fake_servers import ETHER, MINIMUM, FakeService, Reply, calldata, ok, swap_quote
from tests.client.test_swap_flow import REQUEST
from tests.client.test_swap_safety import DAI, FOREIGN, never
from tests.response_json import quotes
from tests.routers.router_calldata import ROUTER_OF
from tests.stored_orders import USDC
from tests.vendors.router import EXECUTOR, Swap
from tests.vendors.velora import v3_group
from tests.vendors.zeroex import encoded as zeroex

ALONE = replace(REQUEST, approval="never")
UNREADABLE = b"\xde\xad\xbe\xef" + bytes(64)
UNKNOWN_POOL = 0x1234567890123456789012345678901234567890


def offered(source: str, data: bytes | None = None, **terms: Any) -> Reply:
    """Return a quote of one router's method."""
    data = calldata(source, minimum=MINIMUM + 1, **terms) if data is None else data
    return ok(quotes.swap_quote_response(swap_quote(target=ROUTER_OF[source], data=data)))


OTHER_POOLS = v3_group(Address(DAI), Address(USDC))
"""The router would pull DAI, the first token they name."""

ATTACKS = [
    ("unoswap", {"dex": UNKNOWN_POOL}, "pool"),
    ("kyberswap", {"flags": 1}, "only a part"),
    ("kyberswap", {"permit": b"\1" * 224}, "permit"),
    ("swapGeneric", {}, "swapGeneric"),
    ("velora", {"quoted": 1}, "quotedAmount"),
    ("velora", {"partner": 1 << 60}, "partnerAndFee"),
    (
        "swapExactAmountInOnUniswapV3",
        {"pools": v3_group(Address(DAI), Address(USDC))},
        "pools sell",
    ),
    ("oneinch", {"flags": 1}, "only a part"),
]


@pytest.mark.parametrize(("source", "terms", "says"), ATTACKS)
def test_a_hostile_method_is_refused_by_its_rule(
    do_with_node: Do,
    service: FakeService,
    node: FakeChain,
    source: str,
    terms: dict[str, Any],
    says: str,
) -> None:
    """Also with a trial that it would pass: no trial replaces the proof."""
    node.delivers = 3 * 10**9
    service.next("quote", offered(source, **terms))
    with pytest.raises(UnsafeQuote, match=rf"not bound by its router: .*{says}.*: not signed"):
        do_with_node("swap", REQUEST, never)
    assert (node.sent, node.trials) == ([], [])


@pytest.mark.parametrize("source", ["kyberswap", "velora", "sushi", "oneinch", "unoswap"])
def test_a_bound_method_of_each_router(do: Do, service: FakeService, source: str) -> None:
    service.next("quote", offered(source))
    assert do("swap", ALONE, ACCOUNT).succeeded


@pytest.mark.parametrize("data", [UNREADABLE, b"", b"\xe2\x1f\xd0", calldata("sushi")])
def test_an_unknown_method_of_a_known_router(
    do_with_node: Do, service: FakeService, node: FakeChain, data: bytes
) -> None:
    node.delivers = 3 * 10**9
    service.next("quote", offered("kyberswap", data))
    with pytest.raises(UnsafeQuote, match="not bound by its router"):
        do_with_node("swap", REQUEST, never)
    assert (node.sent, node.trials) == ([], [])


@pytest.mark.parametrize("gone", [{"accept_unbound": True}, {"routers": frozenset({FOREIGN})}])
def test_no_argument_signs_without_a_proof(gone: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        replace(REQUEST, **gone)


def test_another_router_is_neither_approved_nor_called(
    do_with_node: Do, service: FakeService, node: FakeChain
) -> None:
    node.delivers = 3 * 10**9
    service.next("quote", ok(quotes.swap_quote_response(swap_quote(target=FOREIGN))))
    with pytest.raises(UnsafeQuote, match="is not a router known here: not signed"):
        do_with_node("swap", REQUEST, never)
    assert (node.sent, node.trials) == ([], [])


def test_what_can_be_read_must_be_right_all_the_same(
    do_with_node: Do, service: FakeService
) -> None:
    service.next("quote", offered("kyberswap", calldata("kyberswap", sell=DAI)))
    with pytest.raises(UnsafeQuote, match="sells another token"):
        do_with_node("swap", REQUEST, never)
    service.next("quote", offered("kyberswap", calldata()[:-96]))
    with pytest.raises(UnsafeQuote, match="malformed"):
        do_with_node("swap", REQUEST, never)


def unproven(bound: object) -> Reply:
    quote = quotes.swap_quote_response(swap_quote())
    return ok(quote | {"verification": quote["verification"] | {"bound": bound}})


def test_a_quote_that_the_service_itself_calls_unbound(
    do_with_node: Do, service: FakeService, node: FakeChain
) -> None:
    service.next("quote", unproven(bound=False))
    with pytest.raises(UnsafeQuote, match="not bound by its router: not signed"):
        do_with_node("swap", REQUEST, never)


def test_that_the_service_calls_it_bound_proves_nothing(do: Do, service: FakeService) -> None:
    data = {"data": UNREADABLE}
    quote = quotes.swap_quote_response(swap_quote(**data))
    quote["verification"] |= {"bound": True}
    service.next("quote", ok(quote))
    with pytest.raises(UnsafeQuote, match="not bound by its router"):
        do("swap", ALONE, never)


GENUINE = EXECUTOR
PREVIOUS = from_any_case("0x" + "cc" * 20)


def names(node: FakeChain, monkeypatch: Any, owner: str | None, before: str | None) -> None:
    """Let the Deployer at the caller's node name these Settlers; None: it reverts."""
    usual = node.eth_call

    def call(wish: dict[str, str], block: str) -> str:
        if wish["to"] != settlers.DEPLOYER:
            return usual(wish, block)
        found = owner if wish["data"] == "0x" + settlers.OWNER_OF.hex() else before
        if found is None:
            raise NodeSays("execution reverted")
        return found

    monkeypatch.setattr(node, "eth_call", call)


def word(address: str) -> str:
    return "0x" + address[2:].lower().rjust(64, "0")


@pytest.mark.parametrize(
    ("owner", "before", "passes"),
    [
        (word(GENUINE), None, True),
        (word(PREVIOUS), word(GENUINE), True),
        (word(PREVIOUS), None, False),
        (None, word(GENUINE), False),
        (None, None, False),
        ("0x", word(GENUINE), False),
        (word("0x" + "0" * 40), word(GENUINE), False),
        ("0x" + "1" * 24 + GENUINE[2:].lower(), None, False),
    ],
)
def test_0x_needs_a_settler_that_the_callers_node_names(
    client: QuietswapClient,
    service: FakeService,
    node: FakeChain,
    monkeypatch: pytest.MonkeyPatch,
    owner: str | None,
    before: str | None,
    passes: bool,
) -> None:
    names(node, monkeypatch, owner, before)
    service.next("quote", *[offered("zeroex")] * 2)
    if passes:
        assert client.swap(REQUEST, ACCOUNT).succeeded
        return
    with pytest.raises(UnsafeQuote, match="cannot be proven genuine"):
        client.swap(REQUEST, never)


def test_0x_without_a_node_is_refused_by_name(do: Do, service: FakeService) -> None:
    service.next("quote", offered("zeroex"))
    with pytest.raises(UnsafeQuote, match="0x is only taken with a node of your own"):
        do("swap", ALONE, never)


def test_0x_that_lets_another_contract_take_the_tokens(
    client: QuietswapClient,
    service: FakeService,
    node: FakeChain,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names(node, monkeypatch, word(GENUINE), None)
    terms = Swap(
        Address(REQUEST.sell_token), Address(USDC), ETHER, MINIMUM + 1, Address(ACCOUNT.address)
    )
    service.next("quote", offered("zeroex", zeroex(terms, operator=PREVIOUS)))
    with pytest.raises(UnsafeQuote, match=r"not bound|malformed"):
        client.swap(REQUEST, never)


def test_the_client_goes_by_the_services_own_rules() -> None:
    from quietswap.client.flows import quote_checks

    assert quote_checks.route_policy.check_route is check_route
