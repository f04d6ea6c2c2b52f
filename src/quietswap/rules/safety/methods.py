"""Router methods that are proven to enforce the terms, with the check that enforces them.

The rows stand in the record of each vendor, `rules/vendors/NAME.py`.

A row is a short proof. `enforced_by` names the check in the router's code. `refuses` names what
is refused because the check would not hold, or because another approved token could be taken.
`source` is where the code was read, `confidence` how certain it is that this code runs on
mainnet. A method without a row is refused; a row without a layout gives the reason.
docs/security.md is generated from this table.
"""

from quietswap.rules.routers.method import Measure, RouterMethod
from quietswap.rules.tx.address import Address
from quietswap.rules.vendors import VENDORS

METHODS: dict[tuple[Address, str], RouterMethod] = {
    (vendor.router, row.selector): row for vendor in VENDORS.values() for row in vendor.methods
}
"""The table, by router and selector (8 hex digits)."""
ROUTERS = {vendor.router: vendor.router_name for vendor in VENDORS.values()}
"""The routers that have rows: address and name. The clients' pin: nothing else is called."""


def measure(router: Address, data: bytes) -> Measure | None:
    """Return the balance the router compares with the minimum in this call; None if unknown."""
    method = METHODS.get((router, data[:4].hex()))
    return None if method is None else method.measure
