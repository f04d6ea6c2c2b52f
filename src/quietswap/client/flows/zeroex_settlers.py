"""0x's genuine Settler contracts, as 0x's Deployer names them at the caller's own node."""

from typing import Any

from quietswap.client import node_calls
from quietswap.client.errors.base import NodeRpcError
from quietswap.client.flows.effects import Flow, perform
from quietswap.domain.address import Address
from quietswap.domain.routers import settlers


def read_settlers() -> Flow[frozenset[Address]]:
    """Return 0x's current and previous Settler; empty if the Deployer names none."""
    owner = yield from _read(settlers.OWNER_OF)
    previous = yield from _read(settlers.PREV)
    return settlers.genuine(owner, previous)


def _read(data: bytes) -> Flow[bytes | None]:
    try:
        return (yield from perform(node_calls.view(settlers.DEPLOYER, "0x" + data.hex(), _octets)))
    except NodeRpcError:
        return None


def _octets(result: Any) -> bytes:
    return bytes.fromhex(str(result).removeprefix("0x"))
