"""The EIP-1559 transaction to sign (https://eips.ethereum.org/EIPS/eip-1559)."""

import hashlib
from dataclasses import dataclass

from quietswap.domain.address import Address

MAINNET = 1
TYPE_2 = 2
GAS_LIMIT_CAP = 16_777_216
"""2**24, the highest gas limit of a transaction (https://eips.ethereum.org/EIPS/eip-7825)."""


@dataclass(frozen=True, slots=True)
class UnsignedTransaction:
    """All amounts in wei. `nonce` is None in wrap quotes: the client sets it.

    The priority fee is always 0, because the transaction goes to a private relay.
    """

    to: Address
    data: bytes
    value: int
    gas_limit: int
    max_fee_per_gas: int
    nonce: int | None

    def fingerprint(self) -> str:
        """Return a digest of every field except the nonce, to find the issued quote."""
        parts = (self.to, self.data.hex(), self.value, self.gas_limit, self.max_fee_per_gas)
        return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()
