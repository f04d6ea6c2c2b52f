"""tokens, price and balances on the command line."""

import json

import msgspec
import pytest

from quietswap.rules.tokens.token import WETH
from tests.api.scripted_tokens import ROUTER, TOKEN_ANSWERS
from tests.cli.conftest import Quietswap
from tests.client.fake_chain import FakeChain
from tests.client.fake_servers import ETHER, WALLET, FakeService, ok
from tests.stored_orders import USDC

OTHER = "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984"


def test_tokens(quietswap: Quietswap, service: FakeService) -> None:
    result = quietswap("tokens", "we", "--limit", "2")
    assert result.exit_code == 0
    assert service.asked[0].query == {"search": "we", "limit": "2", "offset": "0"}
    for words in ("WETH  Wrapped Ether", WETH, "0.00 % on a simulated transfer", "unlisted"):
        assert words in result.stdout
    assert "1 to 2 of 3; more with --offset 2" in result.stdout
    answer = json.loads(quietswap("tokens", "--json").stdout)
    assert [token["symbol"] for token in answer["tokens"]] == ["WETH", "USDC"]
    assert answer["tokens"][0]["transferFeeBps"] == 0


def test_no_token(quietswap: Quietswap, service: FakeService) -> None:
    pagination = {"limit": 20, "offset": 0, "nextOffset": 0}
    empty = {"tokens": [], "total": 0, "hasMore": False, "pagination": pagination}
    service.next("tokens", ok(empty))
    result = quietswap("tokens", "nothing")
    assert (result.exit_code, result.stdout) == (0, "no token found\n")


def test_price(quietswap: Quietswap, service: FakeService) -> None:
    result = quietswap("price", "1", "WETH", "USDC")
    assert result.exit_code == 0
    assert service.asked[0].query["sellAmount"] == str(ETHER)
    for words in (
        "1 WETH", "3,000 USDC by kyberswap", "0.12 %", "timed out: no answer in time",
        "indicative: nothing was simulated",
    ):  # fmt: skip
        assert words in result.stdout
    answer = json.loads(quietswap("price", "1", "WETH", "USDC", "--json").stdout)
    assert (answer["indicative"], answer["verification"]) == (True, "none")
    assert answer["buyAmount"] == "3000000000"


def test_a_price_of_another_token_needs_no_node(
    quietswap: Quietswap, service: FakeService, environment: dict[str, str | None]
) -> None:
    environment["QUIETSWAP_RPC_URL"] = None
    pagination = {"limit": 50, "offset": 0, "nextOffset": 1}
    uni = {"address": OTHER, "symbol": "UNI", "name": "Uniswap", "decimals": 3}
    page = {"tokens": [uni], "total": 1, "hasMore": False, "pagination": pagination}
    service.next("tokens", ok(page))
    result = quietswap("price", "1.5", OTHER, "USDC")
    assert result.exit_code == 0, result.output
    assert service.asked[1].query["sellAmount"] == "1500"
    service.next("tokens", ok(page | {"tokens": []}))
    refused = quietswap("price", "1.5", OTHER, "USDC")
    assert refused.exit_code == 2
    assert "is not an ERC-20 token" in refused.stderr


def test_a_token_of_more_decimals_than_an_amount_has_is_refused(
    quietswap: Quietswap, service: FakeService, node: FakeChain
) -> None:
    node.decimals = 81
    for command in ("quote", "swap"):
        refused = quietswap(command, "1", OTHER, "USDC")
        assert refused.exit_code == 2
        assert f"{OTHER} has 81 decimals; no amount of more than 77 is read" in refused.stderr
    assert service.asked == []


@pytest.mark.parametrize("words", [("price", "1", "ETHER", "USDC"), ("balances", "nonsense")])
def test_a_token_that_is_neither_name_nor_address(
    quietswap: Quietswap, words: tuple[str, ...]
) -> None:
    result = quietswap(*words)
    assert result.exit_code == 2
    assert (
        "is neither WETH, USDC, USDT, DAI, WBTC, nor an address, nor the symbol of a"
        in result.stderr
    )


@pytest.mark.parametrize("ether", ["ETH", "eth", "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"])
@pytest.mark.parametrize("command", ["price", "quote"])
def test_ether_is_quoted_as_its_weth(
    quietswap: Quietswap, service: FakeService, command: str, ether: str
) -> None:
    for tokens, asked in (((ether, "USDC"), (WETH, USDC)), (("USDC", ether), (USDC, WETH))):
        result = quietswap(command, "1", *tokens)
        assert result.exit_code == 0, result.output
        query = [each.query for each in service.asked if "sellToken" in each.query][-1]
        assert (query["sellToken"], query["buyToken"]) == asked
        figures = result.stdout.split("to sign  ")[0]
        assert (" ETH" in figures, "WETH" in figures) == (True, False)


@pytest.mark.parametrize(
    ("pair", "says"),
    [
        (("ETH", "WETH"), "quietswap wrap 1"),
        (("WETH", "ETH"), "quietswap unwrap 1"),
        (("ETH", "ETH"), "SELL and BUY are both ETH"),
    ],
)
@pytest.mark.parametrize("command", ["price", "quote"])
def test_ether_into_weth_is_a_wrap(
    quietswap: Quietswap, service: FakeService, command: str, pair: tuple[str, str], says: str
) -> None:
    result = quietswap(command, "1", *pair)
    assert result.exit_code == 2
    assert says in result.stderr
    assert service.asked == []


def test_balances_of_named_tokens_come_from_the_service(
    quietswap: Quietswap, service: FakeService
) -> None:
    result = quietswap("balances", "weth", USDC, "--allowances")
    assert result.exit_code == 0, result.output
    (asked,) = service.asked
    assert asked.path == f"/api/v1/mev/balances/{WALLET}"
    assert asked.query == {"tokens": f"{WETH},{USDC}"}
    for words in (
        f"{WALLET} at block 21000000", "ETH 1.5", "WETH 1",
        "KyberSwap MetaAggregationRouterV2 0x6131…37b5: 0.000000000000000005",
        "unknown: the contract does not tell",
    ):  # fmt: skip
        assert words in " ".join(result.stdout.split())


def test_letters_that_imitate_ascii_are_no_name(
    quietswap: Quietswap, service: FakeService, environment: dict[str, str | None]
) -> None:
    """`USDС` ends with a Cyrillic letter: the address is shown in its place."""
    environment["QUIETSWAP_RPC_URL"] = None
    found = msgspec.to_builtins(TOKEN_ANSWERS["balances"]())
    found["tokens"][1] |= {"address": OTHER, "symbol": "USDС"}
    service.next("balances", ok(found))
    answer = json.loads(quietswap("balances", "WETH", OTHER, "--json").stdout)
    assert set(answer["balances"]) == {"ETH", "WETH", OTHER}


def test_balances_as_json(quietswap: Quietswap) -> None:
    assert json.loads(quietswap("balances", "WETH", "--json").stdout) == {
        "wallet": WALLET,
        "blockNumber": 21_000_000,
        "balances": {"ETH": "1500000000000000000", "WETH": str(ETHER), USDC: None},
        "allowances": {"WETH": {ROUTER: "5"}, USDC: {ROUTER: None}},
    }
