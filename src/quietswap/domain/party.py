"""Who has a share of what is scarce: vendors' budgets, the node, streams, memory for bodies.

Only an operator makes clients. But anybody makes sessions of the web page, and a client makes as
many RPC URLs as it likes. So shares belong to clients, and all visitors of the page together count
as one client. Among themselves they share by the address at which their session began.
"""

import hashlib
from dataclasses import dataclass

WEB_SESSION_PREFIX = "web_"
"""Of the ids of clients and keys that are anonymous visitors of the web page."""
VISITORS = "web"
"""Name of the party of all visitors."""
_GROUP_DIGITS = 4
"""Hexadecimal digits in the id of a visitor that its address determines."""


@dataclass(frozen=True, slots=True)
class Party:
    """A client, or all visitors; `member` is the client itself, or the visitors of one address."""

    name: str
    member: str

    @property
    def is_visitors(self) -> bool:
        """Return whether it is the party of all visitors."""
        return self.name == VISITORS


def is_visitor(client_id: str) -> bool:
    """Return whether a client, or its key of the same id, is a session of the web page."""
    return client_id.startswith(WEB_SESSION_PREFIX)


def party_of(client_id: str) -> Party:
    """Return the party of a client."""
    if is_visitor(client_id):
        return Party(VISITORS, client_id[: len(WEB_SESSION_PREFIX) + _GROUP_DIGITS])
    return Party(client_id, client_id)


def visitor_id(address: str, salt: bytes, unique: str) -> str:
    """Return the client id of a session that begins at a client address.

    It is logged, so it does not tell the address: the hash is short and has a secret salt.
    """
    group = hashlib.blake2b(address.encode(), digest_size=_GROUP_DIGITS // 2, key=salt).hexdigest()
    return f"{WEB_SESSION_PREFIX}{group}{unique}"
