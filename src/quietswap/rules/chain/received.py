"""What a mined transaction brought to its wallet, read from the logs of its receipt.

ERC-20 tokens log each movement as Transfer (https://eips.ethereum.org/EIPS/eip-20). WETH9 logs
Deposit and Withdrawal instead of a mint and a burn. Its `withdraw` sends the ETH to the caller
before it logs Withdrawal, and reverts if that fails: so the log proves the ETH of an unwrap.
No other amount of ETH is derived from logs: a movement of ETH leaves none, or, from EIP-7708 on,
a Transfer of an address without code, which is no token and is passed over.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from quietswap.rules.amounts import UINT256_MAX
from quietswap.rules.safety.wallet_effects import SYSTEM, TRANSFER
from quietswap.rules.tokens.token import NATIVE, WETH
from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.keccak import keccak256

_WORD = 32
_WETH, _ETH = WETH.lower(), NATIVE.lower()
_SYSTEM = SYSTEM.lower()
DEPOSIT = keccak256(b"Deposit(address,uint256)")
WITHDRAWAL = keccak256(b"Withdrawal(address,uint256)")
MOVEMENT_TOPICS = frozenset("0x" + topic.hex() for topic in (TRANSFER, DEPOSIT, WITHDRAWAL))
"""First topics of the logs that `net_movements` reads, as lower-case hex."""

Movements = Mapping[str, int | None]
"""Net change in smallest units by lower-case token address; None: unreadable.

The ETH of an unwrap is under `NATIVE`. A checksum per token would cost more than all the rest."""


class TokenLog(NamedTuple):
    """One log: the contract in lower-case hex, its topics of 32 bytes each, and its data."""

    token: str
    topics: tuple[bytes, ...]
    data: bytes


class ReceivedIssue(StrEnum):
    """Why the received amount of a mined order is unknown."""

    NO_LOGS = "NO_LOGS"
    """The node's receipt has no logs, or logs that break their format."""
    OTHER_SENDER = "OTHER_SENDER"
    """The node's receipt names another sender than the wallet."""
    UNREADABLE = "UNREADABLE"
    """A Transfer log of the token with the wallet has an unusual form."""
    NET_LOSS = "NET_LOSS"
    """More of the token left the wallet than arrived."""
    OUT_OF_RANGE = "OUT_OF_RANGE"
    """The logs add up to more than 2^256 - 1."""
    ETH_NOT_LOGGED = "ETH_NOT_LOGGED"
    """ETH arrived, if any, by a way that leaves no log."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """The amount received in smallest units, or the reason why it is unknown."""

    amount: int | None = None
    issue: ReceivedIssue | None = None


class RefundStatus(StrEnum):
    """What is known of a refund by the relay."""

    NONE = "none"
    REPORTED = "reported"
    """The relay reports it. Nothing proves it."""
    PAID = "paid"
    """A transaction in the block of the order paid it to the wallet."""


@dataclass(frozen=True, slots=True)
class Refund:
    """A refund in wei. `tx_hash` is the transaction that paid it."""

    status: RefundStatus = RefundStatus.NONE
    amount_wei: int = 0
    tx_hash: str | None = None


def net_movements(wallet: Address, logs: Iterable[TokenLog]) -> dict[str, int | None]:
    """Return the net change of the wallet by token, in smallest units.

    Only tokens with a log of the wallet have an entry. It is None if one of these logs has an
    unusual form, because then the amount or the direction is unknown.
    """
    owner = addresses.to_bytes(wallet).rjust(_WORD, b"\0")
    net: dict[str, int | None] = {}
    for log in logs:
        for token, change in _changes(log, owner):
            net_change = net.get(token, 0)
            net[token] = None if net_change is None or change is None else net_change + change
    return net


def _changes(log: TokenLog, owner: bytes) -> list[tuple[str, int | None]]:
    """Return the changes of the owner by this log, by token; None for an unusual form."""
    if log.token == _SYSTEM:
        return []
    event = log.topics[0] if log.topics else b""
    if event == TRANSFER:
        return _transfer(log, owner)
    if log.token != _WETH or event not in (DEPOSIT, WITHDRAWAL):
        return []
    if len(log.topics) != 2 or len(log.data) != _WORD:
        return [(_WETH, None)] if owner in (*log.topics[1:], *_words(log.data)) else []
    if log.topics[1] != owner:
        return []
    amount = int.from_bytes(log.data)
    return [(_WETH, amount)] if event == DEPOSIT else [(_WETH, -amount), (_ETH, amount)]


def _transfer(log: TokenLog, owner: bytes) -> list[tuple[str, int | None]]:
    """Return the balance change by one Transfer log, its arguments indexed or all in the data."""
    if len(log.topics) == 4 and not log.data:
        return []  # ERC-721: the last argument is an id, not an amount
    words = (*log.topics[1:], *_words(log.data))
    if owner not in words[:2]:
        return []
    is_plain = len(log.topics) in (1, 3) and len(words) == 3 and len(log.data) % _WORD == 0
    if not is_plain:
        return [(log.token, None)]
    sender, recipient, value = words
    amount = int.from_bytes(value)
    return [(log.token, amount * ((recipient == owner) - (sender == owner)))]


def _words(data: bytes) -> list[bytes]:
    return [data[at : at + _WORD] for at in range(0, len(data), _WORD)]


def arrival(
    token: Address,
    *,
    from_weth: bool,
    unwraps: bool = False,
    succeeded: bool,
    is_sender: bool,
    movements: Movements | None,
) -> Arrival:
    """Return what arrived of `token`, from the movements of the receipt's sender.

    `from_weth`: the transaction is an unwrap. `unwraps`: it is a swap into WETH that unwraps a part
    of it, which counts as WETH. `movements` is None if the node sent no readable logs. A reverted
    transaction brought nothing.
    """
    if not succeeded:
        return Arrival(0)
    if token == NATIVE and not from_weth:
        return Arrival(issue=ReceivedIssue.ETH_NOT_LOGGED)
    if movements is None:
        return Arrival(issue=ReceivedIssue.NO_LOGS)
    if not is_sender:
        return Arrival(issue=ReceivedIssue.OTHER_SENDER)
    net = [movements.get(each, 0) for each in (token.lower(), *((_ETH,) if unwraps else ()))]
    if None in net:
        return Arrival(issue=ReceivedIssue.UNREADABLE)
    amount = sum(each or 0 for each in net)
    if amount < 0:
        return Arrival(issue=ReceivedIssue.NET_LOSS)
    return Arrival(amount) if amount <= UINT256_MAX else Arrival(issue=ReceivedIssue.OUT_OF_RANGE)
