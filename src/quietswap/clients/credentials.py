"""New clients, keys and operators: secrets of 256 random bits, which are stored by their SHA-256.

Without `observe`, so that the commands that create them start quickly.
"""

import hashlib
import secrets

from quietswap.clients.client import ApiKey, Client, KeyScope
from quietswap.operator.operators import Operator


def new_client(name: str, now_ms: int) -> Client:
    """Return a client, an owner of orders and quotes."""
    return Client(f"client_{secrets.token_hex(8)}", name, now_ms)


def new_key(
    client_id: str,
    name: str,
    now_ms: int,
    scope: KeyScope = KeyScope.TRADE,
    expires_at_ms: int | None = None,
) -> tuple[ApiKey, str]:
    """Return a key of a client and its secret; the secret is shown once and never stored."""
    identity = f"key_{secrets.token_hex(8)}"
    key = ApiKey(identity, name, now_ms, None, client_id, scope, expires_at_ms)
    return key, f"qs_{secrets.token_hex(32)}"


def hash_secret(secret: str) -> bytes:
    """Return the stored hash. The secret has 256 random bits, so a plain hash is enough.

    The lookup time reveals nothing useful: an attacker cannot choose the first bytes of a hash.
    """
    return hashlib.sha256(secret.encode()).digest()


def new_operator(name: str, now_ms: int) -> tuple[Operator, str]:
    """Return an operator and the secret, which is shown once and never stored."""
    return Operator(f"opr_{secrets.token_hex(8)}", name, now_ms), f"qo_{secrets.token_hex(32)}"
