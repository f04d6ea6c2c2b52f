"""Generated requests, valid and invalid, against the whole running service.

Every check of schemathesis is on. A request that fits the document may still be refused for what
it means (a token nobody deployed, a transaction nobody signed): tests/api/test_schemathesis.py
checks, with an inside that takes everything, that good data is taken.
"""

from collections.abc import Iterator

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.config import (
    ChecksConfig,
    PositiveDataAcceptanceConfig,
    ProjectConfig,
    ProjectsConfig,
    SchemathesisConfig,
)

from tests import generators
from tests.contract import DOCUMENT
from tests.e2e.conftest import Town
from tests.spec.coverage import shows
from tests.spec.desk import Desk

REFUSALS = PositiveDataAcceptanceConfig(expected_statuses=["2xx", "400", "404", "422"])
CONFIG = SchemathesisConfig(
    projects=ProjectsConfig(
        default=ProjectConfig(checks=ChecksConfig(positive_data_acceptance=REFUSALS))
    )
)
REQUESTS_EACH = 60

generators.teach()
schema = schemathesis.openapi.from_dict(DOCUMENT, config=CONFIG)
schema.hook(generators.filter_query)


class Keys:
    """A new key before the budget of the last is spent."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._left = 0
        self._secret = ""

    def next(self) -> str:
        """Return a key for one request and those the checks make of it."""
        if self._left == 0:
            self._secret, self._left = self._desk.new_secret(), REQUESTS_EACH
        self._left -= 1
        return self._secret


@pytest.fixture(scope="module")
def keys(town: Town) -> Iterator[Keys]:
    with Desk(town) as desk:
        yield Keys(desk)


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    with requests.Session() as found:
        yield found


@shows("rule: success is 200", "rule: key on every endpoint")
@schema.parametrize()
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_generated(
    case: schemathesis.Case, town: Town, keys: Keys, session: requests.Session
) -> None:
    headers = {"X-API-Key": keys.next()}
    case.call_and_validate(base_url=town.facts["baseUrl"], session=session, headers=headers)
