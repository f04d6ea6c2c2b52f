"""Amounts and tokens as a person writes them, and a service that chooses another token."""

from typing import Any

import pytest
from eth_abi import encode

from quietswap.cli.options import connection
from quietswap.client import QuietswapClient
from quietswap.rules.orders.order import OrderStatus
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx.address import Address
from tests.api.scripted_use_cases import ROUTER
from tests.cli.conftest import Quietswap
from tests.cli.test_swap_oddities import waiting
from tests.client.conftest import Time
from tests.client.fake_chain import SYMBOL, FakeChain
from tests.client.fake_servers import ETHER, WALLET, FakeService, Reply, ok, placed
from tests.client.test_after_signing import silent
from tests.client.test_nonces import history
from tests.response_json import orders
from tests.stored_orders import USDC, recorded

UNI = "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984"
FAKE = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


def entry(address: str, symbol: str, name: str, *warnings: str) -> dict[str, Any]:
    return {
        "address": address, "symbol": symbol, "name": name, "decimals": 6,
        "lists": ["A list"], "warnings": list(warnings),
    }  # fmt: skip


def lists(service: FakeService, *tokens: dict[str, Any], times: int = 1) -> None:
    """Let the service find these tokens."""
    page = {"limit": 200, "offset": 0, "nextOffset": len(tokens)}
    found = {"tokens": list(tokens), "total": len(tokens), "hasMore": False, "pagination": page}
    service.next("tokens", *[ok(found)] * times)


