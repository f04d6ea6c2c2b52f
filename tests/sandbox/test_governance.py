"""A vendor's administrative state follows its fault, from one answer to the next."""

from collections.abc import Sequence

import pytest

from quietswap.sandbox.chain.local_chain import CallReverted, LocalChain
from quietswap.sandbox.contracts import abi, addresses
from quietswap.sandbox.contracts.pools import USDC, WETH
from quietswap.sandbox.faults import ActiveFaults
from quietswap.sandbox.vendors import velora as velora_stand_in
from quietswap.sandbox.vendors.market import Market
from quietswap.sandbox.vendors.router_calldata import NOBODY
from quietswap.sandbox.vendors.stand_in import stand_ins

STATES = {("velora", "drain"): (velora_stand_in.THIEF, NOBODY)}


async def word(chain: LocalChain, call: Sequence[object]) -> int:
    """Return the storage word that a call of `governance` would write."""
    _, (address, key, _) = call  # type: ignore[misc]
    return int(await chain.rpc.call("eth_getStorageAt", address, key, "latest"), 16)


@pytest.mark.parametrize(("vendor", "fault"), STATES)
async def test_a_fault_changes_it_and_its_end_changes_it_back(
    chain: LocalChain, vendor: str, fault: str
) -> None:
    active_faults = ActiveFaults()
    desk = stand_ins()[vendor](Market(chain), active_faults)
    (call,) = stand_ins()[vendor].under(None)
    changed, honest = STATES[vendor, fault]
    for text, expected in ((None, honest), (fault, changed), ("lie:2.0", honest)):
        if text:
            active_faults.put(vendor, text)
        await desk.offer(WETH.address, USDC.address, 10**18)
        assert await word(chain, call) == int(expected, 16)


async def test_kyberswaps_owner_allows_a_token_only_under_the_fault(chain: LocalChain) -> None:
    data = abi.call("isWhitelist(address)", USDC.address)
    for fault, expected in ((None, 0), ("drain", 1), (None, 0)):
        await chain.rpc.batch(stand_ins()["kyberswap"].under(fault))
        assert abi.word(await chain.call(addresses.ROUTERS["kyberswap"], data), 0) == expected


async def test_a_method_that_velora_has_not_added_reverts(chain: LocalChain) -> None:
    data = abi.call(velora_stand_in.VELORA_FACET, USDC.address, addresses.THIEF, b"")
    with pytest.raises(CallReverted):
        await chain.call(addresses.ROUTERS["velora"], data, sender=addresses.PARTNER)


def test_a_vendor_without_keys_of_its_own_has_nothing_to_change() -> None:
    assert stand_ins()["sushi"].under("drain") == ()
