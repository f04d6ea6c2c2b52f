"""Wrong arguments of the TypeScript client: a page in JavaScript has no compiler to name them."""

from typing import Any

import pytest

from quietswap.rules.tokens.token import WETH
from tests.client.conftest import node, outside, service
from tests.client.fake_servers import ETHER, WALLET, FakeServers, FakeService
from tests.stored_orders import USDC
from tests.typescript.package import Thrown, TypeScript, big

__all__ = ["node", "outside", "service"]

pytestmark = pytest.mark.xdist_group("typescript")
SWAP = {"sellToken": WETH, "buyToken": USDC, "sellAmount": big(ETHER), "wallet": WALLET}
ONE_TO_ONE = "ETH into WETH is a wrap, and WETH into ETH an unwrap: no swap"
SEVERAL = "a swap with ETH is several transactions: give no nonce"
CANCEL = {"orderId": "ord_1", "wallet": WALLET}
OPTIONS = {"url": "http://127.0.0.1:9", "apiKey": "qs_right", "rpcUrl": "http://127.0.0.1:9"}


def refused(typescript: TypeScript, method: str, *args: Any, **command: Any) -> str:
    """Return what is wrong; before anything is sent, because nobody answers at the address."""
    command = {"options": OPTIONS, "signer": {"never": True}} | command
    with pytest.raises(Thrown) as caught:
        typescript.run(method, *args, **command)
    assert caught.value.name == "RangeError"
    return str(caught.value.fields["message"])


def test_further_pages_of_a_history_are_of_its_first_total(
    typescript: TypeScript, outside: FakeServers, service: FakeService
) -> None:
    options = {"url": outside.url, "apiKey": "qs_right"}
    page = typescript.run("orderHistory", WALLET, {"offset": 2, "asOf": 7}, options=options)
    assert len(page["result"]["orders"]) == 2
    assert service.asked[-1].query.items() >= {"offset": "2", "asOf": "7"}.items()


@pytest.mark.parametrize("pair", [("ETH", USDC), (USDC, "ETH")])
def test_ether_is_quoted_and_priced_as_its_weth(
    typescript: TypeScript, outside: FakeServers, service: FakeService, pair: tuple[str, str]
) -> None:
    options = OPTIONS | {"url": outside.url}
    request = SWAP | {"sellToken": pair[0], "buyToken": pair[1]}
    typescript.run("quote", request, options=options)
    typescript.run("price", *pair, big(ETHER), options=options)
    asked = [(each.query["sellToken"], each.query["buyToken"]) for each in service.asked]
    assert asked == 2 * [tuple(WETH if token == "ETH" else token for token in pair)]


@pytest.mark.parametrize("name", ["maxImpactPercnt", "atleast", "toString"])
def test_a_misspelt_limit_of_a_swap(typescript: TypeScript, name: str) -> None:
    """Ignored, it would limit nothing."""
    why = refused(typescript, "swap", SWAP | {name: 1})
    assert why.startswith(f"{name} is not known here; known are sellToken, buyToken, ")
    assert "maxImpactPercent" in why


def test_a_misspelt_member_of_a_cancel(typescript: TypeScript) -> None:
    assert "mostFeeWei" in refused(typescript, "cancel", CANCEL | {"maxFeeWei": big(1)})


def test_a_misspelt_option_of_a_wrap(typescript: TypeScript) -> None:
    conditions = {"wallet": WALLET, "Nonce": 7}
    assert "Nonce is not known" in refused(typescript, "wrap", "1", conditions=conditions)


@pytest.mark.parametrize(
    ("changes", "name"), [({"rpcURL": "http://127.0.0.1:9"}, "rpcURL"), ({"poling": {}}, "poling")]
)
def test_a_misspelt_option_of_the_client(
    typescript: TypeScript, changes: dict[str, Any], name: str
) -> None:
    assert f"{name} is not known" in refused(typescript, "swap", SWAP, options=OPTIONS | changes)


def test_a_misspelt_option_of_the_polling(typescript: TypeScript) -> None:
    options = OPTIONS | {"polling": {"patience": 10}}
    assert "known are intervalS, patienceS, " in refused(typescript, "swap", SWAP, options=options)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"sellToken": "WETH"}, "sellToken must be an address, not WETH"),
        ({"sellToken": [WETH]}, f"sellToken must be an address, not {WETH}"),
        ({"sellToken": "eth"}, "sellToken must be an address, not eth"),
        ({"buyToken": "ETH"}, ONE_TO_ONE),
        ({"sellToken": "ETH", "buyToken": WETH.lower()}, ONE_TO_ONE),
        ({"sellAmount": 1}, "sellAmount must be a bigint above 0, not 1"),
        ({"maxSell": big(1)}, "maxSell must be left out beside sellAmount, not 1"),
        (
            {"sellAmount": None, "atLeast": big(1)},
            "sellAmount must be a bigint above 0, not null",
        ),
        ({"sellToken": "ETH", "nonce": 7}, SEVERAL),
        ({"buyToken": "ETH", "sellToken": USDC, "anyNonce": True}, SEVERAL),
        ({"atLeast": big(0)}, "atLeast must be a bigint above 0, not 0"),
        ({"approval": "all"}, "approval must be exact, max or never, not all"),
        ({"nonce": 1.5}, "nonce must be 0 or more, not 1.5"),
        ({"slippageBps": 10_000}, "slippageBps must be a whole number from 1 to 9999, not 10000"),
        ({"maxImpactPercent": 101}, "maxImpactPercent must be 0 to 100, not 101"),
        ({"maxLossPercent": -1}, "maxLossPercent must be 0 to 100, not -1"),
    ],
)
def test_a_wrong_member_of_a_swap(
    typescript: TypeScript, changes: dict[str, Any], why: str
) -> None:
    assert refused(typescript, "swap", SWAP | changes) == why


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        *(
            ({"polling": {name: 0}}, f"{name} must be above 0, at most 86400, not 0")
            for name in ("intervalS", "firstBackoffS", "longestBackoffS", "nodeIntervalS")
        ),
        ({"polling": {"intervalS": "ten"}}, "intervalS must be above 0, at most 86400, not ten"),
        ({"polling": {"nodeIntervalS": 86_401}}, "nodeIntervalS must be above 0, at most 86400, "),
        ({"polling": {"patienceS": -1}}, "patienceS must be 0 or more, not -1"),
        ({"polling": {"doubtS": "long"}}, "doubtS must be 0 or more, not long"),
    ],
)
def test_a_time_that_is_none(typescript: TypeScript, changes: dict[str, Any], why: str) -> None:
    """Without a pause the client would use up the requests of its key."""
    assert refused(typescript, "swap", SWAP, options=OPTIONS | changes).startswith(why)


@pytest.mark.parametrize("amount", [big(5), 1, "0", "1e18", None])
def test_a_wrong_amount_of_a_wrap(typescript: TypeScript, amount: Any) -> None:
    conditions = {"wallet": WALLET, "nonce": 7}
    assert "amount must be a text" in refused(typescript, "wrap", amount, conditions=conditions)
