"""Why a call reverted, in words fit for a log and an answer."""

from quietswap.adapters.erc20 import read_uint

_ERROR = bytes.fromhex("08c379a0")
_PANIC = bytes.fromhex("4e487b71")
_LONGEST = 120


def reason(data: bytes, message: str = "") -> str:
    """Return the reason in revert `data`, else the node's `message`, at most 120 characters.

    `Error(string)` and `Panic(uint256)` are Solidity's own
    (https://docs.soliditylang.org/en/latest/control-structures.html#revert); any other selector is
    named as the custom error it is. The text comes from a stranger's contract: only printable ASCII
    passes.
    """
    if data[:4] == _ERROR and (text := _printable(_string(data[4:]))):
        return text
    if data[:4] == _PANIC and (code := read_uint(data[4:])) is not None:
        return f"panic 0x{code:02x}"[:_LONGEST]
    if len(data) >= 4 and data[:4] != _ERROR:
        return f"custom error 0x{data[:4].hex()}"
    return _printable(message.encode()) or "reverts without a reason"


def _string(data: bytes) -> bytes:
    length = int.from_bytes(data[32:64])
    return data[64 : 64 + min(length, _LONGEST)]


def _printable(text: bytes) -> str:
    shown = text.decode("ascii", "ignore")
    return "".join(c for c in shown if c.isprintable())[:_LONGEST].strip()
