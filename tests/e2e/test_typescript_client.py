"""The TypeScript package against a whole sandbox: flows, events, a reorganisation."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount

from quietswap.rules.tokens.token import WETH
from tests.e2e.conftest import USDC, Town
from tests.spec.api_client import ETHER, ApiClient
from tests.spec.wire import data
from tests.typescript.package import Thrown, TypeScript, big, build, needs_packages, running

pytestmark = [needs_packages, pytest.mark.xdist_group("typescript-e2e")]
TENTH = ETHER // 10


@pytest.fixture(scope="module")
def typescript(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TypeScript]:
    folder: Path = tmp_path_factory.mktemp("typescript")
    build(folder)
    with running(folder) as found:
        yield found


@pytest.fixture
def desk(town: Town) -> Iterator[ApiClient]:
    with ApiClient(town) as found:
        yield found


class Page:
    """The client of one wallet."""

    def __init__(
        self, desk: ApiClient, typescript: TypeScript, wallet: LocalAccount | None = None
    ) -> None:
        self.desk, self.typescript = desk, typescript
        self.wallet = wallet or desk.wallet()
        self.signer = {"key": self.wallet.key.to_0x_hex()}
        facts = desk.town.facts
        self.options = {
            "url": facts["baseUrl"], "apiKey": desk.secret, "rpcUrl": facts["rpcUrl"],
            "polling": {"nodeIntervalS": 0.1, "doubtS": 60},
        }  # fmt: skip
        self.request = {
            "sellToken": WETH, "buyToken": USDC, "sellAmount": big(TENTH),
            "wallet": self.wallet.address,
        }  # fmt: skip

    def run(self, method: str, *args: Any, **command: Any) -> dict[str, Any]:
        signs = method in ("swap", "wrap", "unwrap", "cancel")
        signer = {"signer": self.signer} if signs else {}
        return self.typescript.run(
            method, *args, options=self.options, realTime=True, **signer, **command
        )

    def ask(self, method: str, *args: Any, **command: Any) -> Any:
        return self.run(method, *args, **command)["result"]


@pytest.fixture
def page(desk: ApiClient, typescript: TypeScript) -> Page:
    return Page(desk, typescript)


def test_a_swap_approves_exactly_and_tells_what_arrived(page: Page) -> None:
    usdc = page.desk.held(page.wallet, "USDC")
    end = page.run("swap", page.request)
    result = end["result"]
    assert result["succeeded"]
    assert result["fate"] == "mined"
    assert [each["amount"] for each in result["approvals"]] == [TENTH]
    assert result["received"] == page.desk.held(page.wallet, "USDC") - usdc > 0
    assert result["received"] >= int(result["quote"]["minBuyAmount"])
    router = result["quote"]["dexRoute"]["target"]
    call = {"to": WETH, "data": f"0xdd62ed3e{_word(page.wallet.address)}{_word(router)}"}
    assert int(page.desk.rpc("eth_call", call, "latest"), 16) == 0, "an exact approval is used up"
    assert end["events"][0] == "quote"
    assert end["events"][-1] == "status confirmed"
    assert "simulation" in end["events"]
    assert page.desk.town.control.get("/mempool-leaks").json()["leaks"] == []


def test_wrap_unwrap_and_history(page: Page) -> None:
    weth = page.desk.held(page.wallet, "WETH")
    assert page.ask("wrap", "0.2")["receipt"]["succeeded"]
    assert page.desk.held(page.wallet, "WETH") == weth + 2 * TENTH
    assert page.ask("unwrap", "0.1")["receipt"]["succeeded"]
    assert page.desk.held(page.wallet, "WETH") == weth + TENTH
    info = page.ask("wrapInfo", page.wallet.address)
    assert info["balances"]["weth"]["wei"] == str(weth + TENTH)
    wraps = page.ask("orderHistory", page.wallet.address, {"kind": "wrap"})
    assert (wraps["total"], len(wraps["orders"])) == (2, 2)
    assert page.ask("orderHistory", page.wallet.address)["orders"] == []


def test_errors_have_code_status_and_details(page: Page) -> None:
    poor = page.request | {"sellAmount": big(10**30), "atLeast": big(1)}
    with pytest.raises(Thrown, match=r"QuoteDeclined|ApiError"):
        page.run("swap", poor)
    with pytest.raises(Thrown) as caught:
        page.run("orderStatus", "ord_of_somebody_else")
    assert (caught.value.fields["code"], caught.value.fields["status"]) == ("ORDER_NOT_FOUND", 404)
    with pytest.raises(Thrown) as caught:
        page.run("wrapQuote", "wrap", "-1", page.wallet.address)
    assert caught.value.fields["code"] == "INVALID_AMOUNT"
    assert caught.value.fields["details"]["provided"] == "-1"


def test_an_open_order_is_cancelled_by_its_nonce(page: Page) -> None:
    """The swap would revert by now, so that the relay never includes it."""
    desk = page.desk
    with desk.no_blocks():
        signed = desk.swap(page.wallet)
        order = data(desk.submit(signed))["order"]
        desk.approve(page.wallet, signed.quote, 0)
    nonce = signed.quote["mevProtection"]["transactionParams"]["nonce"]
    with pytest.raises(Thrown, match="only the service knows which nonce"):
        page.run("cancel", {"orderId": order["orderId"]})
    with pytest.raises(Thrown, match="is open, and the wrap could take its nonce"):
        page.run("wrap", "0.1")
    result = page.ask("cancel", {"orderId": order["orderId"], "nonce": nonce})
    assert (result["cancelled"], result["checked"]) == (True, True)
    assert result["status"]["error"]["code"] == "USER_CANCELLED"
    assert desk.history(page.wallet)["orders"][0]["status"] == "cancelled"


def test_an_open_wrap_keeps_its_nonce(page: Page) -> None:
    desk = page.desk
    with desk.no_blocks():
        desk.submit_wrap(desk.wrap(page.wallet))
        with pytest.raises(Thrown, match="is open, and the wrap could take its nonce"):
            page.run("wrap", "0.1")


def test_the_least_is_sold_for_what_must_arrive(page: Page) -> None:
    request = {name: page.request[name] for name in ("sellToken", "buyToken", "wallet")}
    goal = 300 * 10**6
    terms = request | {"atLeast": big(goal), "maxSell": big(2 * TENTH)}
    before = page.desk.held(page.wallet, "WETH")
    result = page.run("swap", terms)["result"]
    sold = before - page.desk.held(page.wallet, "WETH")
    assert sold == int(result["quote"]["sellAmount"]) < 2 * TENTH
    assert [each["amount"] for each in result["approvals"]] == [2 * TENTH]
    assert result["received"] >= int(result["quote"]["minBuyAmount"]) >= goal


def test_events_resume_where_they_were_left_and_tell_a_reorganisation(page: Page) -> None:
    desk = page.desk
    with desk.no_blocks():
        order = desk.order(page.wallet)["orderId"]
        follow = {"after": 0, "orderId": order}
        first = page.ask("events", follow, until=["order.created"])
        desk.mine(3)
        more = page.ask("events", follow | {"after": first[-1][0]}, until=["order.confirmed"])
        desk.town.control.post("/reorg", json={"depth": 3}).raise_for_status()
        desk.mine(1)
        more += page.ask("events", follow | {"after": more[-1][0]}, until=["order.reorganised"])
        desk.mine(3)
        more += page.ask("events", follow | {"after": more[-1][0]}, until=["order.confirmed"])
    numbers = [number for number, _, _ in first + more]
    types = [kind for _, kind, _ in first + more]
    assert numbers == list(range(1, len(numbers) + 1))
    assert (types[0], types[-1]) == ("order.created", "order.confirmed")
    assert types.index("order.confirmed") < types.index("order.reorganised")
    assert {name for _, _, name in first + more} == {order}
    assert page.ask("follow", order)["status"] == "confirmed"


def test_a_place_that_is_too_large_is_refused_by_name(page: Page) -> None:
    with pytest.raises(Thrown) as caught:
        page.run("events", {"after": 10**9}, until=["order.created"])
    assert (caught.value.name, caught.value.fields["code"]) == ("ApiError", "INVALID_PARAMETER")


def _word(address: str) -> str:
    return address[2:].lower().rjust(64, "0")
