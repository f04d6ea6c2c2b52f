"""GET /web/status: whether the service can work now, and how long inclusion takes."""

from dataclasses import dataclass

import msgspec
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from quietswap.api.operation import ApiOptions
from quietswap.api.use_cases import UseCases
from quietswap.clock import Clock
from quietswap.contract.clients import InclusionRecord, WebStatusEnvelope, WebStatusResponse
from quietswap.errors.base import Unauthorized
from quietswap.web.assets import INCLUSION_DAYS, WebOptions
from quietswap.web.cookie import count_address, is_of_the_page

PATH = "/web/status"
MANY = 100
"""More orders are told as this number: visitors do not learn how many the service has."""


@dataclass(frozen=True, slots=True)
class WebStatusEndpoint:
    """Answers the page, with or without a session. It names no host and no reason.

    Raises Unauthorized for a request of another origin, and RateLimitExceeded.
    """

    use_cases: UseCases
    web: WebOptions
    options: ApiOptions
    clock: Clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request."""
        if scope["method"] != "GET":
            raise HTTPException(405, headers={"Allow": "GET"})
        if not is_of_the_page(scope):
            raise Unauthorized
        await count_address(scope, self.use_cases, self.web, self.options, self.clock)
        checks = (await self.web.health()).checks
        found = await self.web.inclusion()
        record = None
        if found is not None:
            record = InclusionRecord(
                orders=min(found.count, MANY),
                days=INCLUSION_DAYS,
                half_s=found.p50,
                most_s=found.p90,
            )
        answer = WebStatusResponse(
            node=checks["node"] == "ok",
            relay=checks["relay"] == "ok",
            sources=checks["sources"] == "ok",
            inclusion=record,
        )
        body = msgspec.json.encode(WebStatusEnvelope(ok=True, data=answer))
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})
