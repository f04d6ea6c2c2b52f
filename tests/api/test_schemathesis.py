"""Requests generated from the document, valid and invalid, with every check schemathesis has."""

import schemathesis
from hypothesis import HealthCheck, settings

from quietswap.api.app import EdgeOptions, build_app
from quietswap.api.guard import Limits
from tests import generators
from tests.api.inside import SECRET, HandClock, Inside

CLOCK = HandClock()
LIMITS = Limits(requests=10**9, failures=10**9)
APP = build_app(Inside(CLOCK).use_cases(), EdgeOptions(limits=LIMITS), CLOCK)

generators.teach()
schema = schemathesis.openapi.from_asgi("/openapi.json", APP)
schema.hook(generators.filter_query)


@schema.parametrize()
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_generated(case: schemathesis.Case) -> None:
    case.call_and_validate(headers={"X-API-Key": SECRET})
