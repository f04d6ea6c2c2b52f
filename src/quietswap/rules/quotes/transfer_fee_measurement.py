"""The measurement of a fee on transfer that a router does not see if it measures its own
balance.

Such a router compares the amount that it received and then pays the wallet. A token's fee may
depend on the sender, so two transfers are simulated after the swap: from the payer to the wallet,
and from the wallet to an unknown address.
"""

from dataclasses import dataclass

from quietswap.rules.tokens.erc20 import BALANCE_OF
from quietswap.rules.tx.address import Address, to_bytes

_TRANSFER = bytes.fromhex("a9059cbb")

STEPS = 5
"""Number of calls of a probe."""


@dataclass(frozen=True, slots=True)
class TransferFeeProbe:
    """`payer` is the contract that pays the wallet; `part` is moved, in smallest units.

    `collector`: 20 random bytes. It is an address of this probe only, so it has no checksum.
    """

    wallet: Address
    payer: Address
    collector: bytes
    token: Address
    part: int

    def steps(self) -> tuple[tuple[Address, bytes], ...]:
        """Return target and calldata of each call; the wallet makes all calls, in this order.

        The payer must have the code of `forwarder`.
        """
        wallet = to_bytes(self.wallet)
        return (
            (self.token, _transfer(to_bytes(self.payer), self.part)),
            (self.payer, _transfer(wallet, self.part)),
            (self.token, BALANCE_OF + _word(wallet)),
            (self.token, _transfer(self.collector, self.part)),
            (self.token, BALANCE_OF + _word(self.collector)),
        )


def forwarder(token: Address) -> bytes:
    """Return code that forwards its calldata to `token`, and reverts if the token does.

    It replaces the payer's code, so that the token sees the same as in a swap: a sender with code
    that is not the transaction's sender. Nodes need not accept a transaction from a contract.
    """
    call = bytes.fromhex("365f5f375f5f365f5f73") + to_bytes(token) + bytes.fromhex("5af1")
    return call + bytes.fromhex("6026575f5ffd5b00")


def lost(part: int, held: int, back: int, collected: int) -> int:
    """Return the most that one of the two transfers of `part` lost, in smallest units; 0 for none.

    `held` is the wallet's balance before the probe, `back` its balance after the payer paid, and
    `collected` the balance of the collector.
    """
    return max(held - back, part - collected, 0)


def _transfer(to: bytes, amount: int) -> bytes:
    return _TRANSFER + _word(to) + amount.to_bytes(32)


def _word(address: bytes) -> bytes:
    return address.rjust(32, b"\0")
