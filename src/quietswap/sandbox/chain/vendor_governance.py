"""Administrative state of the vendors' contracts: which code and which targets they trust.

On mainnet the vendor changes it by a transaction. Here it is a word of storage.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from quietswap.domain.address import Address
from quietswap.sandbox.contracts import abi, addresses
from quietswap.sandbox.contracts.accounts import TREASURY
from quietswap.sandbox.contracts.storage_words import Call, entry, items, set_storage
from quietswap.sandbox.contracts.tokens import BY_ADDRESS
from quietswap.sandbox.faults.active_faults import ActiveFaults
from quietswap.sandbox.wire.rpc_client import SandboxRpcClient

NOBODY = Address("0x" + "00" * 20)
TAKER_SUBMITTED = 2
"""0x's feature number of Settlers that the taker's transaction calls."""
GENUINE = (addresses.SETTLER_BEFORE, addresses.SETTLER)
FAULTS = frozenset({"drain", "new_implementation", "settlers_removed"})
"""The faults that need the vendor's administrator keys on mainnet."""
VELORA_FACET = "swapAndTake(address,address,bytes)"
"""The method that the fault `drain` adds to Velora's router."""
_IMPLEMENTATION = 0x360894A13BA1A3210667C828492DB98DCA3E2076CC3735A920A3CA505D382BBC
_WHITELIST = _FACETS = _AUTHORIZED = 0
_INSTANCES = 1


@dataclass
class VendorGovernance:
    """Changes a vendor's contracts as its fault needs, and back when the fault ends."""

    vendor: str
    rpc: SandboxRpcClient
    board: ActiveFaults
    _shown: str | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def settle(self) -> None:
        """Apply the state that the current fault needs."""
        async with self._lock:
            kind = self.board.kind(self.vendor)
            needed = kind if kind in FAULTS else None
            if needed != self._shown:
                await self.rpc.batch(under(self.vendor, needed))
                self._shown = needed


def genesis() -> Iterator[Call]:
    """Yield the calls that write the state of honest vendors."""
    yield openocean_runs(addresses.OPENOCEAN_EXCHANGE)
    yield from settlers(GENUINE)
    authority = entry(TAKER_SUBMITTED.to_bytes(32), _AUTHORIZED)
    yield set_storage(addresses.SETTLER_DEPLOYER, authority, int(TREASURY.address, 16))
    yield kyberswap_calls(addresses.EXECUTORS["kyberswap"], True)


def under(vendor: str, fault: str | None) -> list[Call]:
    """Return the calls that write the state of a vendor's contracts under this fault."""
    match vendor:
        case "kyberswap":
            return [kyberswap_calls(token, fault == "drain") for token in BY_ADDRESS]
        case "velora":
            facet = addresses.VELORA_THIEF if fault == "drain" else NOBODY
            return [velora_has(abi.selector(VELORA_FACET), facet)]
        case "openocean":
            thief = fault == "new_implementation"
            return [
                openocean_runs(addresses.OPENOCEAN_THIEF if thief else addresses.OPENOCEAN_EXCHANGE)
            ]
        case "zeroex":
            return list(settlers([] if fault == "settlers_removed" else GENUINE))
    return []


def openocean_runs(implementation: Address) -> Call:
    """Return the call that sets the implementation of OpenOcean's proxy (EIP-1967)."""
    return set_storage(addresses.OPENOCEAN, _IMPLEMENTATION, int(implementation, 16))


def settlers(instances: Sequence[Address]) -> Iterator[Call]:
    """Yield the calls that set 0x's Settlers for takers, the newest last."""
    listed = entry(TAKER_SUBMITTED.to_bytes(32), _INSTANCES)
    yield set_storage(addresses.SETTLER_DEPLOYER, listed, len(instances))
    for at, instance in enumerate(instances):
        yield set_storage(addresses.SETTLER_DEPLOYER, items(listed) + at, int(instance, 16))


def kyberswap_calls(target: Address, allowed: bool) -> Call:
    """Return the call that allows or denies a target to KyberSwap's `swapGeneric`."""
    slot = entry(bytes.fromhex(target[2:]), _WHITELIST)
    return set_storage(addresses.KYBERSWAP, slot, int(allowed))


def velora_has(selector: bytes, facet: Address) -> Call:
    """Return the call that sets the facet of a selector of Velora's router."""
    slot = entry(selector.ljust(32, b"\0"), _FACETS)
    return set_storage(addresses.VELORA, slot, int(facet, 16))
