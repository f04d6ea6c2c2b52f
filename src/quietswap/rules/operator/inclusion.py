"""How orders got into blocks: what they waited, offered and met, by endpoint, relay and builder.

It is of all clients, and nothing of it is of a single wallet: fewer than five orders have no group
of their own, and no distribution of what their blocks say.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quietswap.rules.chain.block_facts import fee_bps
from quietswap.rules.chain.builders import UNKNOWN as UNKNOWN_BUILDER
from quietswap.rules.operator.figures import tip_class
from quietswap.rules.orders.statistics import Percentiles, percentiles
from quietswap.rules.trial.next_block import SLOT_S

LEAST_ORDERS = 20
"""Fewer orders in a block say nothing of the next one."""
LEAST_OF_GROUP = 5
"""A smaller group is counted as `OTHER`: it could be one wallet's."""
OTHER = "other"
WITHIN = 1, 2, 5, 25
"""Numbers of blocks for which a share is given; 25 is what a bundle of a relay lives for."""
_WITHOUT_TIP = tip_class(0), tip_class(None)
UNKNOWN = "not known yet: fewer than 20 mined orders were counted"


class MinedOrder(NamedTuple):
    """One order in a block, `waited` blocks after a relay took it.

    `fee_bps`: the block's base fee of the order's fee cap, `fullness_bps`: the gas used of the gas
    limit of its block, both in basis points and None where they are not known.
    """

    block_number: int
    waited: int
    endpoint: str
    relay: str
    tip: str
    builder: str
    fee_bps: int | None = None
    fullness_bps: int | None = None


class StoredInclusion(NamedTuple):
    """A mined order as it is stored; fees in wei as text. `head`: the block of its acceptance."""

    block_number: int
    head: int
    endpoint: str
    tier: int
    priority_fee: str | None
    fee_cap: str | None
    base_fee: str | None
    fullness_bps: int | None
    builder: str | None


def mined_order(row: StoredInclusion, relay: str) -> MinedOrder:
    """Return the order of a row. The block after its acceptance is the first one it waits for."""
    has_fee = row.base_fee is not None
    return MinedOrder(
        row.block_number,
        max(row.block_number - row.head, 1),
        row.endpoint,
        relay,
        tip_class(None if row.priority_fee is None else int(row.priority_fee)),
        row.builder or UNKNOWN_BUILDER,
        fee_bps(int(row.base_fee or 0), int(row.fee_cap or 0)) if has_fee else None,
        row.fullness_bps,
    )


class Group(NamedTuple):
    """The orders of one name, and of one class of the priority fee where it is not empty.

    `waited` in blocks, `fees` and `fullness` in basis points as in `MinedOrder`.
    """

    name: str
    tip: str
    waited: Counter[int]
    fees: Counter[int]
    fullness: Counter[int]

    @property
    def orders(self) -> int:
        return self.waited.total()

    def within(self, blocks: int) -> int:
        """Return how many waited for at most so many blocks."""
        return sum(n for value, n in self.waited.items() if value <= blocks)


@dataclass(frozen=True, slots=True)
class InclusionReport:
    """From `since_ms` to `until_ms`, Unix ms. `expired` orders were in no block in time.

    `without_tip` are the orders that offer none, and those of which it is not known. `blocks` are
    the first and the last block with an order; None without one. `is_complete` is
    False if there were more orders than were counted: then only the newest.
    """

    since_ms: int
    until_ms: int
    is_complete: bool
    total: Group
    without_tip: Group
    endpoints: Sequence[Group]
    relays: Sequence[Group]
    builders: Sequence[Group]
    expired: int
    blocks: tuple[int, int] | None

    @property
    def usual_blocks(self) -> Percentiles | None:
        """Return what orders without a tip waited; None of fewer than `LEAST_ORDERS`."""
        blocks = percentiles(self.without_tip.waited)
        return blocks if blocks is not None and blocks.count >= LEAST_ORDERS else None

    @property
    def usual_wait(self) -> str:
        """Return within how many blocks half of the orders without a tip were included, and nine
        of ten.
        """
        blocks = self.usual_blocks
        if blocks is None:
            return UNKNOWN
        text = f"usually within {_blocks(blocks.p50)}, nine of ten within {_blocks(blocks.p90)}"
        orders = blocks.count + self.expired
        return f"{text}; {self.expired} of {orders} orders expired" if self.expired else text


def inclusion_report(
    orders: Sequence[MinedOrder],
    expired: int,
    since_ms: int,
    until_ms: int,
    *,
    is_complete: bool = True,
) -> InclusionReport:
    numbers = [order.block_number for order in orders]
    return InclusionReport(
        since_ms,
        until_ms,
        is_complete,
        _group("", "", orders),
        _group("", "", [order for order in orders if order.tip in _WITHOUT_TIP]),
        _groups(orders, lambda order: (order.endpoint, order.tip)),
        _groups(orders, lambda order: (order.relay, "")),
        _groups(orders, lambda order: (order.builder, "")),
        expired,
        (min(numbers), max(numbers)) if numbers else None,
    )


def _groups(
    orders: Iterable[MinedOrder], key: Callable[[MinedOrder], tuple[str, str]]
) -> tuple[Group, ...]:
    by_key: defaultdict[tuple[str, str], list[MinedOrder]] = defaultdict(list)
    for order in orders:
        by_key[key(order)].append(order)
    groups, rest = list[Group](), list[MinedOrder]()
    for (name, tip), members in sorted(by_key.items()):
        if len(members) < LEAST_OF_GROUP:
            rest += members
        else:
            groups.append(_group(name, tip, members))
    if rest:
        groups.append(_group(OTHER, key(rest[0])[1] and OTHER, rest))
    return tuple(groups)


def _group(name: str, tip: str, orders: Sequence[MinedOrder]) -> Group:
    fees = [order.fee_bps for order in orders if order.fee_bps is not None]
    fullness = [order.fullness_bps for order in orders if order.fullness_bps is not None]
    waited = Counter(order.waited for order in orders)
    return Group(name, tip, waited, _of_several(fees), _of_several(fullness))


def _of_several(values: Sequence[int]) -> Counter[int]:
    """Return the values, none of fewer than five: they would show the blocks of these orders."""
    return Counter(values if len(values) >= LEAST_OF_GROUP else ())


def _blocks(count: int) -> str:
    return f"{count} {'block' if count == 1 else 'blocks'} ({count * SLOT_S} seconds)"
