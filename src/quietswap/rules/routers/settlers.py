"""The genuine 0x Settlers: those that 0x's own Deployer names at this moment.

0x replaces its Settler every few weeks, so no address can be pinned. The Deployer is an ERC-721 of
features: `ownerOf(feature)` is the current instance, `prev(feature)` the one before it, which stays
valid until the next change. Feature 2 is the taker-submitted Settler.
https://github.com/0xProject/0x-settler (README, src/deployer/Deployer.sol)
"""

from quietswap.rules.tx.address import Address, from_bytes

DEPLOYER = Address("0x00000000000004533Fe15556B1E086BB1A72cEae")
TAKER_SUBMITTED = 2
"""The feature whose Settler takes `execute`. 3 is meta-transactions, 4 intents, 5 bridges."""

OWNER_OF = bytes.fromhex("6352211e") + TAKER_SUBMITTED.to_bytes(32)
"""Calldata of `ownerOf(2)`. It reverts while 0x has paused the feature."""
PREV = bytes.fromhex("e2603dc2") + TAKER_SUBMITTED.to_bytes(32)
"""Calldata of `prev(2)`. It reverts when there is no earlier instance."""
NONE: frozenset[Address] = frozenset()


def genuine(owner: bytes | None, previous: bytes | None) -> frozenset[Address]:
    """Return the genuine Settlers from the results of `OWNER_OF` and `PREV`.

    An argument None stands for a call that reverted. Without a current Settler the result is empty:
    this is how 0x pauses. A result that is not one clean address word counts as a revert. `next(2)`
    and `deployInfo` prove nothing and are not read: the first is not deployed yet, the second also
    answers for removed instances.
    """
    current = _address(owner)
    if current is None:
        return NONE
    before = _address(previous)
    return frozenset({current} if before is None else {current, before})


def _address(word: bytes | None) -> Address | None:
    if word is None or len(word) != 32 or any(word[:12]) or not any(word):
        return None
    return from_bytes(word[12:])
