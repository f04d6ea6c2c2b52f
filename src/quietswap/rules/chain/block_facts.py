"""What a block says about how hard it was to get into it."""

from dataclasses import dataclass

from quietswap.rules.amounts import BPS
from quietswap.rules.chain.builders import builder_of


@dataclass(frozen=True, slots=True)
class BlockFacts:
    """`base_fee` in wei, gas used of the gas limit in basis points, and the builder's name."""

    base_fee: int
    fullness_bps: int
    builder: str


def fee_bps(base_fee: int, fee_cap: int) -> int | None:
    """Return a base fee against a fee cap in basis points, rounded down; None for a cap of 0."""
    return base_fee * BPS // fee_cap if fee_cap else None


def block_facts(
    base_fee: int, gas_used: int, gas_limit: int, extra_data: bytes, fee_recipient: str | None
) -> BlockFacts | None:
    """Return the facts of a header; None for gas that no block has."""
    if not 0 < gas_limit >= gas_used:
        return None
    return BlockFacts(base_fee, gas_used * BPS // gas_limit, builder_of(extra_data, fee_recipient))
