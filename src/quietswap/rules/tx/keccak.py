"""Keccak-256 and signer recovery: the only module that imports their libraries."""

from coincurve import PublicKey
from sha3 import keccak_256


def keccak256(data: bytes) -> bytes:
    """Return the 32-byte Keccak-256 digest Ethereum uses (not the later SHA3-256)."""
    digest: bytes = keccak_256(data).digest()
    return digest


def recover_signer(digest: bytes, r: int, s: int, y_parity: int) -> bytes:
    """Return the 20-byte address whose key signed `digest` (32 bytes).

    Raises ValueError if (r, s, y_parity) is not a point on the curve. The caller checks the ranges
    of r and s (EIP-2): `quietswap.rules.tx.signed`.
    """
    signature = r.to_bytes(32) + s.to_bytes(32) + bytes([y_parity])
    try:
        key = PublicKey.from_signature_and_message(signature, digest, hasher=None)
    except Exception as error:  # libsecp256k1 raises a bare Exception
        raise ValueError("the signature is not a point on secp256k1") from error
    return keccak256(key.format(compressed=False)[1:])[12:]
