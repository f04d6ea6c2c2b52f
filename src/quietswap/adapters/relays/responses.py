"""Meaning of a relay's HTTP response to `eth_sendRawTransaction`.

MEV Blocker does not publish its error texts. The texts are those of the nodes behind such relays:
go-ethereum's core/error.go, core/txpool/errors.go and core/txpool/validation.go, the codes of
https://ethereum.github.io/execution-apis and those of Flashbots' rpc-endpoint. An unknown text is
SILENT: it proves neither that the relay has the transaction nor that it does not.
"""

import re

import msgspec

from quietswap.adapters.http import HttpReply
from quietswap.domain.order.relay_response import RelayOutcome, RelayResponse

SILENT = RelayResponse(RelayOutcome.UNKNOWN, "an answer that says nothing certain")
_ACCEPTED = RelayResponse(RelayOutcome.ACCEPTED)
_HASH = re.compile(r"0x[0-9a-f]{64}")
_TITAN_ACCEPTED = 200
"""Titan returns the number 200 instead of the hash (https://docs.titanbuilder.xyz)."""

_REVERTED = 3
_CODES = {
    1000: RelayResponse(RelayOutcome.ALREADY_KNOWN, "already known"),
    _REVERTED: RelayResponse(RelayOutcome.WOULD_REVERT, "execution reverted"),
    -38010: RelayResponse(RelayOutcome.NONCE_USED, "nonce too low"),
    -38013: RelayResponse(RelayOutcome.INVALID, "the gas limit is below the intrinsic gas"),
    -38014: RelayResponse(RelayOutcome.INSUFFICIENT_FUNDS, "insufficient funds"),
    -38015: RelayResponse(RelayOutcome.INVALID, "the gas limit exceeds the block's"),
}
_TEXTS: tuple[tuple[str, RelayOutcome, str], ...] = (
    (r"execution reverted", RelayOutcome.WOULD_REVERT, "execution reverted"),
    (r"already known", RelayOutcome.ALREADY_KNOWN, "already known"),
    (r"\bknown transaction", RelayOutcome.ALREADY_KNOWN, "already known"),
    (r"already imported", RelayOutcome.ALREADY_KNOWN, "already known"),
    (r"replacement transaction underpriced", RelayOutcome.CONFLICT, "it has the nonce"),
    (r"nonce too low", RelayOutcome.NONCE_USED, "nonce too low"),
    (r"insufficient funds", RelayOutcome.INSUFFICIENT_FUNDS, "insufficient funds"),
    (r"in-flight transaction limit", RelayOutcome.BUSY, "one transaction at a time"),
    (r"txpool is full", RelayOutcome.BUSY, "its pool is full"),
    (r"simulation (error|failed)", RelayOutcome.WOULD_REVERT, "simulation failed"),
    (r"intrinsic gas", RelayOutcome.INVALID, "the gas limit is below the intrinsic gas"),
    (r"exceeds block gas limit", RelayOutcome.INVALID, "the gas limit exceeds the block's"),
    (r"gas limit too high", RelayOutcome.INVALID, "the gas limit is above 2^24"),
    (r"gas tip cap 0", RelayOutcome.INVALID, "it does not accept a priority fee of zero"),
    (r"underpriced", RelayOutcome.INVALID, "it is underpriced"),
    (r"(tip above|higher than max) fee", RelayOutcome.INVALID, "the tip is above the fee cap"),
    (r"invalid sender", RelayOutcome.INVALID, "it cannot recover the sender"),
    (r"invalid chain", RelayOutcome.INVALID, "it serves another chain"),
    (r"only replay-protected", RelayOutcome.INVALID, "it requires a replay-protected transaction"),
    (r"transaction type not supported", RelayOutcome.INVALID, "it does not accept type 2"),
    (r"\brlp\b|could not decode|failed to decode", RelayOutcome.INVALID, "it cannot decode it"),
)
"""The first match counts. A revert comes first, because the contract chooses its text, which may be
"already known"."""
_COMPILED = tuple((re.compile(p), RelayResponse(outcome, why)) for p, outcome, why in _TEXTS)


class _ErrorWire(msgspec.Struct, frozen=True):
    message: str = ""
    code: int = 0


class _ReplyWire(msgspec.Struct, frozen=True):
    result: str | int | None = None
    error: _ErrorWire | None = None


def classify_response(reply: HttpReply) -> RelayResponse:
    """Return the meaning of a complete HTTP response.

    An acceptance requires status 200. A refusal is JSON under 200 or any 4xx except 429.
    """
    if reply.status == 429 or not (reply.status == 200 or 400 <= reply.status < 500):
        return SILENT
    try:
        wire = msgspec.json.decode(reply.body, type=_ReplyWire)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return SILENT
    if wire.error is not None:
        return SILENT if wire.result is not None else _refusal(wire.error)
    return _ACCEPTED if reply.status == 200 and _is_acceptance(wire.result) else SILENT


def _is_acceptance(result: str | int | None) -> bool:
    if isinstance(result, str):
        return _HASH.fullmatch(result.lower()) is not None
    return result == _TITAN_ACCEPTED


def _refusal(error: _ErrorWire) -> RelayResponse:
    if error.code == _REVERTED:
        return _CODES[_REVERTED]
    text = error.message.lower()
    for pattern, answer in _COMPILED:
        if pattern.search(text):
            return answer
    return _CODES.get(error.code, SILENT)
