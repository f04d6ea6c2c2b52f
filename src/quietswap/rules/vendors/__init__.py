"""The vendors, one record each: `NAME.py` with `VENDOR`.

The module of the same name in `service/sources` asks the vendor, and that in `sandbox/vendors` is
its stand-in.
"""

from importlib import import_module
from pkgutil import iter_modules

from quietswap.rules.vendors.vendor import Vendor

_found: list[Vendor] = [
    import_module(f"{__name__}.{module.name}").VENDOR
    for module in iter_modules(__path__)
    if module.name != "vendor"
]
VENDORS = {vendor.name: vendor for vendor in sorted(_found, key=lambda vendor: vendor.place)}
"""By name, in order of preference: without `quotes.sources` the first of them are asked."""
NEED_KEY = tuple(name for name, vendor in VENDORS.items() if vendor.needs_key)
OVER_HTTP = tuple(name for name, vendor in VENDORS.items() if vendor.url)
"""Those that are asked over HTTP, each with a stand-in."""
