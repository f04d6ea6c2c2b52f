"""A call that only this endpoint answers: a page asks through the wallet which RPC URL it uses.

The address is the end of keccak256("quietswap wallet rpc"), so no one has a key for it and no
contract can be deployed there. Another node answers `0x`.
"""

from collections.abc import Mapping
from typing import Any

CONNECTED_TO = "0x82928fd51ebc8f9602fc6c19c2550c9ee7dc79f5"
"""`to` of the call, in lower case."""
CONNECTED_DATA = "0x8f167b9a"
"""`data` of the call: the selector of `walletRpcTokenId()`."""
_WORD = 32


def is_connection_check(params: list[Any]) -> bool:
    """Return whether the checked parameters of an eth_call are this call, at any block."""
    call: Mapping[str, Any] = params[0]
    data = call.get("data") or call.get("input") or ""
    return str(call.get("to")).lower() == CONNECTED_TO and data.lower() == CONNECTED_DATA


def connected_answer(token_id: str) -> str:
    """Return the token's id as the ABI encoding of one string, in hex."""
    text = token_id.encode()
    padded = text.ljust(-(-len(text) // _WORD) * _WORD, b"\0")
    return "0x" + (_WORD.to_bytes(_WORD) + len(text).to_bytes(_WORD) + padded).hex()