@pytest.fixture
def uni(node: FakeChain, monkeypatch: pytest.MonkeyPatch) -> FakeChain:
    """A node whose token at UNI, and at FAKE, calls itself UNI."""
    usual = node.eth_call

    def named(call: dict[str, str], block: str) -> str:
        if call["data"].startswith("0x" + SYMBOL) and call["to"] in (UNI, FAKE):
            return "0x" + encode(["string"], ["UNI"]).hex()
        return usual(call, block)

    monkeypatch.setattr(node, "eth_call", named)
    node.allowances[ROUTER.lower()] = ETHER
    return node


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person at the terminal."""
    monkeypatch.setattr(connection, "_is_interactive", lambda: True)


def asked(service: FakeService, path: str) -> list[dict[str, str]]:
    return [each.query for each in service.asked if each.path == path]


@pytest.mark.parametrize("command", ["quote", "price"])
def test_a_symbol_of_the_list_is_shown_with_its_address_and_warnings(
    quietswap: Quietswap, service: FakeService, uni: FakeChain, command: str
) -> None:
    lists(service, entry(UNI, "UNI", "Uniswap", "fee on transfer"), times=2)
    result = quietswap(command, "1", "WETH", "uni")
    text = " ".join(result.stdout.split())
    assert f"UNI is {UNI}, Uniswap, by the service's token list" in text
    assert "fee on transfer" in text
    assert asked(service, f"/api/v1/{command}")[0]["buyToken"] == UNI


def test_balances_of_a_symbol(quietswap: Quietswap, service: FakeService, uni: FakeChain) -> None:
    lists(service, entry(UNI, "UNI", "Uniswap"))
    quietswap("balances", "UNI")
    assert UNI in service.asked[-1].query["tokens"]


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(("answer", "signs"), [("n\n", False), ("y\ny\n", True)])
def test_a_swap_asks_whether_it_is_the_token(
    quietswap: Quietswap, service: FakeService, uni: FakeChain, answer: str, signs: bool
) -> None:
    lists(service, entry(UNI, "UNI", "Uniswap"))
    result = quietswap("swap", "1", "WETH", "UNI", input=answer)
    assert f"UNI is {UNI}, Uniswap" in result.stdout
    assert "Is this the token that you mean? [y/N]" in result.stderr
    quotes = asked(service, "/api/v1/quote")
    assert [query["buyToken"] for query in quotes] == ([UNI] if signs else [])
    assert result.exit_code == 1  # the quote of the fake service is for USDC
    assert ("another buyToken" in result.stdout or "buy" in result.stdout) is signs


def test_without_a_person_no_service_chooses_the_token(
    quietswap: Quietswap, service: FakeService, uni: FakeChain
) -> None:
    for words in (("--yes",), ()):
        lists(service, entry(FAKE, "UNI", "Uniswap"))
        result = quietswap("swap", "1", "WETH", "UNI", *words)
        assert result.exit_code == 2
        assert FAKE in result.output
    assert asked(service, "/api/v1/quote") == []


@pytest.mark.parametrize("command", [("quote", "1"), ("swap", "1"), ("price", "1")])
def test_a_symbol_of_two_tokens_names_both(
    quietswap: Quietswap, service: FakeService, command: tuple[str, str]
) -> None:
    lists(service, entry(UNI, "UNI", "Uniswap"), entry(FAKE, "uni", "Uniswap\x1b[2J"))
    result = quietswap(*command, "WETH", "UNI")
    assert result.exit_code == 2
    assert f"{UNI} (Uniswap), {FAKE} (Uniswap\\u001b[2J)" in " ".join(result.stderr.split())
    assert len(service.asked) == 1


@pytest.mark.parametrize("command", [("quote", "1"), ("swap", "1"), ("price", "1")])
def test_a_contract_with_another_symbol_is_refused(
    quietswap: Quietswap, service: FakeService, command: tuple[str, str]
) -> None:
    """The fake node calls every token USDC."""
    lists(service, entry(UNI, "UNI", "Uniswap"))
    result = quietswap(*command, "WETH", "UNI")
    assert result.exit_code == 2
    assert "that contract calls itself USDC" in " ".join(result.stderr.split())


@pytest.mark.parametrize("symbol", ["WETH", "usdc", "USDT", "DAI", "WBTC"])
def test_a_built_in_symbol_is_the_clients_own(
    quietswap: Quietswap, service: FakeService, symbol: str
) -> None:
    """A hostile list could have it at another address."""
    lists(service, entry(FAKE, symbol.upper(), "its own"))
    quietswap("price", "1", symbol, "WETH" if symbol != "WETH" else "USDC")
    assert asked(service, "/api/v1/tokens") == []
    assert FAKE not in asked(service, "/api/v1/price")[0].values()


@pytest.mark.parametrize("text", ["USDС", "ＵＮＩ", "U\u200bNI", "NONE"])
def test_a_symbol_that_is_not_in_the_list(
    quietswap: Quietswap, service: FakeService, text: str
) -> None:
    """The first three look like another one: Cyrillic, full width, and an invisible character."""
    lists(service, entry(FAKE, text if text != "NONE" else "OTHER", "its own"))
    result = quietswap("quote", "1", "WETH", text)
    assert result.exit_code == 2
    assert "nor the symbol of a listed token" in result.stderr


def test_an_address_of_the_list_that_is_none(quietswap: Quietswap, service: FakeService) -> None:
    lists(service, entry("0x" + "12" * 19 + "zz", "UNI", "Uniswap"))
    result = quietswap("quote", "1", "WETH", "UNI")
    assert (result.exit_code, asked(service, "/api/v1/quote")) == (2, [])


@pytest.mark.parametrize(
    ("amount", "units"),
    [("all", 9), ("MAX", 9), ("100%", 9), ("50%", 4), ("33.3%", 2), ("99.999999%", 8)],
)
@pytest.mark.parametrize("command", ["quote", "swap"])
@pytest.mark.usefixtures("person")
def test_a_share_of_the_balance_at_the_callers_node(
    quietswap: Quietswap, service: FakeService, node: FakeChain, command: str, amount: str,
    units: int,
) -> None:  # fmt: skip
    node.balance = 9
    quietswap(command, amount, "WETH", "USDC")
    [query] = asked(service, "/api/v1/quote")
    assert query["sellAmount"] == str(units)


@pytest.mark.parametrize(
    ("operation", "amount", "ether", "balance", "converted"),
    [
        ("unwrap", "all", ETHER, 7 * 10**17, "0.7"),
        ("unwrap", "50%", ETHER, 7 * 10**17, "0.35"),
        ("wrap", "50%", 2 * ETHER, 0, "1"),
        ("wrap", "all", 2 * ETHER, 0, "1.99695"),
        ("wrap", "100%", ETHER // 100, 0, "0.00695"),
        ("wrap", "90%", ETHER // 100, 0, "0.00695"),
    ],
)
@pytest.mark.usefixtures("person")
def test_a_share_of_ether_leaves_gas(
    quietswap: Quietswap, service: FakeService, node: FakeChain, operation: str, amount: str,
    ether: int, balance: int, converted: str,
) -> None:  # fmt: skip
    """500,000 gas at twice 3 gwei and 0.1: the wrap, and what it is for."""
    node.ether, node.balance = ether, balance
    result = quietswap(operation, amount)
    [body] = service.bodies("wrap quote")
    assert (body["operation"], body["amount"]) == (operation, converted)
    keeps = "keeps 0.00305 ETH for the gas of this, and of an approval and a swap"
    assert (keeps in result.stdout) is (operation == "wrap" and amount != "50%")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("quote", "0%", "WETH", "USDC"), "a share is more than 0% and at most 100%"),
        (("quote", "101%", "WETH", "USDC"), "a share is more than 0% and at most 100%"),
        (("quote", "-5%", "WETH", "USDC"), "it must be greater than zero"),
        (("quote", "5 %", "WETH", "USDC"), "is not an amount"),
        (("quote", "al", "WETH", "USDC"), "is not an amount"),
        (("quote", "all", "WETH", "USDC", "--rpc-url", ""), "your own node has the balance"),
        (("wrap", "all"), "the wallet holds 0.001 ETH, too little"),
        (("price", "all", "WETH", "USDC"), "is not an amount"),
    ],
)
def test_a_share_that_is_none(
    quietswap: Quietswap, service: FakeService, node: FakeChain, words: tuple[str, ...], says: str
) -> None:
    node.ether = ETHER // 1000
    result = quietswap(*words)
    assert result.exit_code == 2
    assert says in " ".join(result.stderr.split())
    assert service.bodies("quote") == service.bodies("wrap quote") == []


def test_swapping_again_names_the_amount_and_not_all_again(
    quietswap: Quietswap, service: FakeService, node: FakeChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left after the first one would be another amount."""
    monkeypatch.setattr(QuietswapClient.__init__, "__kwdefaults__", waiting(Time()))
    node.balance, node.allowances[ROUTER.lower()] = ETHER, ETHER
    silent(node, service)
    service.next("order", Reply(b"no", 500))
    result = quietswap("swap", "all", "WETH", "USDC", "--yes")
    assert result.exit_code == 4, result.output
    assert "quietswap swap 1 WETH USDC --nonce 7" in result.stdout


