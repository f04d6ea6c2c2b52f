"""Tokens, balances and prices of the whole service, on the sandbox's chain and venues."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from eth_account import Account

from quietswap.client import QuietswapClient
from quietswap.rules.tx.address import from_any_case
from quietswap.rules.vendors import kyberswap, sushi, uniswap, velora
from quietswap.sandbox.contracts.pools import ALL_TOKENS, DAI, FEE, SOLADY, USDC, VYPER, WETH
from tests import forked, loopback
from tests.e2e.conftest import VENUES, Town
from tests.e2e.serving import Served, serving
from tests.e2e.test_bound_routes import KEYED
from tests.tokens.token_lists import endless_list, entry, markup_list, token_list
from tests.waiting import WITHIN_S, wait_until

ETHER = 10**18
ROUTERS = [one.ROUTER for one in (kyberswap, velora, sushi, uniswap)]
BURNER = "0xb5000000000000000000000000000000000000b5"
LOUD = "0x10d0000000000000000000000000000000000001"


def rpc(town: Town, method: str, *params: Any) -> Any:
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = loopback.post(town.facts["rpcUrl"], json=call, timeout=WITHIN_S).json()
    assert "error" not in answer, answer
    return answer["result"]


def says(text: bytes) -> str:
    """Return code that answers every call with an ABI string: a token of 32 decimals."""
    padded = text.ljust(-(-len(text) // 32) * 32, b"\0")
    answer = (32).to_bytes(32) + len(text).to_bytes(32) + padded
    return "0x61" + len(answer).to_bytes(2).hex() + "80600a5f395ff3" + answer.hex()


def deployed(town: Town, address: str, code: str) -> str:
    rpc(town, "anvil_setCode", address, code)
    return from_any_case(address)


def token(town: Town, address: str) -> dict[str, Any]:
    """Return the one token that a search for an address finds."""
    answer = town.api.get("/api/v1/tokens", params={"search": address})
    (found,) = answer.json()["data"]["tokens"]
    return dict(found)


def test_without_a_list_the_known_tokens_are_listed(town: Town) -> None:
    data = town.api.get("/api/v1/tokens").json()["data"]
    assert [one["symbol"] for one in data["tokens"]] == ["WETH", "USDC", "USDT", "DAI", "WBTC"]
    assert data["tokens"][0]["warnings"] == []
    assert data["tokens"][1]["warnings"] == ["pausable/blacklist"]
    searched = town.api.get("/api/v1/tokens", params={"search": "usd", "limit": 1}).json()["data"]
    assert [one["symbol"] for one in searched["tokens"]] == ["USDC"]
    assert (searched["total"], searched["hasMore"]) == (2, True)


@pytest.mark.parametrize(
    ("asked", "fee_bps", "warnings"),
    [
        (USDC.address, 0, ["pausable/blacklist"]),
        (WETH.address.lower(), 0, []),
        (FEE.address, 100, ["unlisted", "fee on transfer", "pausable/blacklist unknown"]),
        (VYPER.address, 0, ["unlisted", "pausable/blacklist unknown"]),
        (SOLADY.address, 0, ["unlisted", "pausable/blacklist unknown"]),
    ],
)
def test_an_address_is_read_and_measured_on_chain(
    town: Town, asked: str, fee_bps: int, warnings: list[str]
) -> None:
    found = token(town, asked)
    known = next(one for one in ALL_TOKENS.values() if one.address.lower() == asked.lower())
    assert (found["address"], found["decimals"], found["symbol"]) == (
        known.address, known.decimals, known.symbol,
    )  # fmt: skip
    assert (found["transferFeeBps"], found["warnings"]) == (fee_bps, warnings)
    listed = town.api.get("/api/v1/tokens", params={"search": known.symbol}).json()["data"]
    if "unlisted" not in warnings:
        assert listed["tokens"][0]["transferFeeBps"] == 0, "the measurement is kept for searches"


def test_an_address_without_a_token_finds_nothing(town: Town) -> None:
    wallet = town.facts["wallets"][0]["address"]
    data = town.api.get("/api/v1/tokens", params={"search": wallet}).json()["data"]
    assert (data["tokens"], data["total"]) == ([], 0)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (b"<script>alert(1)</script>", "‹script›alert(1)‹/script›"),
        ("US\u202eDC\u2066".encode(), "USDC"),
        (b"\xff\xfe\x00\x01 not text", "�� not text"),
        (b"W" * 10_000, "W" * 32),
        (b"a\nb\x1b[31m", "a b[31m"),
        ("Кот 柴犬".encode(), "Кот 柴犬"),
    ],
)
def test_hostile_names_on_chain_become_harmless(town: Town, text: bytes, shown: str) -> None:
    number = sum(text) % 10**6
    found = token(town, deployed(town, f"0x10d0{number:036d}", says(text)))
    assert found["symbol"] == shown
    assert found["name"] == ("W" * 60 if text.startswith(b"W") else shown)
    # every call answers 32: neither a balance nor a transfer can be simulated
    assert found["warnings"][:1] == ["unlisted"]
    assert "fee on transfer unknown" in found["warnings"]


@pytest.mark.parametrize("symbol", ["usdc", "USDС", "ＵＳＤＣ", "US\u200bDC"])
def test_an_unlisted_token_with_a_listed_symbol_is_named(town: Town, symbol: str) -> None:
    found = token(
        town, deployed(town, LOUD[:-2] + f"{len(symbol.encode()):02x}", says(symbol.encode()))
    )
    assert found["symbol"] == symbol.replace("\u200b", "")
    assert found["warnings"][:2] == ["unlisted", "symbol of a listed token"]


def test_an_unlisted_token_with_a_listed_name_is_named(town: Town) -> None:
    """The contract answers each call with this text: its symbol is no listed one."""
    found = token(town, deployed(town, "0x10d0" + "7" * 36, says("USD Соin".encode())))
    assert found["warnings"][:2] == ["unlisted", "name of a listed token"]


def test_a_token_that_burns_all_gas_is_no_token(town: Town) -> None:
    burner = deployed(town, BURNER, "0x5b5f56")
    data = town.api.get("/api/v1/tokens", params={"search": burner}).json()["data"]
    assert data["total"] == 0


def test_balances_and_allowances_are_those_of_the_chain(town: Town) -> None:
    account = Account.create()
    rpc(town, "anvil_setBalance", account.address, hex(15 * ETHER // 10))
    key = USDC.balance_key(account.address)
    rpc(town, "anvil_setStorageAt", USDC.address, key, f"0x{12_345:064x}")
    key = USDC.allowance_key(account.address, ROUTERS[1])
    rpc(town, "anvil_setStorageAt", USDC.address, key, f"0x{2**255:064x}")
    burner = deployed(town, BURNER, "0x5b5f56")
    nobody = town.facts["wallets"][1]["address"]
    before = int(rpc(town, "eth_blockNumber"), 16)
    asked = f"{burner},{USDC.address},{nobody},{WETH.address},{USDC.address}"
    data = town.api.get(f"/api/v1/mev/balances/{account.address}", params={"tokens": asked}).json()[
        "data"
    ]
    assert before <= data["blockNumber"] <= int(rpc(town, "eth_blockNumber"), 16)
    assert data["eth"]["ether"] == "1.5"
    burned, usdc, none, weth = data["tokens"]
    assert (usdc["symbol"], usdc["decimals"], usdc["balance"]) == ("USDC", 6, "12345")
    allowed = {row["router"]: row["allowance"] for row in usdc["allowances"]}
    assert allowed == dict.fromkeys(ROUTERS, "0") | {ROUTERS[1]: str(2**255)}
    assert (weth["balance"], weth["decimals"]) == ("0", 18)
    for dead in (burned, none):
        assert (dead["balance"], dead["decimals"]) == (None, None)


def test_balances_are_503_while_the_node_is_away(town: Town) -> None:
    wallet = town.facts["wallets"][0]["address"]
    town.fault("node", "down")
    try:
        answer = town.api.get(f"/api/v1/mev/balances/{wallet}")
        unlisted = town.api.get("/api/v1/tokens", params={"search": "0x" + "7" * 40})
        listed = town.api.get("/api/v1/tokens", params={"search": USDC.address})
    finally:
        town.heal("node")
    assert (answer.status_code, answer.json()["error"]) == (503, "SERVICE_UNAVAILABLE")
    assert unlisted.status_code == 503
    assert listed.json()["data"]["tokens"][0]["symbol"] == "USDC", "lists need no node"


def ask_price(town: Town, amount: int, **changes: str) -> httpx.Response:
    pair = {"sellToken": WETH.address, "buyToken": USDC.address, "sellAmount": str(amount)}
    return town.api.get("/api/v1/price", params=pair | changes)


def all_are_asked(town: Town) -> None:
    """Wait until no source rests after the faults of an earlier test of this sandbox."""

    def outcomes() -> list[str]:
        answer = town.quote().json()
        rows = answer.get("data", answer.get("details", {})).get("sources", [])
        return [row["outcome"] for row in rows]

    wait_until(lambda: "skipped" not in (outcomes() or ["skipped"]), every_s=1)


def test_a_price_is_near_the_quote_and_leaves_no_trace(town: Town) -> None:
    all_are_asked(town)
    found = ask_price(town, ETHER // 7).json()["data"]
    assert (found["indicative"], found["verification"]) == (True, "none")
    assert {row["source"]: row["outcome"] for row in found["sources"]} == {
        "kyberswap": "skipped", "velora": "skipped", "sushi": "skipped", "uniswap": "won",
    }  # fmt: skip
    quote = town.quote(sellAmount=str(ETHER // 7)).json()["data"]
    assert abs(int(found["buyAmount"]) / int(quote["buyAmount"]) - 1) < 0.01
    assert found["priceImpactAvailable"]
    assert found["scoring"]["priceAvailable"]
    assert all(row["outcome"] != "skipped" for row in quote["sources"]), quote["sources"]


def test_a_price_survives_vendors_that_fail_or_lie(town: Town, tmp_path: Path) -> None:
    town.fault("kyberswap", "no_route")
    town.fault("velora", "lie:3")
    vendors = "kyberswap,velora,sushi,zeroex"
    try:
        with serving(town, tmp_path, QUOTES__SOURCES=vendors, **KEYED) as served:
            found = ask_price(served.town, ETHER // 11).json()["data"]
    finally:
        town.heal("kyberswap", "velora")
    rows = {row["source"]: row for row in found["sources"]}
    assert rows["kyberswap"]["outcome"] == "no_route"
    assert int(rows["velora"]["buyAmount"]) > 2 * int(found["buyAmount"])
    assert found["source"] in ("sushi", "zeroex"), "a lone wild promise does not win"


def test_without_any_source_a_price_is_refused(town: Town) -> None:
    all_are_asked(town)
    nowhere = deployed(town, "0x" + "a1" * 20, rpc(town, "eth_getCode", DAI.address, "latest"))
    for venue in VENUES:
        town.fault(venue, "no_route")
    try:
        answer = ask_price(town, ETHER // 13, buyToken=nowhere)
    finally:
        town.heal(*VENUES)
    assert (answer.status_code, answer.json()["error"]) == (404, "INSUFFICIENT_LIQUIDITY")
    assert len(answer.json()["details"]["sources"]) == 4


@pytest.fixture(scope="module")
def with_lists(town: Town, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service that reads a house list and a hostile one."""
    folder = tmp_path_factory.mktemp("lists")
    fee = entry(
        address=FEE.address, symbol="FEE", name="Fee Token", decimals=8, tags=..., extensions=...
    )
    (folder / "house.json").write_bytes(token_list(entry(), fee))
    (folder / "hostile.json").write_bytes(markup_list())
    lists = f"{folder / 'house.json'},{folder / 'hostile.json'}"
    with serving(town, folder, TOKENS__LISTS=lists) as served:
        yield served


