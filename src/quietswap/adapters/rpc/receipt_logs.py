"""Logs of a receipt as the net token movements of its sender.

A transaction may emit thousands of logs, and most of them are about pools. So a log is parsed only
if it contains the sender's address, and only its sum is kept.
"""

import re
from collections.abc import Iterator

import msgspec

from quietswap.domain.address import Address
from quietswap.domain.order.received import MOVEMENT_TOPICS, Movements, TokenLog, net_movements
from quietswap.domain.quote.wallet_effects import wallet_word

_ADDRESS = re.compile(r"0x[0-9a-f]{40}", re.ASCII)
_WORD = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)
_MOST_TOPICS = 4


class LogWire(msgspec.Struct, frozen=True):
    """The fields of a log that the service reads."""

    address: str
    topics: list[str]
    data: str


_decode = msgspec.json.Decoder(list[LogWire]).decode


def movements(sender: Address, logs: msgspec.Raw) -> Movements | None:
    """Return the net change of `sender` by token; None if the logs are missing or malformed."""
    try:
        return net_movements(sender, _of(sender, _decode(logs)))
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, ValueError):
        return None


def _of(sender: Address, logs: list[LogWire]) -> Iterator[TokenLog]:
    """Yield the logs that move tokens from or to `sender`. Raises ValueError."""
    word = wallet_word(sender)
    for log in logs:
        if not log.topics or log.topics[0].lower() not in MOVEMENT_TOPICS:
            continue
        if any(word in text.lower() for text in (*log.topics[1:], log.data)):
            yield _parsed(log)


def _parsed(log: LogWire) -> TokenLog:
    token = log.address.lower()
    if not _ADDRESS.fullmatch(token) or not log.data.startswith("0x"):
        raise ValueError("a log without an address or without hex data")
    if len(log.topics) > _MOST_TOPICS or not all(map(_WORD.fullmatch, log.topics)):
        raise ValueError("a log has at most 4 topics of 32 bytes")
    topics = tuple([bytes.fromhex(topic[2:]) for topic in log.topics])
    return TokenLog(token, topics, bytes.fromhex(log.data[2:]))
