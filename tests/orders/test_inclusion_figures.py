"""What the tracker measures of orders that are mined and confirmed."""

from collections.abc import AsyncIterator

import pytest

from quietswap.rules.chain.block_facts import BlockFacts
from quietswap.rules.orders.order import OrderStatus
from quietswap.service import observe
from tests.orders.tracking import Scene, open_scene
from tests.scripted_chain import Tx

CONFIRMED = "quietswap_order_confirm_seconds"
SWAP = {"source": "kyberswap", "tier": "2"}
FIGURES = {
    CONFIRMED: {},
    "quietswap_order_inclusion_blocks": SWAP,
    "quietswap_order_inclusion_seconds": SWAP,
    "quietswap_order_delivered_bps": {"source": "kyberswap"},
}
BOUNDS = ("-200.0", "-100.0")


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with open_scene() as scene:
        yield scene


def measured() -> dict[str, tuple[float, float]]:
    """Return count and sum of each figure."""

    def value(name: str, labels: dict[str, str]) -> float:
        return observe.registry.get_sample_value(name, labels) or 0.0

    return {
        name: (value(f"{name}_count", labels), value(f"{name}_sum", labels))
        for name, labels in FIGURES.items()
    }


def below(bps: str) -> float:
    """Return how many orders delivered at most `bps` more than quoted."""
    labels = {"source": "kyberswap", "le": bps}
    return observe.registry.get_sample_value("quietswap_order_delivered_bps_bucket", labels) or 0.0


async def test_an_order_is_measured_once_it_is_mined_and_once_it_is_confirmed(
    scene: Scene,
) -> None:
    before, bounds = measured(), [below(bps) for bps in BOUNDS]
    began = scene.clock.now_ms()
    order = await scene.order(source="kyberswap", submitted_at_ms=began)
    moves = {order.buy_token.lower(): order.buy_amount * 99 // 100, order.sell_token.lower(): -1}
    await scene.mine()
    await scene.mine(Tx.of(order, movements=moves))
    mined_s = (scene.clock.now_ms() - began) / 1000
    assert await scene.status(order) is OrderStatus.MINING
    assert measured() == before
    await scene.mine()
    assert await scene.status(order) is OrderStatus.CONFIRMED
    confirmed_s = (scene.clock.now_ms() - began) / 1000
    await scene.mine(blocks=3)
    after = measured()
    gained = {
        name: tuple(late - early for late, early in zip(after[name], before[name], strict=True))
        for name in FIGURES
    }
    assert gained == {
        CONFIRMED: (1, confirmed_s),
        "quietswap_order_inclusion_blocks": (1, 2),
        "quietswap_order_inclusion_seconds": (1, mined_s),
        "quietswap_order_delivered_bps": (1, 0),  # a histogram of negative values has no sum
    }
    assert [below(bps) - was for bps, was in zip(BOUNDS, bounds, strict=True)] == [0, 1]


async def test_what_the_block_says_is_measured(scene: Scene) -> None:
    labels = {"tier": "2"}
    names = {
        "quietswap_order_builders_total": {"builder": "Titan"},
        "quietswap_order_base_fee_ratio_sum": labels,
        "quietswap_order_block_fullness_ratio_sum": labels,
    }

    def values() -> list[float]:
        return [observe.registry.get_sample_value(*each) or 0.0 for each in names.items()]

    before = values()
    order = await scene.order(submitted_at_ms=scene.clock.now_ms(), fee_cap=4)
    scene.chain.block_facts = BlockFacts(3, 5_000, "Titan")
    await scene.mine(Tx.of(order), blocks=3)
    scene.chain.block_facts = None
    unknown = await scene.order(submitted_at_ms=scene.clock.now_ms(), fee_cap=4)
    await scene.mine(Tx.of(unknown), blocks=3)
    gained = [late - early for late, early in zip(values(), before, strict=True)]
    assert gained == [1, 0.75, 0.5]


async def test_an_order_that_reverts_is_mined_and_not_confirmed(scene: Scene) -> None:
    before = measured()
    order = await scene.order(source="kyberswap", submitted_at_ms=scene.clock.now_ms())
    await scene.mine(Tx.of(order, succeeded=False), blocks=2)
    assert await scene.status(order) is OrderStatus.FAILED
    after = measured()
    assert {name: after[name][0] - before[name][0] for name in FIGURES} == {
        CONFIRMED: 0,
        "quietswap_order_inclusion_blocks": 1,
        "quietswap_order_inclusion_seconds": 1,
        "quietswap_order_delivered_bps": 0,
    }
