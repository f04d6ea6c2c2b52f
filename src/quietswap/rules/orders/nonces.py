"""The nonce of the next transaction of a wallet, beside its orders with the same API key."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OwnNonces:
    """The nonces of one key's orders of one wallet, ascending.

    `live`: of open orders. `at_large`: of expired or refused orders that may still be mined.
    """

    live: tuple[int, ...] = ()
    at_large: tuple[int, ...] = ()


def next_nonce(latest: int, pending: int, own: OwnNonces) -> int:
    """Return the nonce to issue: after the chain, the public mempool and the live orders.

    An expired or refused order that may still be mined keeps its nonce: the next transaction uses
    the same one, so that at most one of the two can be mined. This holds even if a relay leaked the
    first one into the public mempool and the node counts it. Only live orders without a gap count:
    a transaction behind a gap could not be mined. The relay's count is never used: it is wrong
    after the relay has dropped a transaction.
    """
    nonce = next_free_nonce(latest, pending, own)
    contested = (n for n in own.at_large if latest <= n < nonce and n not in own.live)
    return min(contested, default=nonce)


def next_free_nonce(latest: int, pending: int, own: OwnNonces) -> int:
    """Return the first nonce after the chain, the public mempool and the client's live orders."""
    nonce = max(latest, pending)
    while nonce in own.live:
        nonce += 1
    return nonce
