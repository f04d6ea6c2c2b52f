"""Meaning of a relay's HTTP response to `eth_sendRawTransaction`.

MEV Blocker does not publish its error texts. The texts are those of the nodes behind such relays:
go-ethereum's core/error.go, core/txpool/errors.go and core/txpool/validation.go, the codes of
https://ethereum.github.io/execution-apis, those of Flashbots' rpc-endpoint, and the words of
Nethermind (AcceptTxResult) and Besu (RpcErrorType). An unknown text is SILENT: it proves neither
that the relay has the transaction nor that it does not.
"""

import re
from dataclasses import replace

import msgspec

from quietswap.rules.chain import rpc_codes
from quietswap.rules.foreign_text import quoted
from quietswap.service.base.http_client import HttpReply
from quietswap.service.relays.answers import RelayOutcome, RelayResponse, words_of

SILENT = RelayResponse(RelayOutcome.UNKNOWN, "an answer without a known meaning", serves=False)
_UNCLEAR = replace(SILENT, serves=None)
"""An error without a known meaning: it may be about this transaction alone."""
_NOT_TAKEN = RelayResponse(RelayOutcome.NOT_TAKEN, "it takes no transactions now", serves=False)
_NOT_TAKEN_STATUSES = frozenset(
    (401, 402, 403, 404, 405, 407, 410, 415, 426, 429, 451, 521, 523, 525, 526, 530)
)
"""A gate before the relay answers so: a key, a path, a method, a limit, or Cloudflare without a
connection to it. After 502, 503, 504, 520, 522 and 524 the relay may have the bytes."""
_NOT_TAKEN_CODES = frozenset((
    rpc_codes.PARSE_ERROR, rpc_codes.INVALID_REQUEST, rpc_codes.METHOD_NOT_FOUND,
    rpc_codes.METHOD_NOT_SUPPORTED, rpc_codes.LIMIT_EXCEEDED, 429, -32029, -32016, -32007,
))  # fmt: skip
"""Of EIP-1474 and of providers: limits, a method that is missing or not allowed."""
_NOT_TAKEN_TEXT = re.compile(
    r"api.?key|unauthori[sz]ed|authenticat|forbidden|access denied|not whitelisted|rate.?limit"
    r"|too many requests|quota|capacity|credits|maintenance|unavailable for|method .*not"
    r"|txpool is full"
)
_OUR_FAULT = {
    "it does not accept a priority fee of zero",
    "it serves another chain",
    "it requires a replay-protected transaction",
    "it does not accept type 2",
}
"""Refusals of what every transaction of this service has: such a relay takes none of them."""
_LONGEST_WORDS = 120
_LONG_HEX = re.compile(r"(0x)?[0-9a-fA-F]{16,}")
_TAKEN = RelayResponse(RelayOutcome.ACCEPTED)
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
    (r"already ?known|already in pool", RelayOutcome.ALREADY_KNOWN, "already known"),
    (r"\bknown transaction|already imported", RelayOutcome.ALREADY_KNOWN, "already known"),
    (r"replacement.(transaction.)?underpriced", RelayOutcome.CONFLICT, "it has the nonce"),
    (r"replacement ?not ?allowed", RelayOutcome.CONFLICT, "it has the nonce"),
    (r"replace (existing|pending)", RelayOutcome.CONFLICT, "it has the nonce"),
    (r"fee ?too ?low ?to ?compete", RelayOutcome.CONFLICT, "it has the nonce"),
    (r"nonce (is )?too low|old ?nonce", RelayOutcome.NONCE_USED, "nonce too low"),
    (r"invalid nonce|wrong.*nonce", RelayOutcome.NONCE_USED, "nonce too low"),
    (r"nonce has already been used", RelayOutcome.NONCE_USED, "nonce too low"),
    (r"(insufficient ?|enough )funds", RelayOutcome.INSUFFICIENT_FUNDS, "insufficient funds"),
    (r"exceeds .*\bbalance", RelayOutcome.INSUFFICIENT_FUNDS, "insufficient funds"),
    (r"in-flight transaction limit", RelayOutcome.BUSY, "one transaction at a time"),
    (r"simulation (error|failed)", RelayOutcome.WOULD_REVERT, "simulation failed"),
    (r"floor data gas", RelayOutcome.INVALID, "the gas limit is below the floor of its calldata"),
    (r"intrinsic gas", RelayOutcome.INVALID, "the gas limit is below the intrinsic gas"),
    (r"exceeds block gas limit", RelayOutcome.INVALID, "the gas limit exceeds the block's"),
    (r"gas limit too high", RelayOutcome.INVALID, "the gas limit is above 2^24"),
    (r"gas tip cap 0", RelayOutcome.INVALID, "it does not accept a priority fee of zero"),
    (r"underpriced|\bfee ?too ?low", RelayOutcome.INVALID, "it is underpriced"),
    (r"exceeds the configured cap", RelayOutcome.INVALID, "its fee is above the relay's cap"),
    (r"oversized data", RelayOutcome.INVALID, "it is too large"),
    (r"sender ?is ?contract|not an eoa", RelayOutcome.INVALID, "its sender is a contract"),
    (r"(tip above|higher than max) fee", RelayOutcome.INVALID, "the tip is above the fee cap"),
    (r"invalid sender", RelayOutcome.INVALID, "it cannot recover the sender"),
    (r"invalid chain", RelayOutcome.INVALID, "it serves another chain"),
    (r"only replay-protected", RelayOutcome.INVALID, "it requires a replay-protected transaction"),
    (r"transaction type not supported", RelayOutcome.INVALID, "it does not accept type 2"),
    (r"\brlp\b|could not decode|failed to decode", RelayOutcome.INVALID, "it cannot decode it"),
)
"""The first match counts. A revert comes first, because the contract chooses its text, which may be
"already known"."""
_COMPILED = tuple(
    (re.compile(p), RelayResponse(outcome, why, why not in _OUR_FAULT))
    for p, outcome, why in _TEXTS
)
_GAPPED = re.compile(
    r"nonce too high|less than block base fee|nonce ?gap|gapped.nonce|max ?fee ?per ?gas ?too ?low"
)