def test_the_lists_of_the_settings_are_served(with_lists: Served) -> None:
    with QuietswapClient(with_lists.url, with_lists.key) as client:
        found = client.tokens()
        assert [one.symbol for one in found.tokens] == ["USDC", "FEE", "HTEW", "Ú\u0301\u0301NI"]
        usdc, _, weth, _ = found.tokens
        assert (usdc.name, usdc.lists) == ("USD Coin", ("House Default", "Looks official"))
        assert (weth.name, weth.logo_uri) == ("TetherDSU Real", None)
        assert not set("".join(one.name + one.symbol for one in found.tokens)) & set("<>\u202e")


def test_the_chain_corrects_the_decimals_of_a_list(with_lists: Served) -> None:
    with QuietswapClient(with_lists.url, with_lists.key) as client:
        (fee,) = client.tokens(FEE.address).tokens
        assert (fee.decimals, fee.transfer_fee_bps) == (18, 100)
        assert fee.warnings == (
            "listed decimals are wrong", "fee on transfer", "pausable/blacklist unknown",
        )  # fmt: skip
        (uni,) = client.tokens("0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984").tokens
        assert "not a token on chain" in uni.warnings


def test_a_list_that_breaks_the_schema_stops_the_start(town: Town, tmp_path: Path) -> None:
    path = tmp_path / "endless.json"
    path.write_bytes(endless_list())
    env = forked.without_settings() | {
        "QUIETSWAP_SETTINGS": town.facts["settingsFile"],
        "QUIETSWAP_TOKENS__LISTS": f"{path},/nowhere.json",
    }
    done = forked.run(["serve", "--check"], env)
    assert done.returncode == 2
    assert f"tokens.lists: {path} is not a token list: tokens[0].name" in done.stderr
    assert "tokens.lists: /nowhere.json is not a token list: No such file" in done.stderr
