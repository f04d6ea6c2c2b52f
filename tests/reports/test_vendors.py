"""Reports about vendors: a row is one answer, what it is read as, and the words that are kept."""

import json

import pytest

from quietswap.rules.quotes.quote import NoRoute, NoRouteReason
from quietswap.service.base.http_client import HttpClient
from tests.upstream import Reply, Upstream
from tests.vendors.case import REQUEST, cases

_GH = "https://github.com/"
_HTML, _JSON = "text/html", "application/json"
NO_ROUTE, REFUSED = NoRouteReason.NO_ROUTE, NoRouteReason.REFUSED
AWAY = NoRouteReason.UNAVAILABLE
INVALID = {
    "code": 100,
    "reason": "Validation Failed",
    "validationErrors": [{"field": "sellAmount", "code": 1001, "reason": "should be integer"}],
}
DRY = INVALID | {
    "validationErrors": [{"field": "buyAmount", "reason": "INSUFFICIENT_ASSET_LIQUIDITY"}]
}
LOSS = {"error": "ESTIMATED_LOSS_GREATER_THAN_MAX_IMPACT", "value": "99.99%"}
SHORT = {"error": "Bad Request", "description": "Not enough allowance. Amount: 10. Allowance: 0"}
ROWS: tuple[tuple[str, str, int, object, NoRouteReason, str], ...] = (
    (f"{_GH}horizontalsystems/unstoppable-wallet-ios/issues/3332", "oneinch", 500,
     {"statusCode": 500, "message": "cannot estimate"}, AWAY,
     "vendor: “cannot estimate” (status 500)"),
    (f"{_GH}mraniki/dxsp/issues/189", "oneinch", 403,
     "<html><title>Attention Required! | Cloudflare</title></html>", AWAY,
     "vendor: “Attention Required! | Cloudflare” (status 403)"),
    (f"{_GH}gemwalletcom/core/pull/226", "oneinch", 400, SHORT, REFUSED,  # held before
     "vendor: “Not enough allowance. Amount: 10. Allowance: 0”"),
    (f"{_GH}cowprotocol/services/pull/364", "oneinch", 400,  # held before
     {"error": "Bad Request", "description": "insufficient liquidity"}, NO_ROUTE,
     "vendor: “insufficient liquidity”"),
    (f"{_GH}brave/brave-browser/issues/18277", "zeroex", 400, INVALID, REFUSED,
     "vendor: “Validation Failed”"),
    (f"{_GH}0xProject/0x-api/issues/123", "zeroex", 400, DRY, NO_ROUTE,
     "no liquidity for this amount"),
    (f"{_GH}0xProject/0x-api/issues/130", "zeroex", 500, {"reason": "Unknown Server Error"}, AWAY,
     "vendor: “Unknown Server Error” (status 500)"),
    (f"{_GH}swaponline/MultiCurrencyWallet/issues/5211", "zeroex", 401,
     {"message": "No API key found in request"}, REFUSED,
     "vendor: “No API key found in request” (status 401)"),
    (f"{_GH}gnosis/cowswap/issues/825", "velora", 400, LOSS, NO_ROUTE,  # held before
     "vendor: “ESTIMATED_LOSS_GREATER_THAN_MAX_IMPACT”"),
    (f"{_GH}status-im/status-legacy/issues/22522", "velora", 400,  # held before
     {"error": "Unable to build transaction (1001)"}, REFUSED,
     "vendor: “Unable to build transaction (1001)”"),
    (f"{_GH}incognitochain/incognito-wallet/pull/1068", "kyberswap", 503,
     "<html><h1>Under maintenance</h1></html>", AWAY,
     "vendor: “Under maintenance” (status 503)"),
    (f"{_GH}vultisig/vultisig-ios/issues/2278", "kyberswap", 429,  # held before
     {"message": "too many requests"}, NoRouteReason.RATE_LIMITED, "too many requests"),
)  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
async def test_what_a_vendor_says_is_kept(
    http: HttpClient, upstream: Upstream, row: tuple[str, str, int, object, NoRouteReason, str]
) -> None:
    _, vendor, status, body, miss, reason = row
    is_page = isinstance(body, str)
    text = body if isinstance(body, str) else json.dumps(body)
    kind = _HTML if is_page else _JSON
    upstream.will(Reply(text.encode(), status, content_type=kind))
    with pytest.raises(NoRoute) as caught:
        await cases()[vendor].made(http, upstream.url).route(REQUEST)
    assert (caught.value.miss, caught.value.reason) == (miss, reason)
