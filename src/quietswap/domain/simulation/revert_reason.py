"""The reason of a revert as text for logs and responses."""

from quietswap.domain.untrusted_text import printable

_ERROR = bytes.fromhex("08c379a0")
_PANIC = bytes.fromhex("4e487b71")
_LONGEST = 120
NO_REASON = "reverts without a reason"


def reason(data: bytes, message: str = "") -> str:
    """Return the reason in revert `data`, else the node's `message`, at most 120 characters.

    Decodes `Error(string)` and `Panic(uint256)` of Solidity
    (https://docs.soliditylang.org/en/latest/control-structures.html#revert). Another selector is
    shown as a custom error. The contract is not trusted: only printable ASCII is returned.
    """
    if data[:4] == _ERROR and (text := printable(_string(data[4:]), _LONGEST)):
        return text
    if data[:4] == _PANIC and len(data) >= 36:
        return f"panic 0x{int.from_bytes(data[4:36]):02x}"[:_LONGEST]
    if len(data) >= 4 and data[:4] != _ERROR:
        return f"custom error 0x{data[:4].hex()}"
    return printable(message.encode(), _LONGEST) or NO_REASON


def _string(data: bytes) -> bytes:
    length = int.from_bytes(data[32:64])
    return data[64 : 64 + min(length, _LONGEST)]
