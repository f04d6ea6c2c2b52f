"""A service whose local clock is two hours ahead goes by the time of blocks."""

import asyncio
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from eth_account.signers.local import LocalAccount

from quietswap.rules.tokens.token import WETH
from tests.e2e.conftest import Town
from tests.e2e.in_process import AheadClock, inside
from tests.keys import issue_key
from tests.spec.api_client import SOLD, ApiClient
from tests.spec.wire import data, sign, wrap_body
from tests.waiting import WITHIN_S, eventually

AHEAD_S, EXPIRY_S = 7200, 1800


async def wrapped(client: httpx.AsyncClient, wallet: LocalAccount) -> dict[str, Any]:
    """Wrap 1.5 ETH and return the order's status."""
    asked = {"operation": "wrap", "amount": "1.5", "userAddress": wallet.address}
    quote = data(await client.post("/api/v1/mev/wrap/quote", json=asked))["quote"]
    raw = sign(wallet, quote["mevProtection"]["transactionParams"], nonce=0)
    data(await client.post("/api/v1/mev/wrap/order", json=wrap_body(quote, raw)))
    path = f"/api/v1/mev/orders/user/{wallet.address}"
    [listed] = data(await client.get(path, params={"kind": "wrap"}))["orders"]
    return data(await client.get(f"/api/v1/mev/orders/{listed['orderId']}"))


async def quoted(client: httpx.AsyncClient, town: Town, wallet: LocalAccount) -> dict[str, Any]:
    asked = {"sellToken": WETH, "buyToken": town.facts["tokens"]["USDC"], "sellAmount": str(SOLD)}
    params = asked | {"userAddress": wallet.address}
    return data(await client.get("/api/v1/quote", params=params))


def test_prices_stay_and_a_wrap_expires_in_time(town: Town, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'own.sqlite3'}"

    async def used(wallet: LocalAccount) -> tuple[dict[str, Any], dict[str, Any]]:
        async with inside(town, AheadClock(AHEAD_S), STORAGE__URL=url) as client:
            client.headers["X-API-Key"] = await asyncio.to_thread(issue_key, url)
            client.timeout = WITHIN_S
            return await wrapped(client, wallet), await quoted(client, town, wallet)

    with ApiClient(town) as desk:
        order, quote = asyncio.run(used(desk.wallet()))
        block = desk.rpc("eth_getBlockByNumber", "latest", False)
    expires_s = datetime.fromisoformat(order["expiresAt"]).timestamp()
    assert abs(expires_s - int(block["timestamp"], 16) - EXPIRY_S) < AHEAD_S / 2
    assert quote["scoring"]["priceAvailable"] is True


@pytest.mark.parametrize("ahead_s", [120, -120])
def test_metrics_tell_how_far_the_clock_is_from_the_databases(
    town: Town, shared_stores: dict[str, str], ahead_s: int
) -> None:
    """QuietswapClockSkew reads it: another process refuses such quotes, or takes them longer."""

    async def shows_it(client: httpx.AsyncClient) -> bool:
        text = (await client.get("/metrics")).text
        found = re.findall(r"^quietswap_clock_database_ahead_seconds (\S+)$", text, re.MULTILINE)
        return abs(float(found[0]) - ahead_s) < abs(ahead_s) / 2

    async def measure() -> None:
        async with inside(town, AheadClock(ahead_s), **shared_stores) as client:
            await eventually(lambda: shows_it(client))

    asyncio.run(measure())
