"""The issued quotes a submission may have been signed from."""

from collections.abc import Sequence

from quietswap.domain.quote import IssuedQuote, QuoteKind
from quietswap.domain.signed_transaction import SignedTransaction
from quietswap.ports.stores import QuoteStore

NEAREST = 20
"""How many of the wallet's latest quotes a foreign transaction is compared with."""


async def candidates(
    quotes: QuoteStore, key_id: str, kind: QuoteKind, signed: SignedTransaction
) -> Sequence[IssuedQuote]:
    """Return quotes with this very transaction; failing that, the wallet's latest ones.

    The latter only serve to say what differs.
    """
    wallet = signed.sender
    exact = await quotes.by_fingerprint(key_id, wallet, kind, signed.params.fingerprint())
    return exact or await quotes.nearest(key_id, wallet, kind, NEAREST)
