"""Which routers may already move the sold amount, so that a swap needs no approval."""

import pytest

from quietswap.rules.chain.records import AccountState
from quietswap.service.quoting.swap import _approved
from tests.quoting.test_collect_routes import REQUEST, ROUTER


@pytest.mark.parametrize(("allowance", "has_it"), [(10**18 - 1, False), (10**18, True)])
def test_an_allowance_of_exactly_the_sold_amount_is_enough(allowance: int, has_it: bool) -> None:
    sender = AccountState(0, 0, 10**18, 0, {ROUTER: allowance})
    assert _approved(REQUEST, sender) == ({ROUTER} if has_it else set())
