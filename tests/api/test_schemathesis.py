"""Requests generated from the document, valid and invalid, with every check schemathesis has."""

import pytest
import schemathesis
from schemathesis.schemas import BaseSchema

from quietswap.service.api.operation import ApiOptions, RateLimits
from quietswap.service.server.app import create_api
from tests import generators
from tests.api.scripted_use_cases import SECRET, HandClock, ScriptedUseCases

CLOCK = HandClock()
LIMITS = RateLimits(requests=10**9, failures=10**9)
APP = create_api(ScriptedUseCases(CLOCK).use_cases(), ApiOptions(limits=LIMITS), CLOCK)

pytestmark = generators.TIME_LIMIT
DOCUMENT = schemathesis.openapi.from_asgi("/openapi.json", APP)
generators.teach(DOCUMENT)


@pytest.fixture
def schema() -> BaseSchema:
    """Return the document. A fixture, because requests would be built on collection, in every
    process of a run.
    """
    return DOCUMENT


operations = schemathesis.pytest.from_fixture("schema")


@operations.parametrize()
@generators.REQUESTS
def test_generated(case: schemathesis.Case) -> None:
    excluded = generators.excluded_checks(case)
    case.call_and_validate(headers={"X-API-Key": SECRET}, excluded_checks=excluded)
