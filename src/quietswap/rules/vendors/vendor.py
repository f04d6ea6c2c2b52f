"""The record of a vendor, `NAME.py` beside this file. Nothing in it does I/O."""

from dataclasses import dataclass

from quietswap.rules.routers.method import RouterMethod
from quietswap.rules.tx.address import Address


@dataclass(frozen=True, slots=True)
class RequestBudget:
    """Request limits of a vendor: sustained rate and burst `per_second`, and `per_day` or None."""

    per_second: float
    per_day: int | None = None


@dataclass(frozen=True, slots=True)
class VendorTerms:
    """What users read of a vendor: its key, request limit, and what it keeps of a trade."""

    key: str
    limit: str
    keeps: str
    as_of: str


@dataclass(frozen=True, slots=True)
class Vendor:
    """What the product knows of a vendor.

    `name` is the file's and the setting's, `title` what people read. `place` is its number in the
    order of preference, its own. `url` is the default base URL; None: it is not asked over HTTP,
    but read from the operator's node. `budget` is within the limits that the vendor publishes,
    which `terms` has for the documentation. `router` is the contract that wallets approve and call,
    `methods` the rows of `routers.methods`. `faults` are those of `sandbox/faults.py` that only
    some stand-ins have. `proprietary_amms` are its ids of pools whose price exists only in the
    block being built: a plain node's simulation of a route through one reverts.
    """

    name: str
    title: str
    place: int
    url: str | None
    router: Address
    router_name: str
    methods: tuple[RouterMethod, ...]
    budget: RequestBudget
    terms: VendorTerms
    needs_key: bool = False
    faults: tuple[str, ...] = ()
    proprietary_amms: tuple[str, ...] = ()


def refused(reason: str, methods: str) -> tuple[RouterMethod, ...]:
    """Return rows that are never offered: selectors and names, such as `56a75868 fillOrder, …`."""
    rows = (method.split() for method in methods.split(", "))
    return tuple(RouterMethod(selector, name, reason) for selector, name in rows)
