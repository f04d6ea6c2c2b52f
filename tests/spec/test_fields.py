"""Every field of every answer of the running service: its name, its JSON type, its format."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import httpx
import pytest

from quietswap.rules.tx import address as addresses
from quietswap.sandbox.contracts.addresses import FEEDS
from quietswap.sandbox.contracts.pools import USDC, WETH
from tests import loopback
from tests.e2e.conftest import Town
from tests.spec import tables
from tests.spec.api_client import ETHER, SOLD, ApiClient
from tests.spec.coverage import shows
from tests.spec.wire import data

TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}
LATEST_ANSWER = "0xfeaf968c"  # latestRoundData()
ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
ADDRESS_FIELDS = re.compile(
    r"(sellToken|buyToken|fromToken|toToken|target|to|address|from|path\[\d+\])$"
)


def has_type(value: Any, kind: str) -> bool:
    """Return whether a JSON value is of a type the document names."""
    if kind == "array of string":
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    return any(type(value) in TYPES[one] for one in kind.split(" or "))


def at(value: Any, dotted: str) -> Any:
    """Return the member at a dotted path."""
    for name in dotted.split("."):
        value = value[name]
    return value


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value that is no object or array, by its path."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, f"{path}.{name}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{number}]")
    else:
        yield path, value


@pytest.fixture(scope="module")
def answers(town: Town) -> dict[str, Any]:
    """One real answer for each table, of a swap that was confirmed and of a wrap."""
    with ApiClient(town) as desk:
        return _gathered(desk)


def _gathered(desk: ApiClient) -> dict[str, Any]:
    wallet = desk.wallet()
    whole = desk.ask_quote(wallet).json()
    quote = whole["data"]
    taken = data(desk.submit(desk.swap(wallet)))
    status = desk.follow(taken["order"]["orderId"], "confirmed")
    history = desk.history(wallet)
    wrap = desk.wrap(wallet)
    protection = quote["mevProtection"]
    return {
        "envelope": whole,
        "swap quote": quote,
        "dexRoute": quote["dexRoute"],
        "scoring": quote["scoring"],
        "alternatives": quote["alternatives"][0],
        "mevAnalysis": quote["mevAnalysis"],
        "mevProtection": protection,
        "transactionParams": protection["transactionParams"],
        "providerMetadata": protection["providerMetadata"],
        "mevRelayMetadata": protection["providerMetadata"]["mevRelayMetadata"],
        "wrap quote": wrap.quote,
        "wrap order": data(desk.submit_wrap(wrap))["order"],
        "wrap info": wrap_info(desk, wallet.address),
        "swap order": taken["order"],
        "tracking": taken["tracking"],
        "order status": status,
        "status orderParams": status["orderParams"],
        "history": history,
        "history item": history["orders"][0],
        "summary": history["orders"][0]["summary"],
        "pagination": history["pagination"],
        "error envelope": refusal(desk) | spent(desk.another()),
    }


def wrap_info(desk: ApiClient, wallet: str) -> dict[str, Any]:
    return data(desk.api.get("/api/v1/mev/wrap/info", params={"userAddress": wallet}))


def refusal(desk: ApiClient) -> dict[str, Any]:
    told: dict[str, Any] = desk.api.get("/api/v1/quote").json()
    return told


def spent(client: httpx.Client) -> dict[str, Any]:
    """Return what a key hears whose budget is spent."""
    for _ in range(300):
        client.get("/api/v1/mev/orders/none")
    told: dict[str, Any] = client.get("/api/v1/mev/orders/none").json()
    return told


@shows("field: *", "rule: success is 200")
@pytest.mark.parametrize("table", tables.FIELDS)
def test_every_field_has_its_name_and_type(answers: dict[str, Any], table: str) -> None:
    for name, kind in tables.FIELDS[table]:
        for one in name.split(", "):
            value = at(answers[table], one)
            assert has_type(value, kind), f"{one} is {value!r}"


@shows("rule: amounts are strings")
def test_amounts_in_smallest_units_are_digits(answers: dict[str, Any]) -> None:
    amounts = {
        "swap quote": ("sellAmount", "buyAmount", "minBuyAmount"),
        "transactionParams": ("value", "gasLimit", "maxFeePerGas", "maxPriorityFeePerGas"),
        "wrap quote": ("amountWei", "estimatedGas"),
        "order status": ("gasUsed", "effectiveGasPrice"),
        "status orderParams": ("amount", "minReturnAmount"),
        "summary": ("sellAmount", "buyAmount"),
        "wrap info": ("balances.eth.wei", "balances.weth.wei"),
    }
    for table, names in amounts.items():
        for name in names:
            assert re.fullmatch("0|[1-9][0-9]*", at(answers[table], name)), name


@shows("rule: times are ISO 8601")
def test_times_are_iso_8601_with_z(answers: dict[str, Any]) -> None:
    found = [
        value
        for path, value in leaves(answers)
        if re.search(r"(At|validUntil)$", path) and value is not None
    ]
    assert len(found) >= 9
    for value in found:
        assert ISO.fullmatch(value), value
        assert datetime.fromisoformat(value).tzinfo is not None


@shows("rule: addresses are EIP-55")
def test_addresses_are_checksummed(answers: dict[str, Any]) -> None:
    found = [
        value
        for path, value in leaves(answers)
        if ADDRESS_FIELDS.search(path) and str(value).startswith("0x")
    ]
    assert len(found) >= 15
    for value in found:
        assert addresses.parse(value) == value


@shows("rule: timestamp at the root")
def test_the_timestamp_is_now_in_milliseconds(desk: ApiClient) -> None:
    whole = desk.ask_quote(desk.wallet()).json()
    now = datetime.now().timestamp() * 1000  # noqa: DTZ005  compared as a Unix time
    assert abs(whole["timestamp"] - now) < 5_000


@shows("rule: price impact percent")
def test_the_price_impact_is_a_percentage(town: Town, answers: dict[str, Any]) -> None:
    """0.1 WETH for USDC, against a price of ETH that the feed gave while the service kept it."""
    quote = answers["swap quote"]
    received = int(quote["buyAmount"]) / 10**6 * ETHER / SOLD
    expected = {round((1 - received / price) * 100, 4) for price in recent_eth_prices(town)}
    assert any(quote["priceImpact"] == pytest.approx(one, abs=0.05) for one in expected), expected


def recent_eth_prices(town: Town, blocks: int = 60) -> list[float]:
    """Return the answers of the sandbox's ETH / USD feed at the last blocks, in USD.

    Other tests trade in the same pools and the feed follows them, so one fixed price would hold
    only for the first test of a process.
    """
    rpc = town.facts["rpcUrl"]

    def ask(method: str, *params: Any) -> Any:
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return loopback.post(rpc, json=call).json()["result"]

    latest = int(ask("eth_blockNumber"), 16)
    read = {"to": FEEDS["ETH / USD"], "data": LATEST_ANSWER}
    answered = [ask("eth_call", read, hex(n)) for n in range(max(1, latest - blocks), latest + 1)]
    return [int(answer[66:130], 16) / 10**8 for answer in answered]


@shows("rule: threat levels", "rule: metadata words", "rule: no boost")
def test_words_are_of_the_listed_ones(answers: dict[str, Any]) -> None:
    assert answers["mevAnalysis"]["threatLevel"] in ("LOW", "MEDIUM", "HIGH")
    for table in ("swap quote", "wrap quote"):
        metadata = answers[table]["mevProtection"]["providerMetadata"]
        settings = metadata["mevRelayMetadata"]
        assert metadata["provider"] == "mev_relay"
        assert metadata["tier"] in (2, 4)
        assert settings["endpointType"] in ("fast", "noreverts", "fullprivacy")
        assert settings["shareMode"] in ("shareAll", "shareSafe", "none")
        assert settings["useBoost"] is False


@shows("rule: rebate", "rule: nonce in quotes")
def test_wrap_quotes_have_neither_rebate_nor_nonce(answers: dict[str, Any]) -> None:
    protection = answers["wrap quote"]["mevProtection"]
    assert "expectedRebate" not in protection["providerMetadata"]["mevRelayMetadata"]
    assert protection["transactionParams"]["nonce"] is None
    assert type(answers["transactionParams"]["nonce"]) is int
    assert "timestamp" not in answers["wrap order"]


@shows("rule: quote id shape", "rule: wrap tokens", "rule: value")
@pytest.mark.parametrize(
    ("operation", "given", "taken", "value"),
    [("wrap", "ETH", WETH.address, 3 * ETHER // 2), ("unwrap", WETH.address, "ETH", 0)],
)
def test_a_wrap_quote_says_what_goes_in_and_out(
    desk: ApiClient, operation: str, given: str, taken: str, value: int
) -> None:
    quote = desk.wrap_quote(desk.wallet(), operation=operation)
    assert re.fullmatch(rf"weth_{operation}_\d{{13}}_[0-9a-z]+", quote["quoteId"])
    assert (quote["inputToken"], quote["outputToken"]) == (given, taken)
    assert (quote["amount"], quote["amountWei"]) == ("1.5", str(3 * ETHER // 2))
    params = quote["mevProtection"]["transactionParams"]
    assert (params["to"], params["value"]) == (WETH.address, str(value))


@shows("rule: complete transaction", "rule: priority fee zero", "rule: value")
def test_the_transaction_of_a_swap_is_complete(answers: dict[str, Any]) -> None:
    params = answers["transactionParams"]
    assert (params["chainId"], params["type"], params["value"]) == (1, 2, "0")
    assert params["maxPriorityFeePerGas"] == "0"
    wrap = answers["wrap quote"]["mevProtection"]["transactionParams"]
    assert wrap["maxPriorityFeePerGas"] == "0"
    assert int(params["gasLimit"]) > answers["swap quote"]["estimatedGas"] > 21_000


@shows("rule: approve the target")
def test_the_router_is_the_transactions_target(answers: dict[str, Any]) -> None:
    assert answers["dexRoute"]["target"] == answers["transactionParams"]["to"]
    assert answers["dexRoute"]["data"] == answers["transactionParams"]["data"]
    assert answers["dexRoute"]["path"][0] == WETH.address
    assert answers["dexRoute"]["path"][-1] == USDC.address


@shows("rule: four aggregators")
def test_four_aggregators_are_asked_and_the_best_wins(answers: dict[str, Any]) -> None:
    quote = answers["swap quote"]
    assert len({row["source"] for row in quote["sources"]}) == 4
    offered = [row for row in quote["sources"] if row["outcome"] in ("won", "answered")]
    assert len(quote["alternatives"]) == len(offered) - 1 == 3
    values = [entry["netValueUsd"] for entry in quote["alternatives"]]
    assert values == sorted(values, reverse=True)
    assert quote["scoring"]["netValueUsd"] >= values[0]
