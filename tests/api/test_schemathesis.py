"""Requests generated from the document, valid and invalid, with every check schemathesis has."""

import pytest
import schemathesis
from hypothesis import HealthCheck, settings

from quietswap.api.app import create_api
from quietswap.api.options import ApiOptions, RateLimits
from tests import generators
from tests.api.scripted_use_cases import SECRET, HandClock, ScriptedUseCases
from tests.example_counts import examples

CLOCK = HandClock()
LIMITS = RateLimits(requests=10**9, failures=10**9)
APP = create_api(ScriptedUseCases(CLOCK).use_cases(), ApiOptions(limits=LIMITS), CLOCK)

generators.teach()
schema = schemathesis.openapi.from_asgi("/openapi.json", APP)
schema.hook(generators.filter_query)
schema.hook(generators.filter_path_parameters)
schema.hook(generators.filter_headers)
schema.hook(generators.filter_body)
schema.hook(generators.filter_case)


# Without a parameter of its own, each operation would have the same test id: then xdist runs one.
@schema.parametrize()
@pytest.mark.parametrize("secret", [SECRET], ids=["key"])
@settings(max_examples=examples(300), deadline=None, suppress_health_check=list(HealthCheck))
def test_generated(case: schemathesis.Case, secret: str) -> None:
    case.call_and_validate(headers={"X-API-Key": secret})
