"""Calldata of the mainnet routers, as `tests/vendors/NAME.py` encodes it with eth-abi."""

from importlib import import_module

from quietswap.rules.tx.address import Address
from quietswap.rules.vendors import VENDORS
from tests.vendors.router import Encoder, RouterCase, Written

ROUTERS: dict[str, RouterCase] = {
    name: import_module(f"tests.vendors.{name}").ROUTER for name in VENDORS
}
_OWNERS = {VENDORS[name].router: name for name in reversed(VENDORS)}.values()
OWN = {name: case for name, case in ROUTERS.items() if name in _OWNERS}
"""Each router once, by its first vendor."""

OTHERS: dict[str, Written] = {
    method: written for case in OWN.values() for method, written in case.others.items()
}
WRITTEN = {name: case.method for name, case in ROUTERS.items()} | OTHERS
"""By source, the method its API answers with as a rule; by method what it may answer with, too."""
ENCODERS = {name: case.method.encode for name, case in ROUTERS.items()}
OTHER_METHODS = {method: written.encode for method, written in OTHERS.items()}
APART: dict[str, Encoder] = {n: encode for case in OWN.values() for n, encode in case.apart.items()}
REFUSED_METHODS: dict[str, Encoder] = {
    method: encode for case in OWN.values() for method, encode in case.refused.items()
}
ROUTER_OF: dict[str, Address] = {
    method: VENDORS[name].router
    for name, case in ROUTERS.items()
    for method in (name, *case.others, *case.apart, *case.refused)
}
"""By source or method: the mainnet router."""
