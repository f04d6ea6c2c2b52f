"""Every parameter and body field: required ones are missed by name, optional ones may be absent."""

from typing import Any

import pytest

from quietswap.sandbox.contracts.pools import USDC, WETH
from tests.e2e.conftest import Town
from tests.spec import tables
from tests.spec.api_client import ETHER, ApiClient, Signed
from tests.spec.coverage import shows
from tests.spec.wire import data, refused

PATHS = {
    "order body": "/api/v1/mev/orders",
    "orderParams": "/api/v1/mev/orders",
    "wrap quote body": "/api/v1/mev/wrap/quote",
    "wrap order body": "/api/v1/mev/wrap/order",
}
OWN_CODES = {
    "sellToken": (400, "INVALID_TOKEN_ADDRESS"),
    "buyToken": (400, "INVALID_TOKEN_ADDRESS"),
    "sellAmount": (400, "INVALID_AMOUNT"),
    "userAddress": (400, "USER_ADDRESS_REQUIRED"),
}
WRONG: dict[str, Any] = {"string": 5, "number": "5", "object": []}
WRAP_CODES = {
    "operation": (400, "INVALID_OPERATION"),
    "amount": (400, "INVALID_AMOUNT"),
    "userAddress": (400, "INVALID_ADDRESS"),
}


@pytest.fixture(scope="module")
def good(town: Town) -> dict[str, dict[str, Any]]:
    """Good bodies; they are never submitted whole, so the same ones serve every test."""
    with ApiClient(town) as desk:
        wallet = desk.wallet()
        swap: Signed = desk.swap(wallet)
        wrap = desk.wrap(wallet)
    ask = {"operation": "wrap", "amount": "1.5", "userAddress": wallet.address, "chainId": 1}
    return {
        "order body": swap.body,
        "orderParams": swap.body,
        "wrap quote body": ask,
        "wrap order body": wrap.body,
    }


def without(body: dict[str, Any], table: str, name: str) -> dict[str, Any]:
    if table == "orderParams":
        inner = {key: value for key, value in body["orderParams"].items() if key != name}
        return body | {"orderParams": inner}
    return {key: value for key, value in body.items() if key != name}


def with_wrong_type(body: dict[str, Any], table: str, name: str, kind: str) -> dict[str, Any]:
    if table == "orderParams":
        return body | {"orderParams": body["orderParams"] | {name: WRONG[kind]}}
    return body | {name: WRONG[kind]}


@shows("input: order body.*", "input: orderParams.*", "input: wrap quote body.*")
@shows("input: wrap order body.*")
@pytest.mark.parametrize("table", PATHS)
def test_a_required_field_is_missed_by_name_and_an_optional_one_is_not(
    desk: ApiClient, good: dict[str, dict[str, Any]], table: str
) -> None:
    for name, _, required in tables.INPUTS[table]:
        answer = desk.api.post(PATHS[table], json=without(good[table], table, name))
        if required == "yes":
            details = refused(answer, 400, "MISSING_PARAMETER")["details"]
            assert details["field"] == (f"orderParams.{name}" if table == "orderParams" else name)
        else:
            error = answer.json().get("error")
            assert error not in ("MISSING_PARAMETER", "INVALID_PARAMETER"), name


@shows("input: order body.*", "input: orderParams.*", "input: wrap quote body.*")
@shows("input: wrap order body.*")
@pytest.mark.parametrize("table", PATHS)
def test_a_field_of_another_json_type_is_refused_by_name(
    desk: ApiClient, good: dict[str, dict[str, Any]], table: str
) -> None:
    for name, kind, _ in tables.INPUTS[table]:
        body = with_wrong_type(good[table], table, name, kind)
        answer = desk.api.post(PATHS[table], json=body)
        if table == "wrap quote body" and name in WRAP_CODES:
            refused(answer, *WRAP_CODES[name])
            continue
        details = refused(answer, 422, "VALIDATION_ERROR")["details"]
        assert details["reason"] == "MALFORMED"
        assert [fault["field"].rpartition(".")[2] for fault in details["fields"]] == [name]


