"""A swap with ETH of the TypeScript client: one plan, each step recorded, resumed, none twice."""

from collections.abc import Iterator
from typing import Any

import pytest

from quietswap.client import SwapRequest
from quietswap.rules.tokens.token import WETH
from tests.api.scripted_use_cases import ROUTER, WALLET
from tests.client.ether_chain import (
    BROUGHT,
    FIRST_NONCE,
    TO_ETHER,
    TO_USDC,
    EtherChain,
    quoting,
    trading,
)
from tests.client.fake_servers import ETHER, Reply
from tests.client.test_after_signing import said
from tests.client.test_ether_swap import hostile
from tests.stored_orders import USDC
from tests.typescript.both import KEY, Outside
from tests.typescript.package import Thrown, TypeScript, big

pytestmark = pytest.mark.xdist_group("typescript")
STEPS = {"ETH": ["wrap", "approve", "swap"], USDC: ["approve", "swap", "unwrap"]}
BOTH = pytest.mark.parametrize("request_", [TO_USDC, TO_ETHER], ids=["from ETH", "to ETH"])


class Desk:
    """One person's client over its processes: what it has recorded outlives each of them."""

    def __init__(self, typescript: TypeScript, outside: Outside) -> None:
        self.typescript, self.outside = typescript, outside
        self.chain = EtherChain()
        self.service = trading(self.chain)
        outside.present, outside.node = self.service, self.chain
        self.orders: dict[str, dict[str, Any]] = {}
        self.events: list[str] = []

    def funded(self, request: SwapRequest) -> list[str]:
        """Give the wallet what the request sells, and nothing else; return the steps it takes."""
        if request is TO_ETHER:
            self.chain.held[USDC] = 3_000_000_000
        return STEPS[request.sell_token]

    def swap(self, request: SwapRequest, **command: Any) -> dict[str, Any]:
        members = {
            "sellToken": request.sell_token,
            "buyToken": request.buy_token,
            "sellAmount": big(request.sell_amount or 0),
            "wallet": WALLET,
        }
        return self._run("swap", members | command.pop("more", {}), **command)

    def resume(self, **command: Any) -> dict[str, Any]:
        """Go on with the recorded trade in a new process."""
        (trade,) = {each["trade"] for each in self.orders.values()}
        return self._run("resume", trade, **command)

    def _run(self, method: str, argument: Any, **command: Any) -> dict[str, Any]:
        servers = self.outside.servers
        options = {
            "url": servers.url, "apiKey": "qs_right", "rpcUrl": servers.rpc_url,
            "orders": self.orders, "polling": {"doubtS": 0, "patienceS": 60},
        }  # fmt: skip
        signer = {"key": KEY}
        try:
            ran = self.typescript.run(method, argument, options=options, signer=signer, **command)
        except Thrown as thrown:
            self._ended(thrown.fields)
            raise
        self._ended(ran)
        result: dict[str, Any] = ran["result"]
        return result

    def _ended(self, ran: dict[str, Any]) -> None:
        self.orders, self.events = ran["orders"], ran["events"]
        self.named: dict[str, dict[str, Any]] = ran["named"]


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    servers = Outside()
    yield servers
    servers.servers.close()


@pytest.fixture
def desk(typescript: TypeScript, outside: Outside) -> Desk:
    return Desk(typescript, outside)


@BOTH
def test_one_call_signs_all_steps(desk: Desk, request_: SwapRequest) -> None:
    steps = desk.funded(request_)
    result = desk.swap(request_)
    assert (result["succeeded"], desk.chain.steps) == (True, steps)
    assert result["received"] == BROUGHT[USDC if request_ is TO_USDC else WETH]
    assert result["conversion"]["transactionHash"] in desk.orders
    first, second = desk.orders.values()
    assert {first["trade"], second["trade"]} == {first["txHash"]} == {result["trade"]}
    assert [f"the {each}" for each in steps if each != "approve"] == [first["what"], second["what"]]
    assert (first["sellToken"], first["buyToken"]) == (request_.sell_token, request_.buy_token)
    least = 2_985_000_000 if request_ is TO_USDC else 995 * 10**15
    assert (first["sellAmount"], first["atLeast"]) == (str(request_.sell_amount), str(least))
    again = desk.resume()
    assert (again["received"], again["mined"]) == (result["received"], [
        each for each in steps if each != "approve"
    ])  # fmt: skip
    assert desk.chain.steps == steps, "nothing is done again"


