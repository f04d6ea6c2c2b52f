"""The stand-in of each vendor, `vendors/NAME/stand_in.py`."""

from importlib import import_module

from quietswap.sandbox.vendors.quote_engine import VendorStandIn
from quietswap.vendors import OVER_HTTP

STAND_INS: dict[str, type[VendorStandIn]] = {
    name: import_module(f"quietswap.vendors.{name}.stand_in").StandIn for name in OVER_HTTP
}
"""By vendor."""
