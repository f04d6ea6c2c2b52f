"""Who pays the wallet, and what its transfer loses."""

import pytest

from quietswap.rules.quotes.transfer_fee_measurement import lost
from quietswap.rules.routers.known_pools import v2_pairs
from quietswap.rules.safety.calldata import payer
from quietswap.rules.vendors import oneinch, velora
from tests.routers.decoding import ALL, ROUTER_OF, SWAP, USDC
from tests.routers.router_calldata import WRITTEN
from tests.vendors.oneinch import unoswap


@pytest.mark.parametrize(
    ("part", "held", "back", "collected", "gone"),
    [
        (100, 150, 150, 100, 0),
        (100, 150, 130, 100, 20),
        (100, 150, 150, 99, 1),
        (100, 150, 140, 80, 20),
        (100, 150, 160, 100, 0),
    ],
)
def test_the_larger_loss_counts(part: int, held: int, back: int, collected: int, gone: int) -> None:
    assert lost(part, held, back, collected) == gone


def test_the_router_pays_but_for_a_settler_and_a_pool() -> None:
    payers = {
        method: payer(ROUTER_OF[method], encode(SWAP), USDC) for method, encode in ALL.items()
    }
    others = {method: paid for method, paid in payers.items() if paid != ROUTER_OF[method]}
    terms = {method: case.reads(SWAP) for method, case in WRITTEN.items()}
    paid = {method: read.get("settler") or read.get("pool") for method, read in terms.items()}
    assert others == {method: payer for method, payer in paid.items() if payer}


def test_unoswap_is_paid_by_its_pool() -> None:
    assert payer(oneinch.ROUTER, unoswap(SWAP), USDC) in v2_pairs(SWAP.sell, SWAP.buy)


def test_of_what_cannot_be_read_the_router_is_taken() -> None:
    assert payer(velora.ROUTER, b"nothing", USDC) == velora.ROUTER
