"""The aggregators as a test meets them: the adapter, and what its vendor says."""

from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol

from quietswap.chain.address import Address
from quietswap.http_client import HttpClient
from quietswap.vendors.kyberswap import adapter as kyberswap
from quietswap.vendors.oneinch import adapter as oneinch
from quietswap.vendors.openocean import adapter as openocean
from quietswap.vendors.source import Aggregator
from quietswap.vendors.sushi import adapter as sushi
from quietswap.vendors.velora import adapter as velora
from quietswap.vendors.zeroex import adapter as zeroex
from tests.adapters.aggregators.bodies import BODIES, Terms
from tests.adapters.upstream import Reply, js

STRANGER = Address("0x1234567890123456789012345678901234567890")
KEY = "very-secret-key"


class _Adapter(Protocol):
    def __call__(
        self,
        http: HttpClient,
        *,
        base_url: str,
        client_name: str,
        timeout_s: float,
        api_key: str | None = None,
    ) -> Aggregator: ...


@dataclass(frozen=True)
class Vendor:
    """One source. `spenders`: its protocol can name a spender beside the router; `minimum`: it
    reports the minimum itself."""

    module: ModuleType
    adapter: _Adapter
    no_route: Reply
    unknown_token: Reply
    refused: Reply
    spenders: bool = False
    minimum: bool = False

    @property
    def name(self) -> str:
        name: str = self.module.NAME
        return name

    @property
    def routers(self) -> tuple[Address, ...]:
        routers: tuple[Address, ...] = self.module.ROUTERS
        return routers

    def made(self, http: HttpClient, url: str, timeout_s: float = 5.0) -> Aggregator:
        """Return the adapter, with a key where it needs one."""
        key = KEY if self.module.NEEDS_KEY else None
        return self.adapter(
            http, base_url=url, client_name="house", timeout_s=timeout_s, api_key=key
        )

    def replies(self, **changes: Any) -> list[Reply]:
        """Return the answers to one request, one per call, on `Terms` changed so."""
        terms = Terms(target=changes.pop("target", self.routers[0]), **changes)
        bodies = BODIES[self.name](terms)
        for path, value in terms.fields.items():
            found = [_replace(body, path.split("."), value) for body in bodies]
            assert any(found), f"{self.name} has no field {path}"
        return [js(body) for body in bodies]


def _replace(body: Any, path: list[str], value: Any) -> bool:
    *outer, last = path
    for name in outer:
        body = body.get(name) if isinstance(body, dict) else None
    if not isinstance(body, dict) or last not in body:
        return False
    body[last] = value
    return True


def _oneinch_says(description: str) -> Reply:
    return js({"error": "Bad Request", "description": description, "statusCode": 400}, 400)


VENDORS = {
    "kyberswap": Vendor(
        *(kyberswap, kyberswap.KyberSwap),
        no_route=js({"code": 4008, "message": "route not found", "details": None}, 400),
        unknown_token=js({"code": 4011, "message": "token not found"}, 400),
        refused=js({"message": "forbidden"}, 403),
        spenders=True,
    ),
    "velora": Vendor(
        *(velora, velora.Velora),
        no_route=js({"error": "No routes found with enough liquidity"}, 404),
        unknown_token=js({"errorType": "InvalidInput", "details": "Invalid destToken"}, 400),
        refused=js({"error": "Forbidden"}, 403),
        spenders=True,
    ),
    "sushi": Vendor(
        *(sushi, sushi.Sushi),
        no_route=js({"status": "NoWay"}),
        unknown_token=js({"code": "422-01", "detail": "Unknown token"}, 422),
        refused=js({"detail": "invalid-api-key"}, 401),
    ),
    "openocean": Vendor(
        *(openocean, openocean.OpenOcean),
        no_route=js({"code": 200, "data": None}),
        unknown_token=js({"code": 400, "error": "token not found", "errorMsg": ""}),
        refused=js({"code": 401, "error": "apikey is wrong"}, 401),
        minimum=True,
    ),
    "zeroex": Vendor(
        *(zeroex, zeroex.ZeroEx),
        no_route=js({"liquidityAvailable": False, "zid": "0x1"}),
        unknown_token=js({"name": "TOKEN_NOT_SUPPORTED", "message": "", "data": {}}, 400),
        refused=js({"name": "TAKER_NOT_AUTHORIZED_FOR_TRADE", "data": {"zid": "0x1"}}, 403),
        spenders=True,
        minimum=True,
    ),
    "oneinch": Vendor(
        *(oneinch, oneinch.OneInch),
        no_route=_oneinch_says("insufficient liquidity"),
        unknown_token=_oneinch_says("cannot sync token 0x"),
        refused=js({"message": "Unauthorized"}, 401),
    ),
}
"""By source."""
