"""The other vendors' rules: required parameters, additional fields, errors."""

import httpx
import pytest

from quietswap.sandbox.contracts.addresses import ROUTERS
from quietswap.sandbox.network import SandboxNetwork
from tests.sandbox.protocols import (
    BUY,
    KYBER,
    ONE,
    ONEINCH,
    SELL,
    SUSHI,
    VELORA,
    ZEROEX,
    Protocol,
    Vendor,
    http,
    sandbox,
    speaks,
    vendor,
)

__all__ = ["http", "sandbox", "vendor"]

pytestmark = pytest.mark.asyncio(loop_scope="module")


@speaks(SUSHI)
@pytest.mark.parametrize("slippage", ["1", "5e-3", "-0.1", "0,5", "50"])
async def test_sushi_takes_a_plain_fraction_below_one(vendor: Vendor, slippage: str) -> None:
    reply = await vendor.ask(maxSlippage=slippage)
    assert reply.status_code == 422
    assert reply.json() == {"code": "422-01", "detail": "Invalid maxSlippage"}


@speaks(SUSHI)
async def test_sushi_has_defaults_and_says_nothing_of_value(vendor: Vendor) -> None:
    body, plain = (await vendor.ask()).json(), (await vendor.ask(maxSlippage=None)).json()
    assert body["tx"]["data"] == plain["tx"]["data"]
    assert not {"value", "gas"} & body["tx"].keys()
    assert [body["tokens"][body[end]]["address"] for end in ("tokenFrom", "tokenTo")] == [SELL, BUY]
    assert 0 < body["priceImpact"] < 0.01
    assert (await vendor.ask(sender=None)).status_code == 422


@speaks(ZEROEX)
async def test_zeroex_needs_its_headers(vendor: Vendor) -> None:
    assert (await vendor.ask(headers={})).status_code == 401
    reply = await vendor.ask(headers={"0x-api-key": "key"})
    assert (reply.status_code, reply.json()["name"]) == (400, "INPUT_INVALID")


@speaks(ZEROEX)
async def test_zeroex_reports_what_the_wallet_lacks(vendor: Vendor) -> None:
    body = (await vendor.ask()).json()
    router = ROUTERS["zeroex"].lower()
    assert body["issues"]["allowance"] == {"actual": "0", "spender": router}
    assert body["issues"]["balance"] is None
    poor = (await vendor.ask(taker="0x" + "12" * 20)).json()
    assert poor["issues"]["balance"] == {"token": SELL.lower(), "actual": "0", "expected": ONE}
    fee, net = int(body["fees"]["zeroExFee"]["amount"]), int(body["buyAmount"])
    assert fee == pytest.approx((fee + net) * 0.0015, rel=1e-6)


@speaks(ZEROEX)
@pytest.mark.parametrize("name", ["chainId", "sellToken", "sellAmount", "taker"])
async def test_zeroex_names_the_field_that_is_wrong(vendor: Vendor, name: str) -> None:
    reply = await vendor.ask(**{name: None})
    assert (reply.status_code, reply.json()["name"]) == (400, "INPUT_INVALID")
    assert reply.json()["data"]["details"][0]["field"] == name


@speaks(ONEINCH)
async def test_oneinch_needs_a_bearer_key(vendor: Vendor) -> None:
    for header in ("", "Bearer", "Basic key"):
        reply = await vendor.ask(headers={"Authorization": header})
        assert (reply.status_code, reply.json()["statusCode"]) == (401, 401)


@speaks(ONEINCH)
async def test_oneinch_insists_on_allowance_unless_told_not_to(vendor: Vendor) -> None:
    reply = await vendor.ask(disableEstimate=None)
    assert reply.status_code == 400
    assert reply.json()["description"].startswith("Not enough allowance. Amount: ")
    poor = await vendor.ask(disableEstimate=None, from_="0x" + "12" * 20)
    assert poor.json()["description"].startswith("Not enough balance.")
    assert (await vendor.ask()).json()["tx"]["gas"] == 0


@speaks(ONEINCH)
@pytest.mark.parametrize("name", ["from", "origin", "slippage", "src"])
async def test_oneinch_requires(vendor: Vendor, name: str) -> None:
    reply = await vendor.ask(**{name: None})
    assert reply.status_code == 400
    assert name in reply.json()["description"]


@speaks(ONEINCH)
async def test_oneinch_adds_what_is_asked_for(vendor: Vendor) -> None:
    plain = (await vendor.ask(includeTokensInfo=None)).json()
    assert not {"protocols", "srcToken", "gas"} & plain.keys()
    full = (
        await vendor.ask(includeProtocols="true", includeTokensInfo="true", includeGas="true")
    ).json()
    assert full["srcToken"]["address"] == SELL.lower()
    assert full["protocols"][0]["hops"][0]["dst"] == BUY.lower()
    assert full["gas"] > 0


@pytest.mark.parametrize("protocol", [KYBER, VELORA, SUSHI, ZEROEX, ONEINCH])
async def test_other_paths_are_not_found(
    http: httpx.AsyncClient, sandbox: SandboxNetwork, protocol: Protocol
) -> None:
    url = sandbox.venues[protocol[0]]
    assert (await http.get(url + "/elsewhere", headers=protocol[3])).status_code == 404
    assert (await http.put(url + protocol[1], headers=protocol[3])).status_code == 404