@shows("input: quote query.*")
@pytest.mark.parametrize(("name", "kind", "required"), tables.INPUTS["quote query"])
def test_the_quotes_parameters(desk: ApiClient, name: str, kind: str, required: str) -> None:
    ask = {
        "sellToken": WETH.address,
        "buyToken": USDC.address,
        "sellAmount": str(ETHER),
        "userAddress": desk.wallet().address,
        "chainId": "1",
        "slippageBps": "100",
    }
    answer = desk.api.get("/api/v1/quote", params=leave_out(ask, name))
    if required == "no":
        data(answer)
        wrong = desk.api.get("/api/v1/quote", params=ask | {name: "wrong"})
        assert refused(wrong, 400, "INVALID_PARAMETER")["details"]["parameter"] == name
    else:
        refused(answer, *OWN_CODES[name])


def leave_out(ask: dict[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in ask.items() if key != name}


@shows("input: history query.*")
@pytest.mark.parametrize(("name", "kind", "required"), tables.INPUTS["history query"])
def test_the_historys_parameters(desk: ApiClient, name: str, kind: str, required: str) -> None:
    wallet = desk.wallet().address
    path = f"/api/v1/mev/orders/user/{wallet}"
    data(desk.api.get(path))
    if required == "yes":
        refused(desk.api.get("/api/v1/mev/orders/user/"), 404, "NOT_FOUND")
        refused(desk.api.get(path.lower()), 400, "INVALID_ADDRESS")
    else:
        wrong = desk.api.get(path, params={name: "wrong"})
        assert refused(wrong, 400, "INVALID_PARAMETER")["details"]["parameter"] == name


@shows("limit: Default slippage")
def test_the_default_slippage_is_50_basis_points(desk: ApiClient) -> None:
    wallet = desk.wallet()
    for chosen, slippage in (({}, 50), ({"slippageBps": "200"}, 200)):
        quote = desk.quote(wallet, **chosen)
        least = int(quote["buyAmount"]) * (10_000 - slippage) // 10_000
        assert int(quote["minBuyAmount"]) == pytest.approx(least, rel=1e-4)


@shows("limit: Default chainId", "rule: mainnet only")
def test_mainnet_is_the_default_and_the_only_chain(desk: ApiClient) -> None:
    wallet = desk.wallet()
    assert desk.quote(wallet)["mevProtection"]["transactionParams"]["chainId"] == 1
    refused(desk.ask_quote(wallet, chainId="137"), 400, "INVALID_PARAMETER")
    body = {"operation": "wrap", "amount": "1", "userAddress": wallet.address, "chainId": 10}
    refused(desk.api.post("/api/v1/mev/wrap/quote", json=body), 400, "INVALID_PARAMETER")


@shows("rule: json in and out")
@pytest.mark.parametrize("path", sorted(set(PATHS.values())))
def test_a_post_needs_its_content_type(desk: ApiClient, path: str) -> None:
    headers = {"Content-Type": "text/plain"}
    refused(desk.api.post(path, content=b"{}", headers=headers), 415, "UNSUPPORTED_MEDIA_TYPE")
    answer = desk.api.post(path, json={})
    assert answer.headers["content-type"] == "application/json"


@shows("rule: no key is asked for")
def test_no_input_is_a_private_key() -> None:
    names = [row[0].lower() for rows in tables.INPUTS.values() for row in rows]
    assert not [name for name in names if "private" in name or "secret" in name or "seed" in name]


@shows("rule: version in the path")
def test_every_endpoint_lives_under_its_version(desk: ApiClient) -> None:
    paths = desk.api.get("/openapi.json").json()["paths"]
    assert len(paths) > 8  # the seven of the interface, and additions
    assert all(path.startswith("/api/v1/") for path in paths)
    refused(desk.api.get("/api/v2/quote"), 404, "NOT_FOUND")