def test_what_was_there_before_is_not_unwrapped(desk: Desk) -> None:
    desk.funded(TO_ETHER)
    desk.chain.held[WETH] = 5 * ETHER
    desk.swap(TO_ETHER)
    assert desk.chain.amounts[-1] == BROUGHT[WETH]
    assert desk.chain.held[WETH] == 5 * ETHER


MOMENTS = [
    (TO_USDC, "wrap signed"),
    (TO_USDC, "wrap mined"),
    (TO_USDC, "approved"),
    (TO_USDC, "simulation"),
    (TO_USDC, "swap signed"),
    (TO_USDC, "submitted"),
    (TO_USDC, "swap mined"),
    (TO_ETHER, "swap signed"),
    (TO_ETHER, "submitted"),
    (TO_ETHER, "swap mined"),
    (TO_ETHER, "unwrap signed"),
    (TO_ETHER, "unwrap mined"),
]


@pytest.mark.parametrize(("request_", "moment"), MOMENTS)
def test_a_killed_trade_goes_on_and_does_nothing_twice(
    desk: Desk, request_: SwapRequest, moment: str
) -> None:
    steps = desk.funded(request_)
    with pytest.raises(Thrown, match="killed"):
        desk.swap(request_, dies=moment)
    with pytest.raises(Thrown, match="UnfinishedTrade"):
        desk.swap(request_)
    result = desk.resume()
    assert (result["succeeded"], desk.chain.steps) == (True, steps)
    assert desk.chain.nonce == FIRST_NONCE + len(steps)
    assert result["received"] == BROUGHT[USDC if request_ is TO_USDC else WETH]


@BOTH
def test_what_cannot_be_recorded_is_not_submitted(desk: Desk, request_: SwapRequest) -> None:
    desk.funded(request_)
    with pytest.raises(Thrown, match=r"QuoteDeclined: .*cannot be recorded .no space left"):
        desk.swap(request_, unwritable=True)
    assert (desk.service.bodies("order"), desk.service.bodies("wrap order")) == ([], [])


@BOTH
def test_the_same_request_again_is_refused_while_it_is_unfinished(
    desk: Desk, request_: SwapRequest
) -> None:
    steps = desk.funded(request_)
    first = next(step for step in steps if step != "approve")
    with pytest.raises(Thrown, match="killed"):
        desk.swap(request_, dies=f"{first} mined")
    signed = list(desk.chain.steps)
    with pytest.raises(Thrown, match="UnfinishedTrade") as refusal:
        desk.swap(request_)
    assert refusal.value.fields["trade"] in desk.orders
    with pytest.raises(Thrown, match=r"QuoteDeclined: .*(not accepted|holds)"):
        desk.swap(request_, more={"newTrade": True}, accept=False)
    assert desk.chain.steps == signed
    desk.resume()
    assert desk.chain.steps == steps
    desk.chain.held[USDC] = 3_000_000_000 if request_ is TO_ETHER else 0
    assert desk.swap(request_)["succeeded"], "a finished one is in nobody's way"


def test_a_trade_whose_weth_has_gone_elsewhere_is_over(desk: Desk) -> None:
    with pytest.raises(Thrown, match="killed"):
        desk.swap(TO_USDC, dies="wrap mined")
    desk.chain.held[WETH] -= 1
    with pytest.raises(Thrown, match="not accepted"):
        desk.swap(TO_USDC, accept=False)


def test_what_nobody_shows_is_signed_with_its_own_nonce(desk: Desk) -> None:
    """At most one of the two can be mined."""
    desk.chain.withholds = True
    with pytest.raises(Thrown):
        desk.swap(TO_USDC)
    desk.chain.withholds = False
    assert desk.resume()["succeeded"]
    assert "wrap unshown" in desk.events
    wraps = [each["nonce"] for each in desk.orders.values() if each["what"] == "the wrap"]
    assert set(wraps) == {FIRST_NONCE}
    assert desk.chain.steps == STEPS["ETH"]


