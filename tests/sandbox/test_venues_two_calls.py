"""KyberSwap's two calls, and Velora's defaults for version and partner."""

from typing import Any

import httpx
import pytest
import pytest_asyncio

from quietswap.sandbox.contracts.addresses import PARTNER, ROUTERS
from quietswap.sandbox.network import SandboxNetwork
from tests.sandbox.protocols import (
    ALICE,
    BUY,
    KYBER,
    SELL,
    VELORA,
    Json,
    Vendor,
    http,
    sandbox,
    speaks,
    vendor,
)

__all__ = ["http", "sandbox", "vendor"]

pytestmark = pytest.mark.asyncio(loop_scope="module")


@speaks(KYBER)
@pytest.mark.parametrize("name", ["tokenIn", "tokenOut", "amountIn"])
async def test_kyberswap_binds_its_query(vendor: Vendor, name: str) -> None:
    for value in (None, "nonsense"):
        reply = await vendor.ask(**{name: value})
        assert reply.status_code == 400
        assert reply.json()["code"] == 4001
        assert reply.json()["message"] == "unable to bind query parameters"
    assert "x-ratelimit-limit" in reply.headers


class Builder:
    """KyberSwap's second call."""

    def __init__(self, http: httpx.AsyncClient, sandbox: SandboxNetwork) -> None:
        self._http = http
        self._base = sandbox.venues["kyberswap"] + "/ethereum/api/v1"

    async def summary(self) -> Json:
        """Return a fresh route summary."""
        reply = await self._http.get(self._base + "/routes", params=KYBER[2])
        summary: Json = reply.json()["data"]["routeSummary"]
        return summary

    async def build(self, **body: Any) -> httpx.Response:
        """Return the answer to a build."""
        given = {"sender": ALICE, "recipient": ALICE} | body
        sent = {name: value for name, value in given.items() if value is not None}
        return await self._http.post(self._base + "/route/build", json=sent)


@pytest_asyncio.fixture(loop_scope="module")
async def kyber(http: httpx.AsyncClient, sandbox: SandboxNetwork) -> Builder:
    return Builder(http, sandbox)


async def test_kyberswap_builds_only_what_it_gave_out(kyber: Builder) -> None:
    summary = await kyber.summary()
    assert int(summary["checksum"]) > 2**63
    assert (await kyber.build(routeSummary=summary)).status_code == 200
    reordered = dict(sorted(summary.items()))
    assert (await kyber.build(routeSummary=reordered)).status_code == 200
    spoilt: list[Json] = [
        summary | {"amountOut": summary["amountOut"] + "0"},
        summary | {"amountIn": int(summary["amountIn"])},
        {name: value for name, value in summary.items() if name != "l1FeeUsd"},
        summary | {"checksum": "1"},
    ]
    for one in spoilt:
        reply = await kyber.build(routeSummary=one)
        assert reply.status_code == 400
        assert reply.json()["code"] == 4002


@pytest.mark.parametrize(
    "wrong",
    [
        {"sender": None}, {"recipient": None}, {"recipient": "bob"},
        {"slippageTolerance": 2001}, {"slippageTolerance": -1}, {"slippageTolerance": 0.5},
    ],
    ids=str,
)  # fmt: skip
async def test_kyberswap_binds_its_body(kyber: Builder, wrong: Json) -> None:
    reply = await kyber.build(routeSummary=await kyber.summary(), **wrong)
    assert (reply.status_code, reply.json()["code"]) == (400, 4002)


async def test_kyberswap_without_a_slippage_allows_none(kyber: Builder) -> None:
    reply = await kyber.build(routeSummary=await kyber.summary())
    data = reply.json()["data"]
    assert f"{int(data['amountOut']):064x}" in data["data"]
    assert data["routerAddress"] == ROUTERS["kyberswap"]


async def test_kyberswap_builds_at_the_price_of_now(
    kyber: Builder, sandbox: SandboxNetwork
) -> None:
    summary = await kyber.summary()
    sandbox.active_faults.put("kyberswap", "lie:0.5")
    data = (await kyber.build(routeSummary=summary)).json()["data"]
    sandbox.active_faults.clear("kyberswap")
    assert int(data["amountOut"]) == int(summary["amountOut"]) // 2
    assert int(data["outputChange"]["amount"]) < 0


@speaks(VELORA)
async def test_velora_without_a_version_is_the_old_router(vendor: Vendor) -> None:
    body = (await vendor.ask(version=None)).json()
    route, tx = body["priceRoute"], body["txParams"]
    assert route["version"] == "5"
    assert tx["to"].lower() == "0xdef171fe48cf0115b1d80b88dc8eab59176fee57"
    assert route["tokenTransferProxy"] == "0x216b4b4ba9f3e719726886d34a177484278bfcae"
    assert not tx["data"].startswith("0xe3ead59e")


@speaks(VELORA)
async def test_velora_takes_a_basis_point_from_the_anonymous(vendor: Vendor) -> None:
    own, anonymous = (await vendor.ask()).json(), (await vendor.ask(partner=None)).json()
    assert "destAmountAfterFee" not in own["priceRoute"]
    assert own["priceRoute"]["partnerFee"] == 0
    route = anonymous["priceRoute"]
    assert (route["partner"], route["partnerFee"]) == ("anon", 0.01)
    assert route["destAmount"] == own["priceRoute"]["destAmount"]
    assert int(route["destAmountAfterFee"]) == int(route["destAmount"]) * 9999 // 10_000
    fee_word = anonymous["txParams"]["data"][10 + 8 * 64 : 10 + 9 * 64]
    partner_and_fee = int(fee_word, 16)
    assert partner_and_fee & 0x3FFF == 1
    assert partner_and_fee >> 96 == int(PARTNER, 16)


@speaks(VELORA)
async def test_velora_writes_lowercase_and_names_one_contract(vendor: Vendor) -> None:
    body = (await vendor.ask()).json()
    route, tx = body["priceRoute"], body["txParams"]
    router = ROUTERS["velora"].lower()
    assert route["contractAddress"] == route["tokenTransferProxy"] == tx["to"] == router
    assert (route["srcToken"], route["destToken"]) == (SELL.lower(), BUY.lower())
    assert "gas" not in tx


@speaks(VELORA)
@pytest.mark.parametrize(
    ("changes", "status", "text"),
    [
        ({"srcToken": "0x0"}, 400, "Invalid srcToken"),
        ({"destToken": None}, 400, "Invalid destToken"),
        ({"userAddress": None}, 400, "userAddress is required"),
        ({"slippage": "0.5"}, 400, "slippage must be an integer"),
        ({"slippage": 10_001}, 400, "slippage must be from 0 to 10000"),
        ({"network": 10}, 422, "Unsupported chain"),
        (
            {"amount": str(5000 * 10**18), "maxImpact": None},
            400,
            "ESTIMATED_LOSS_GREATER_THAN_MAX_IMPACT",
        ),
    ],
)
async def test_velora_refuses(vendor: Vendor, changes: Json, status: int, text: str) -> None:
    reply = await vendor.ask(**changes)
    assert reply.status_code == status
    body = reply.json()
    assert text in (body.get("error"), body.get("details"))


@speaks(VELORA)
async def test_velora_lets_through_an_impact_that_is_allowed(vendor: Vendor) -> None:
    assert (await vendor.ask(amount=str(5000 * 10**18), maxImpact=100)).status_code == 200
