"""Pools whose address proves their code: their factory deploys nothing else.

A pool's address is keccak256(0xff, factory, salt, keccak256(creation code)), its last 20 bytes
(EIP-1014). The constants are the vendors' own, named in docs.uniswap.org and in the periphery
libraries; the hashes of Uniswap equal those of the npm packages `@uniswap/v2-core` and
`@uniswap/v3-core`.
"""

from dataclasses import dataclass
from functools import lru_cache

from quietswap.rules.tx.address import Address, from_bytes, to_bytes
from quietswap.rules.tx.keccak import keccak256


@dataclass(frozen=True, slots=True)
class Factory:
    """A factory: its name, its address and the hash of the pools' creation code."""

    name: str
    address: Address
    code_hash: bytes

    def made(self, salt: bytes) -> Address:
        """Return the address of the pool deployed with `salt` (32 bytes)."""
        image = b"\xff" + to_bytes(self.address) + salt + self.code_hash
        return from_bytes(keccak256(image)[12:])


V2_FACTORIES = (
    Factory(
        "Uniswap V2",
        Address("0x5C69bEe701ef814a2B6a3EDD4B1652CB9cc5aA6f"),
        bytes.fromhex("96e8ac4277198ff8b6f785478aa9a39f403cb768dd02cbee326c3e7da348845f"),
    ),
    Factory(
        "Sushi V2",
        Address("0xC0AEe478e3658e2610c5F7A4A2E1777cE9e4f2Ac"),
        bytes.fromhex("e18a34eb0e04b04f7a0ac29a6e80748dca96319b42c54d679cb821dca90c6303"),
    ),
)
V3_FACTORY = Factory(
    "Uniswap V3",
    Address("0x1F98431c8aD98523631AE4a59f267346ea31F984"),
    bytes.fromhex("e34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54"),
)
V3_FEES = (100, 500, 3000, 10_000)
"""Every fee tier the Uniswap V3 factory has enabled, in hundredths of a bps."""


@lru_cache(maxsize=1024)
def v2_pairs(one: Address, other: Address) -> frozenset[Address]:
    """Return the addresses of the two tokens' pairs at the factories of the V2 kind."""
    return frozenset(v2_pair(one, other, factory) for factory in V2_FACTORIES)


def v2_pair(one: Address, other: Address, factory: Factory = V2_FACTORIES[0]) -> Address:
    """Return the address of the two tokens' pair at a factory, by default Uniswap's."""
    low, high = sorted((to_bytes(one), to_bytes(other)))
    return factory.made(keccak256(low + high))


@lru_cache(maxsize=1024)
def v3_pools(one: Address, other: Address) -> frozenset[Address]:
    """Return the addresses of the two tokens' Uniswap V3 pools, one per fee tier."""
    return frozenset(v3_pool(one, other, fee) for fee in V3_FEES)


def v3_pool(one: Address, other: Address, fee: int) -> Address:
    """Return the address of the two tokens' Uniswap V3 pool of a fee tier."""
    low, high = sorted((to_bytes(one), to_bytes(other)))
    words = bytes(12) + low + bytes(12) + high
    return V3_FACTORY.made(keccak256(words + fee.to_bytes(32)))
