"""The error table, row by row, provoked in the running service."""

import httpx
import pytest

from quietswap.sandbox.contracts.pools import DAI, USDC, WETH
from tests.spec.api_client import ApiClient
from tests.spec.coverage import shows
from tests.spec.wire import refused

VENUES = ("kyberswap", "velora", "sushi")
NATIVE = ("0x" + "0" * 40, "0x" + "e" * 40, "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE")


@shows(
    "error: 400 INVALID_TOKEN_ADDRESS", "details: INVALID_TOKEN_ADDRESS", "rule: lowercase refused"
)
@pytest.mark.parametrize("field", ["sellToken", "buyToken"])
@pytest.mark.parametrize("token", [WETH.address.lower(), "0x1234", "WETH", ""])
def test_400_invalid_token_address(desk: ApiClient, field: str, token: str) -> None:
    answer = desk.ask_quote(desk.wallet(), **{field: token})
    details = refused(answer, 400, "INVALID_TOKEN_ADDRESS")["details"]
    assert (details["field"], details["provided"]) == (field, token)
    assert details["reason"]


@shows("error: 400 NATIVE_ETH_NOT_SUPPORTED", "rule: no native ETH")
@pytest.mark.parametrize("field", ["sellToken", "buyToken"])
@pytest.mark.parametrize("token", NATIVE)
def test_400_native_eth_not_supported(desk: ApiClient, field: str, token: str) -> None:
    answer = desk.ask_quote(desk.wallet(), **{field: token})
    assert WETH.address in refused(answer, 400, "NATIVE_ETH_NOT_SUPPORTED")["suggestion"]


@shows("error: 400 INVALID_AMOUNT")
@pytest.mark.parametrize("amount", ["0", "-1", "1.5", "1e18", "abc", str(2**256)])
def test_400_invalid_amount_on_the_swap_quote(desk: ApiClient, amount: str) -> None:
    refused(desk.ask_quote(desk.wallet(), sellAmount=amount), 400, "INVALID_AMOUNT")


@shows("error: 400 INVALID_AMOUNT", "details: INVALID_AMOUNT")
@pytest.mark.parametrize("amount", ["0", "0.0", "-1", "1e18", "abc", "0." + "0" * 18 + "1"])
def test_400_invalid_amount_on_the_wrap_quote(desk: ApiClient, amount: str) -> None:
    body = {"operation": "wrap", "amount": amount, "userAddress": desk.wallet().address}
    answer = desk.api.post("/api/v1/mev/wrap/quote", json=body)
    assert refused(answer, 400, "INVALID_AMOUNT")["details"]["provided"] == amount


@shows("error: 400 USER_ADDRESS_REQUIRED")
def test_400_user_address_required(desk: ApiClient) -> None:
    ask = {"sellToken": WETH.address, "buyToken": USDC.address, "sellAmount": "1"}
    refused(desk.api.get("/api/v1/quote", params=ask), 400, "USER_ADDRESS_REQUIRED")


@shows("error: 400 INVALID_OPERATION", "details: INVALID_OPERATION")
def test_400_invalid_operation(desk: ApiClient) -> None:
    body = {"operation": "burn", "amount": "1", "userAddress": desk.wallet().address}
    answer = desk.api.post("/api/v1/mev/wrap/quote", json=body)
    details = refused(answer, 400, "INVALID_OPERATION")["details"]
    assert details == {"provided": "burn", "allowed": ["wrap", "unwrap"]}


@shows("error: 400 INVALID_ADDRESS", "details: INVALID_ADDRESS")
@pytest.mark.parametrize("wrong", ["0x1234", WETH.address.lower(), "vitalik.eth"])
def test_400_invalid_address_on_the_wrap_endpoints(desk: ApiClient, wrong: str) -> None:
    body = {"operation": "wrap", "amount": "1", "userAddress": wrong}
    asked = desk.api.post("/api/v1/mev/wrap/quote", json=body)
    assert refused(asked, 400, "INVALID_ADDRESS")["details"]["provided"] == wrong
    info = desk.api.get("/api/v1/mev/wrap/info", params={"userAddress": wrong})
    assert refused(info, 400, "INVALID_ADDRESS")["details"]["provided"] == wrong


@shows("error: 400 INVALID_ADDRESS", "details: INVALID_ADDRESS on the history")
@pytest.mark.parametrize("wrong", ["0x1234", WETH.address.lower()])
def test_400_invalid_address_on_the_history(desk: ApiClient, wrong: str) -> None:
    answer = desk.api.get(f"/api/v1/mev/orders/user/{wrong}")
    details = refused(answer, 400, "INVALID_ADDRESS")["details"]
    assert details["address"] == wrong
    assert details["reason"]


@shows("error: 400 INVALID_PARAMETER", "details: INVALID_PARAMETER", "limit: history limit")
@pytest.mark.parametrize(
    ("name", "value"), [("limit", "0"), ("limit", "201"), ("limit", "x"), ("offset", "-1")]
)
def test_400_invalid_parameter(desk: ApiClient, name: str, value: str) -> None:
    path = f"/api/v1/mev/orders/user/{WETH.address}"
    details = refused(desk.api.get(path, params={name: value}), 400, "INVALID_PARAMETER")["details"]
    assert (details["parameter"], details["provided"]) == (name, value)
    assert details["max"] == {"limit": 200, "offset": 10**9}[name]


