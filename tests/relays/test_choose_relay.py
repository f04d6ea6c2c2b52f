"""Which relay a quote names, and that it promises only what that relay promises."""

from decimal import Decimal

import pytest

from quietswap.rules.relays import EndpointType, ShareMode
from quietswap.service.relays.choice import choose_relay, protect
from tests.scripted_relay import ScriptedRelay


class PlainRelay(ScriptedRelay):
    """A private relay that promises nothing but privacy."""

    name = "Plain Relay"
    pays_rebates = False

    def drops_reverts(self, kind: EndpointType) -> bool:
        return False


@pytest.mark.parametrize(
    ("first_up", "backup_up", "tier"),
    [(True, True, 2), (False, True, 4), (False, False, 2), (True, False, 2)],
)
def test_the_second_relay_is_named_only_while_the_first_is_down(
    first_up: bool, backup_up: bool, tier: int
) -> None:
    first, backup = ScriptedRelay(), PlainRelay()
    first.is_up, backup.is_up = first_up, backup_up
    assert choose_relay({2: first, 4: backup})[0] == tier


def test_without_a_second_relay_the_first_is_named_even_when_down() -> None:
    first = ScriptedRelay()
    first.is_up = False
    assert choose_relay({2: first})[0] == 2


@pytest.mark.parametrize("kind", list(EndpointType))
def test_a_quote_promises_what_its_relay_promises(kind: EndpointType) -> None:
    down = ScriptedRelay()
    rebate = Decimal("1.5")
    mev = protect({2: down}, kind, ShareMode.SHARE_SAFE, rebate)
    assert mev.drops_reverts is (kind is EndpointType.NOREVERTS)
    assert mev.expected_rebate_usd == (0 if kind is EndpointType.FULLPRIVACY else rebate)
    down.is_up = False
    plain = protect({2: down, 4: PlainRelay()}, kind, ShareMode.SHARE_SAFE, rebate)
    assert plain.tier == 4
    assert plain.drops_reverts is False
    assert plain.expected_rebate_usd == 0
    assert plain.metadata()["mevRelayMetadata"]["revertProtection"] is False


def test_a_wrap_quote_has_no_rebate_at_all() -> None:
    found = protect({2: ScriptedRelay()}, EndpointType.FULLPRIVACY, ShareMode.NONE, None)
    assert found.expected_rebate_usd is None