class _ErrorWire(msgspec.Struct, frozen=True):
    message: str = ""
    code: int | str = 0


class _ReplyWire(msgspec.Struct, frozen=True):
    result: str | int | None = None
    error: _ErrorWire | None = None


def classify_response(reply: HttpReply) -> RelayResponse:
    """Return the meaning of a complete HTTP response.

    An acceptance requires status 200. A refusal is JSON under 200 or any 4xx except 429.
    """
    meaning = _meaning(reply)
    return meaning if words_of(meaning) is None else replace(meaning, said=_said(reply))


def _said(reply: HttpReply) -> str:
    """Return the status, and the words of a JSON error or of a page: foreign text, made harmless.

    A relay may repeat what it was sent: no long hexadecimal number is shown.
    """
    words = quoted(_LONG_HEX.sub("***", reply.words()), _LONGEST_WORDS)
    return f"HTTP {reply.status}" + (f", it says {words}" if words else "")


def _meaning(reply: HttpReply) -> RelayResponse:
    if not (reply.status in (200, *_NOT_TAKEN_STATUSES) or 400 <= reply.status < 500):
        return SILENT
    not_json = _NOT_TAKEN if reply.status in _NOT_TAKEN_STATUSES else SILENT
    try:
        wire = msgspec.json.decode(reply.body, type=_ReplyWire)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return not_json
    if wire.error is not None:
        if wire.result is not None:
            return SILENT
        refusal = _meaning_of_error(wire.error)
        says_more = reply.status != 429 and refusal is not _UNCLEAR
        return refusal if says_more or not_json is SILENT else _NOT_TAKEN
    if wire.result is None:
        return not_json
    has_hash = wire.result == _TITAN_ACCEPTED or _HASH.fullmatch(str(wire.result).lower())
    return _TAKEN if has_hash and reply.status == 200 else SILENT


def _meaning_of_error(error: _ErrorWire) -> RelayResponse:
    if error.code == _REVERTED:
        return _CODES[_REVERTED]
    text = error.message.lower()
    for pattern, answer in _COMPILED:
        if pattern.search(text):
            return answer
    if _GAPPED.search(text):
        return replace(_UNCLEAR, serves=True)
    if "sender" in text:
        return _UNCLEAR  # it refuses a wallet; others it may serve
    try:
        code = int(error.code)
    except ValueError:
        code = 0
    if code in _NOT_TAKEN_CODES or _NOT_TAKEN_TEXT.search(text):
        return _NOT_TAKEN
    return _CODES.get(code, SILENT if code == rpc_codes.INTERNAL_ERROR else _UNCLEAR)