@shows("error: 400 MISSING_PARAMETER", "details: MISSING_PARAMETER")
@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/api/v1/mev/wrap/quote", "operation"),
        ("/api/v1/mev/wrap/order", "signedTransaction"),
        ("/api/v1/mev/orders", "orderParams"),
    ],
)
def test_400_missing_parameter_in_a_body(desk: ApiClient, path: str, field: str) -> None:
    details = refused(desk.api.post(path, json={}), 400, "MISSING_PARAMETER")["details"]
    assert details == {"field": field, "required": True}


@shows("error: 400 MISSING_PARAMETER")
def test_400_missing_parameter_in_a_query(desk: ApiClient) -> None:
    answer = desk.api.get("/api/v1/mev/wrap/info")
    details = refused(answer, 400, "MISSING_PARAMETER")["details"]
    assert details == {"field": "userAddress", "required": True}


@shows("error: 401 UNAUTHORIZED", "rule: key on every endpoint")
@pytest.mark.parametrize("secret", [None, "qs_wrong"])
def test_401_unauthorized(desk: ApiClient, secret: str | None) -> None:
    client = desk.client(secret)
    user = WETH.address
    for path in ("quote", "mev/orders/x", f"mev/orders/user/{user}", "mev/wrap/info"):
        refused(client.get(f"/api/v1/{path}"), 401, "UNAUTHORIZED")
    for path in ("mev/orders", "mev/wrap/quote", "mev/wrap/order"):
        refused(client.post(f"/api/v1/{path}", json={}), 401, "UNAUTHORIZED")


def without_pools(desk: ApiClient) -> str:
    """Return a token like DAI of which there is no pool."""
    address = desk.wallet().address
    desk.rpc("anvil_setCode", address, desk.rpc("eth_getCode", DAI.address, "latest"))
    return address


@shows("error: 404 INSUFFICIENT_LIQUIDITY")
def test_404_insufficient_liquidity(desk: ApiClient) -> None:
    with desk.fault("no_route", *VENUES):
        answer = desk.ask_quote(desk.wallet(), buyToken=without_pools(desk))
    refused(answer, 404, "INSUFFICIENT_LIQUIDITY")


@shows("error: 404 TOKEN_NOT_SUPPORTED")
def test_404_token_not_supported(desk: ApiClient) -> None:
    nobody = desk.wallet().address
    refused(desk.ask_quote(desk.wallet(), buyToken=nobody), 404, "TOKEN_NOT_SUPPORTED")


@shows("error: 404 ORDER_NOT_FOUND", "rule: orders belong to a key")
def test_404_order_not_found(desk: ApiClient) -> None:
    taken = desk.order(desk.wallet())
    stranger = desk.another()
    foreign = stranger.get(f"/api/v1/mev/orders/{taken['orderId']}")
    unknown = stranger.get("/api/v1/mev/orders/ord_unknown")
    refused(foreign, 404, "ORDER_NOT_FOUND")
    assert foreign.content == unknown.content


@shows("error: 503 SERVICE_UNAVAILABLE")
def test_503_service_unavailable_without_a_node(desk: ApiClient) -> None:
    wallet = desk.wallet()
    body = {"operation": "wrap", "amount": "1", "userAddress": wallet.address}
    with desk.fault("down", "node"):
        refused(desk.ask_quote(wallet, sellAmount="7"), 503, "SERVICE_UNAVAILABLE")
        asked = desk.api.post("/api/v1/mev/wrap/quote", json=body)
        refused(asked, 503, "SERVICE_UNAVAILABLE")
        info = desk.api.get("/api/v1/mev/wrap/info", params={"userAddress": wallet.address})
        refused(info, 503, "SERVICE_UNAVAILABLE")


@shows("error: 503 SERVICE_UNAVAILABLE")
def test_503_service_unavailable_without_an_aggregator(desk: ApiClient) -> None:
    with desk.fault("down", *VENUES):
        answer = desk.ask_quote(desk.wallet(), buyToken=without_pools(desk))
    rows = refused(answer, 503, "SERVICE_UNAVAILABLE")["details"]["sources"]
    assert {row["source"]: row["outcome"] for row in rows}["uniswap"] == "no_route"


def exhausted(client: httpx.Client) -> httpx.Response:
    """Return the first answer beyond a key's budget."""
    for _ in range(300):
        answer = client.get("/api/v1/mev/orders/none")
        assert answer.status_code == 404
    return client.get("/api/v1/mev/orders/none")


@shows("error: 429 RATE_LIMIT_EXCEEDED", "limit: Rate limit*", "limit: Rate-limit headers")
def test_429_rate_limit_exceeded(desk: ApiClient) -> None:
    answer = exhausted(desk.api)
    told = refused(answer, 429, "RATE_LIMIT_EXCEEDED")
    assert (told["limit"], told["window"]) == (300, 60)
    assert 1 <= told["retryAfter"] <= 60
    assert answer.headers["retry-after"] == str(told["retryAfter"])
    assert answer.headers["x-ratelimit-limit"] == "300"
    assert answer.headers["x-ratelimit-remaining"] == "0"
    assert int(answer.headers["x-ratelimit-reset"]) > 1_700_000_000
