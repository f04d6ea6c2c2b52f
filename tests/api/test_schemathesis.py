"""Requests generated from the document, valid and invalid, with every check schemathesis has."""

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.schemas import BaseSchema

from quietswap.api.app import create_api
from quietswap.api.options import ApiOptions, RateLimits
from tests import generators
from tests.api.scripted_use_cases import SECRET, HandClock, ScriptedUseCases
from tests.example_counts import examples

CLOCK = HandClock()
LIMITS = RateLimits(requests=10**9, failures=10**9)
APP = create_api(ScriptedUseCases(CLOCK).use_cases(), ApiOptions(limits=LIMITS), CLOCK)

pytestmark = pytest.mark.timeout(3600)
"""One test tries all operations; in `make test-long` 300 requests of each."""
generators.teach()
DOCUMENT = schemathesis.openapi.from_asgi("/openapi.json", APP)
DOCUMENT.hook(generators.filter_query)
DOCUMENT.hook(generators.filter_path_parameters)
DOCUMENT.hook(generators.filter_headers)
DOCUMENT.hook(generators.filter_body)
DOCUMENT.hook(generators.filter_case)


@pytest.fixture
def schema() -> BaseSchema:
    """Return the document. A fixture, because requests would be built on collection, in every
    process of a run.
    """
    return DOCUMENT


operations = schemathesis.pytest.from_fixture("schema")


@operations.parametrize()
@settings(
    max_examples=examples(300, short=20), deadline=None, suppress_health_check=list(HealthCheck)
)
def test_generated(case: schemathesis.Case) -> None:
    case.call_and_validate(headers={"X-API-Key": SECRET})
