"""The router methods whose terms the router's own code enforces: one row per (router, selector).

A row is a short proof. `enforced_by` names the check in the router's code. `refuses` names what is
refused because the check would not hold, or because another approved token could be taken. `source`
is where the code was read, `confidence` how certain it is that this code runs on mainnet. A method
without a row is refused; a row without a layout gives the reason. docs/security.md is generated
from this table.
"""

from quietswap.domain.address import Address
from quietswap.domain.routers.accepted_methods import BOUND
from quietswap.domain.routers.method_row import Measure, RouterMethod
from quietswap.domain.routers.refused_methods import REFUSED, UNPROVEN

METHODS: dict[tuple[Address, str], RouterMethod] = {
    (row.router, row.selector): row for row in (*BOUND, *UNPROVEN, *REFUSED)
}
"""The table, by router and selector (8 hex digits)."""


def is_unproven(router: Address, data: bytes) -> bool:
    """Return whether the terms of this call are readable but not proven."""
    method = METHODS.get((router, data[:4].hex()))
    return method is not None and method.layout is not None and not method.bound


def measure(router: Address, data: bytes) -> Measure | None:
    """Return the balance the router compares with the minimum in this call; None if unknown."""
    method = METHODS.get((router, data[:4].hex()))
    return None if method is None else method.measure