@pytest.fixture
def behind(service: FakeService, node: FakeChain, monkeypatch: pytest.MonkeyPatch) -> FakeService:
    """An open order has nonce 6, which no node counts; the service has 7 behind it."""
    monkeypatch.setattr(QuietswapClient.__init__, "__kwdefaults__", waiting(Time()))
    node.nonce, node.allowances[ROUTER.lower()] = 6, ETHER
    service.next("history", history(OrderStatus.PENDING))
    return service


def test_how_to_swap_behind_an_open_order(quietswap: Quietswap, behind: FakeService) -> None:
    result = quietswap("swap", "1", "WETH", "USDC", "--yes")
    assert result.exit_code == 1
    assert "is open; the service counts it, and its next nonce is 7" in " ".join(
        result.stdout.split()
    )
    assert "quietswap swap 1 WETH USDC --nonce 7" in result.stdout
    assert "quietswap history --order ord_" in result.stdout
    assert behind.bodies("order") == []
    assert quietswap("swap", "1", "WETH", "USDC", "--yes", "--nonce", "7").exit_code == 0


def test_no_swap_is_offered_behind_an_order_that_takes_its_allowance(
    quietswap: Quietswap, behind: FakeService
) -> None:
    """Two orders of 1 WETH, and an allowance of 1: the second could only revert."""
    behind.next("history", history(OrderStatus.PENDING))
    first = placed(OrderStatus.PENDING, nonce=6)
    behind.next("status", ok(orders.order_status_response(recorded(first))))
    result = quietswap("swap", "1", "WETH", "USDC", "--yes")
    text = " ".join(result.stdout.split())
    assert "To swap behind it is not possible now" in text
    assert "wait until they are decided" in text
    assert "--nonce" not in text
    assert "quietswap history --order ord_" in text
    assert behind.bodies("order") == []


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(("answer", "orders"), [("n\n", 0), ("y\nn\n", 0), ("y\ny\n", 1)])
def test_a_person_is_asked_to_swap_behind_it(
    quietswap: Quietswap, behind: FakeService, answer: str, orders: int
) -> None:
    result = quietswap("swap", "1", "WETH", "USDC", input=answer)
    assert "Swap behind it, with nonce 7? [y/N]" in result.stderr
    assert ("7: waits for 1 still open before it" in result.stdout) is answer.startswith("y")
    assert len(behind.bodies("order")) == orders
    assert result.exit_code == 1 - orders, result.output


def test_a_nonce_without_an_open_order_is_only_refused(
    quietswap: Quietswap, behind: FakeService
) -> None:
    behind.script.clear()
    behind.next("history", *[history()] * 3)
    result = quietswap("swap", "1", "WETH", "USDC", "--yes")
    assert (result.exit_code, "--nonce 7" in result.stdout) == (1, False)


def test_allowances_name_the_router(quietswap: Quietswap, service: FakeService) -> None:
    text = quietswap("balances", "WETH", "--allowances").stdout
    assert "KyberSwap MetaAggregationRouterV2 0x6131…37b5: 0.000000000000000005" in text
    row = {"router": FAKE, "allowance": "5"}
    token = {
        "address": WETH, "symbol": "WETH", "decimals": 18, "balance": "1", "allowances": [row]
    }  # fmt: skip
    eth = {"wei": "0", "ether": "0"}
    found = {"userAddress": WALLET, "blockNumber": 1, "eth": eth, "tokens": [token]}
    service.next("balances", ok(found))
    text = quietswap("balances", "WETH", "--allowances").stdout
    assert f"unknown router {FAKE}: 0.000000000000000005" in " ".join(text.split())


def test_the_address_needs_no_list(quietswap: Quietswap, service: FakeService) -> None:
    quietswap("quote", "1", Address(WETH), USDC.lower())
    assert asked(service, "/api/v1/tokens") == []
