"""Whatever happens to chain, node, relay and process: in the end orders say what the chain says."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quietswap.rules.orders.order import BY_NONCE, WITHOUT_BLOCK, Order, OrderStatus
from quietswap.service.relays.answers import RelayOutcome
from tests.orders.tracking import RIVAL, Scene, open_scene
from tests.scripted_chain import Tx

ORDERS = 4
METHODS = ["head", "block", "block_by_hash", "receipts", "nonces", "finalized_number"]
which = st.integers(0, ORDERS - 1)

happening = st.one_of(
    st.tuples(st.just("mine"), st.integers(1, 4)),
    st.tuples(st.just("mine"), st.sampled_from([30, 80, 160])),
    st.tuples(st.just("include"), which),
    st.tuples(st.just("revert"), which),
    st.tuples(st.just("replace"), which),
    st.tuples(st.just("reorg"), st.integers(1, 6)),
    st.tuples(st.just("fail"), st.sampled_from(METHODS)),
    st.tuples(st.just("heal"), st.just(0)),
    st.tuples(st.just("lag"), st.integers(0, 4)),
    st.tuples(st.just("hide"), which),
    st.tuples(st.just("crash"), st.just(0)),
    st.tuples(st.just("relay"), st.sampled_from(RelayOutcome)),
)


class Story:
    """Carries out happenings; a transaction a reorganisation drops may be included again."""

    def __init__(self, scene: Scene, orders: list[Order]) -> None:
        self.scene = scene
        self.orders = orders

    def is_decided(self, order: Order) -> bool:
        """Whether the nonce is used on the canonical chain."""
        key = (order.wallet, order.nonce)
        chain = self.scene.chain.blocks
        return any((t.sender, t.nonce) == key for b in chain for t in b.transactions)

    async def happens(self, what: str, value: Any) -> None:
        chain = self.scene.chain
        if what in ("include", "revert", "replace"):
            order = self.orders[value]
            change = RIVAL if what == "replace" else {"succeeded": what == "include"}
            chain.mine(*([] if self.is_decided(order) else [Tx.of(order, **change)]))
        elif what == "mine":
            chain.mine(blocks=value)
        elif what == "reorg":
            chain.reorg(value, length=value + 1)
        elif what == "fail":
            chain.failing = {value}
        elif what == "lag":
            chain.lag = value
        elif what == "hide":
            chain.hidden.add(self.orders[value].tx_hash)
        elif what == "relay":
            self.scene.relay.answers(value)
        elif what == "heal":
            self.heal()
        elif what == "crash":
            await self.crash()
        await self.scene.look()

    def heal(self) -> None:
        chain = self.scene.chain
        chain.failing, chain.hidden, chain.lag = set(), set(), 0

    async def crash(self) -> None:
        self.heal()
        await self.scene.restart()


def truth(scene: Scene, order: Order) -> str:
    """Return what the canonical chain says about an order."""
    for block in scene.chain.blocks:
        for transaction in block.transactions:
            if transaction.hash == order.tx_hash:
                succeeded = scene.chain.succeeded(block.hash, order.tx_hash)
                return "confirmed" if succeeded else "failed"
            if (transaction.sender, transaction.nonce) == (order.wallet, order.nonce):
                return "replaced"
    return "open"


def agrees(order: Order, chain_says: str) -> bool:
    """Return whether the order's status is a true account of what the chain says."""
    if chain_says in ("confirmed", "failed"):
        return order.status == chain_says and order.inclusion is not None
    if order.inclusion is not None:
        return False
    code = order.failure and order.failure.code
    if code in WITHOUT_BLOCK:
        return order.status in (OrderStatus.FAILED, OrderStatus.CANCELLED)
    if chain_says == "replaced":
        return code in BY_NONCE
    return order.status is OrderStatus.MINING


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(happenings=st.lists(happening, max_size=40))
async def test_in_the_end_every_order_says_what_the_chain_says(
    happenings: list[tuple[str, Any]],
) -> None:
    async with open_scene() as scene:
        await scene.mine(blocks=8)
        orders = [await scene.order(OrderStatus.PENDING) for _ in range(ORDERS)]
        story = Story(scene, orders)
        for what, value in happenings:
            await story.happens(what, value)
        story.heal()
        scene.relay.answers(RelayOutcome.ALREADY_KNOWN)
        await scene.mine(blocks=20)
        for order in orders:
            now = await scene.now(order)
            assert agrees(now, truth(scene, order)), (truth(scene, order), now)