def test_a_refused_swap_is_recorded_under_the_order_that_the_refusal_names(desk: Desk) -> None:
    """So its end can be checked; as the Python client records it."""
    desk.funded(TO_ETHER)
    refused = said("PROVIDER_UNAVAILABLE", 503, reason="NOT_SENT", orderId="ord_5")
    desk.service.next("order", *[refused] * 3)
    with pytest.raises(Thrown, match="MinedAnyway"):
        desk.swap(TO_ETHER)
    (swap,) = desk.orders.values()
    assert desk.named["ord_5"] == swap | {"orderId": "ord_5"}
    assert desk.resume()["succeeded"]
    assert desk.chain.steps == STEPS[USDC]


@pytest.mark.parametrize(
    ("lie", "says"),
    [
        (hostile("wrap", ETHER, value=str(2 * ETHER)), "another value"),
        (hostile("wrap", 2 * ETHER), "another amount"),
        (hostile("wrap", ETHER, to=ROUTER), "another contract"),
        (hostile("wrap", ETHER, gasLimit="16000000"), "gas of the wrap may cost"),
    ],
)
def test_no_other_wrap_is_signed_than_the_accepted_one(desk: Desk, lie: Reply, says: str) -> None:
    desk.service.next("wrap quote", hostile("wrap", ETHER), lie)
    with pytest.raises(Thrown, match=says):
        desk.swap(TO_USDC)
    assert (desk.chain.steps, desk.orders) == ([], {})


@pytest.mark.parametrize(
    ("lie", "says"),
    [
        (hostile("unwrap", BROUGHT[WETH] + 10**15), "another amount"),
        (hostile("unwrap", BROUGHT[WETH], data="0x2e1a7d4d" + f"{ETHER:064x}"), "another call"),
        (hostile("unwrap", BROUGHT[WETH], value="1"), "another value"),
    ],
)
def test_no_other_unwrap_is_signed_than_of_what_arrived(desk: Desk, lie: Reply, says: str) -> None:
    desk.funded(TO_ETHER)
    desk.chain.held[WETH] = 5 * ETHER
    desk.chain.allowances[ROUTER.lower()] = 3_000_000_000
    desk.service.next("wrap quote", hostile("unwrap", 995 * 10**15), lie)
    with pytest.raises(Thrown, match=f"UnsafeQuote: .*{says}"):
        desk.swap(TO_ETHER)
    assert "unwrap" not in desk.chain.steps


def test_a_worse_quote_after_the_wrap_stops_and_leaves_the_weth(desk: Desk) -> None:
    """Half of the slippage is what the price may lose; the minimum stays that of the plan."""
    with pytest.raises(Thrown, match="killed"):
        desk.swap(TO_USDC, dies="wrap mined")
    desk.service.quote = quoting(desk.service, 26)
    with pytest.raises(Thrown, match="is below 2985000000"):
        desk.resume()
    assert (desk.chain.steps, desk.chain.held[WETH]) == (["wrap"], ETHER)
    desk.service.quote = quoting(desk.service, 24)
    assert desk.resume()["succeeded"]
    assert desk.chain.steps == STEPS["ETH"]


def test_an_end_that_only_the_service_claims_is_not_unwrapped(desk: Desk) -> None:
    desk.funded(TO_ETHER)
    desk.chain.held[WETH] = 5 * ETHER
    desk.chain.allowances[ROUTER.lower()] = 3_000_000_000
    desk.chain.withholds = True
    with pytest.raises(Thrown, match=r"MayBeMined: .*your own node"):
        desk.swap(TO_ETHER)
    assert desk.chain.steps == []


def test_what_was_not_signed_here_is_not_resumed(desk: Desk) -> None:
    desk.orders = {"0x" + "77" * 32: {"trade": "0x" + "77" * 32}}
    with pytest.raises(Thrown, match="is not on the record here"):
        desk.resume()
