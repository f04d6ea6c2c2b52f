"""Bodies that vendors really sent or officially document, replayed where the folder exists.

Most are of trades this service never asks for (native ETH, other chains, older routers): what is
shown is that every figure is read as the vendor meant it, and that the money rules refuse the rest.
"""

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from quietswap.chain import address as addresses
from quietswap.http_client import HttpClient
from quietswap.quoting.quote import NoRoute, NoRouteReason, Route, RouteRequest
from quietswap.quoting.route_policy import check_route, with_enforced_minimum
from quietswap.vendors import VENDORS, velora
from tests.upstream import Reply, Upstream
from tests.vendors.recorded import (
    ANY,
    MISSES,
    READ_ELSEWHERE,
    ROUTES,
    Answered,
    Missed,
)
from tests.waiting import WITHIN_S

_BESIDE = Path(__file__).parents[3] / "shared" / "fixtures"
FOLDER = Path(os.environ.get("QUIETSWAP_FIXTURES") or _BESIDE) / "aggregators"

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="no recorded answers; QUIETSWAP_FIXTURES names their folder"
)


def body(name: str) -> bytes:
    return (FOLDER / f"{name}.json").read_bytes()


def as_json(name: str) -> Any:
    return json.loads(body(name))


async def ask(
    http: HttpClient, upstream: Upstream, source: str, request: RouteRequest, *replies: Reply
) -> Route:
    adapter = import_module(f"quietswap.vendors.{source}.adapter").Adapter(
        http, base_url=upstream.will(*replies).url, timeout_s=WITHIN_S
    )
    route: Route = await adapter.route(request)
    return route


def _ids(cases: list[Any]) -> list[str]:
    return [f"{case.files[-1]}-{case.source}" for case in cases]


@pytest.mark.parametrize("case", ROUTES, ids=_ids(ROUTES))
async def test_recorded_route(http: HttpClient, upstream: Upstream, case: Answered) -> None:
    replies = [Reply(body(name)) for name in case.files]
    route = await ask(http, upstream, case.source, case.request, *replies)
    route = with_enforced_minimum(route, case.request)
    assert {name: getattr(route, name) for name in case.says} == case.says
    assert route.source == case.source
    for verdict, value in ((case.verdict, route.value), (case.without_value, 0)):
        reason = check_route(
            structs.replace(route, value=value), case.request, {VENDORS[case.source].router}
        )
        assert reason is None if verdict is None else verdict in (reason or "")


@pytest.mark.parametrize("case", MISSES, ids=_ids(MISSES))
async def test_recorded_miss(http: HttpClient, upstream: Upstream, case: Missed) -> None:
    *before, last = case.files
    replies = [*(Reply(body(name)) for name in before), Reply(body(last), case.status)]
    with pytest.raises(NoRoute) as caught:
        await ask(http, upstream, case.source, case.request, *replies)
    assert caught.value.miss is case.miss
    assert case.reason in caught.value.reason


KYBER = {
    "4008": NoRouteReason.NO_ROUTE,
    "4009": NoRouteReason.NO_ROUTE,
    "4010": NoRouteReason.NO_ROUTE,
}
KYBER["4011"] = NoRouteReason.TOKEN_UNKNOWN


@pytest.mark.parametrize("status", [200, 400, 422])
async def test_kyberswap_codes_decide_whatever_the_status(
    http: HttpClient, upstream: Upstream, status: int
) -> None:
    for code, said in as_json("kyberswap-errors-spec").items():
        reply = Reply(json.dumps(said["body"]).encode(), status)
        with pytest.raises(NoRoute) as caught:
            await ask(http, upstream, "kyberswap", ANY, reply)
        assert caught.value.miss is KYBER.get(code, NoRouteReason.REFUSED), code
        assert f"vendor: “{said['body']['message']}” (code {code})" == caught.value.reason


async def test_velora_documented_errors(http: HttpClient, upstream: Upstream) -> None:
    found = {}
    for row in as_json("velora-errors-official")["errors"]:
        if row["endpoint"] != "GET /prices" or row["status"] == 200:
            continue
        reply = Reply(json.dumps({"error": row["match"]}).encode(), row["status"])
        with pytest.raises(NoRoute) as caught:
            await ask(http, upstream, "velora", ANY, reply)
        found[row["match"]] = caught.value.miss
    assert found == {
        "Invalid srcToken or Invalid destToken": NoRouteReason.TOKEN_UNKNOWN,
        "Unsupported chain": NoRouteReason.REFUSED,
        "Stale priceRoute": NoRouteReason.NO_ROUTE,
        "Too Many Requests": NoRouteReason.RATE_LIMITED,
    }


def test_velora_router_is_the_official_one() -> None:
    official = as_json("velora-contracts-official")["chains"]["1"]["augustusV6_2"]
    assert addresses.from_any_case(official) == velora.ROUTER


def test_every_recorded_answer_is_read() -> None:
    read = {name for case in (*ROUTES, *MISSES) for name in case.files} | READ_ELSEWHERE
    assert {path.stem for path in FOLDER.glob("*.json")} <= read
