"""Generated requests, valid and invalid, against the whole running service.

Every check of schemathesis is on. A request that fits the document may still be refused for what
it means (a token nobody deployed, a transaction nobody signed): tests/api/test_schemathesis.py
checks, with an inside that takes everything, that good data is taken. Its requests go through the
same parsers, so each limit of the document is tried there; here only in `make test-long`.
"""

from collections.abc import Iterator

import pytest
import requests
import schemathesis
from schemathesis.config import (
    ChecksConfig,
    CoveragePhaseConfig,
    PhasesConfig,
    PositiveDataAcceptanceConfig,
    ProjectConfig,
    ProjectsConfig,
    SchemathesisConfig,
)
from schemathesis.schemas import BaseSchema

from tests import generators
from tests.contract import DOCUMENT
from tests.e2e.conftest import Town
from tests.example_counts import LONG
from tests.spec.api_client import ApiClient
from tests.spec.coverage import shows
from tests.waiting import WITHIN_S

REFUSALS = PositiveDataAcceptanceConfig(expected_statuses=["2xx", "400", "404", "422"])
CONFIG = SchemathesisConfig(
    projects=ProjectsConfig(
        default=ProjectConfig(
            checks=ChecksConfig(positive_data_acceptance=REFUSALS),
            phases=PhasesConfig(coverage=CoveragePhaseConfig(enabled=LONG)),
            request_timeout=WITHIN_S,
        )
    )
)
REQUESTS_EACH = 60

pytestmark = generators.TIME_LIMIT
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT, config=CONFIG)
generators.teach(SCHEMA)


@pytest.fixture
def schema(town: Town) -> BaseSchema:
    """Return the document. A fixture, because requests would be built on collection, in every
    process of a run; it names `town`, because the plugin hides the arguments of the test.
    """
    return SCHEMA


operations = schemathesis.pytest.from_fixture("schema").exclude(path="/api/v1/mev/events")
"""A stream never ends, and each request would be read for ten seconds: `tests/api` has its end."""


class Keys:
    """A new key before the budget of the last is spent."""

    def __init__(self, desk: ApiClient) -> None:
        self._engine = desk
        self._left = 0
        self._secret = ""

    def next(self) -> str:
        """Return a key for one request and those the checks make of it."""
        if self._left == 0:
            self._secret, self._left = self._engine.new_secret(), REQUESTS_EACH
        self._left -= 1
        return self._secret


@pytest.fixture(scope="module")
def keys(town: Town) -> Iterator[Keys]:
    with ApiClient(town) as desk:
        yield Keys(desk)


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    with requests.Session() as found:
        found.trust_env = False  # else it reads the whole environment for each request
        yield found


@operations.parametrize()
@generators.REQUESTS
@shows("rule: success is 200", "rule: key on every endpoint")
def test_generated(
    case: schemathesis.Case, town: Town, keys: Keys, session: requests.Session
) -> None:
    headers = {"X-API-Key": keys.next()}
    case.call_and_validate(
        base_url=town.facts["baseUrl"],
        session=session,
        headers=headers,
        excluded_checks=generators.excluded_checks(case),
    )
