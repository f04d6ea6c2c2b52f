"""The records of the vendors, `rules/vendors/NAME.py`, and what is derived from them."""

import pytest

from quietswap.rules.tx import address
from quietswap.rules.vendors import OVER_HTTP, VENDORS
from quietswap.sandbox.vendors.stand_in import stand_ins


@pytest.mark.parametrize("source", VENDORS)
def test_a_vendor_has_the_name_of_its_folder(source: str) -> None:
    assert VENDORS[source].name == source


@pytest.mark.parametrize("source", VENDORS)
def test_the_router_of_a_record_has_its_checksum(source: str) -> None:
    assert address.parse(VENDORS[source].router) == VENDORS[source].router


def test_each_vendor_has_its_own_place_in_the_order_of_preference() -> None:
    places = [vendor.place for vendor in VENDORS.values()]
    assert places == sorted(set(places))


@pytest.mark.parametrize("source", OVER_HTTP)
def test_a_stand_in_has_an_attack_for_each_fault_of_its_record(source: str) -> None:
    elsewhere = {"spender_differs", "settlers_removed"}
    attacks = {*VENDORS[source].faults} - elsewhere | {"drain", "lying_executor"}
    message = "`faults` of the record and `attacks` of the stand-in name the same"
    assert stand_ins()[source].attacks.keys() == attacks, message
