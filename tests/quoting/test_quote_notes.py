"""What a quote says beside its figures."""

from decimal import Decimal

import pytest

from quietswap.rules.quotes.scoring import UsdRates
from quietswap.rules.tokens.token import WETH
from quietswap.service.quoting.swap import notes
from tests.quoting.test_scoring import candidate

RATES = UsdRates(Decimal(3000), Decimal(1), Decimal(1))


@pytest.mark.parametrize("weighed", [True, False])
def test_a_quote_says_whether_gas_was_weighed(weighed: bool) -> None:
    said = notes(candidate("a", 10, 10), WETH, RATES, RATES, weighed=weighed)
    assert any(note.startswith("gas was not weighed") for note in said) is not weighed
