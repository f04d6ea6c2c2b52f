"""The vendors, one folder each. Adapter and stand-in are imported only where they are used."""

from importlib import import_module
from pkgutil import iter_modules

from quietswap.vendors.vendor import Vendor

_found: list[Vendor] = [
    import_module(f"{__name__}.{folder.name}").VENDOR
    for folder in iter_modules(__path__)
    if folder.ispkg
]
VENDORS = {vendor.name: vendor for vendor in sorted(_found, key=lambda vendor: vendor.place)}
"""By name, in order of preference: without `quotes.sources` the first of them are asked."""
NEED_KEY = tuple(name for name, vendor in VENDORS.items() if vendor.needs_key)
UNBINDABLE = tuple(name for name, vendor in VENDORS.items() if not vendor.can_be_bound)
"""Those that are asked only with `accept_unbound`, or by name in `quotes.sources`."""
OVER_HTTP = tuple(name for name, vendor in VENDORS.items() if vendor.url)
"""Those that are asked over HTTP, each with a stand-in."""
