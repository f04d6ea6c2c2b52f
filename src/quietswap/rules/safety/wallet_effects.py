"""The effects of a simulated swap on the wallet, read from the logs of its call.

Every loss that an existing allowance permits appears in a log of the token: ERC-20
and ERC-721 (https://eips.ethereum.org/EIPS/eip-20, eip-721), ERC-1155 (eip-1155), ERC-777
(eip-777) and Permit2's allowances (https://github.com/Uniswap/permit2). With `traceTransfers` a
node also reports each movement of ETH as an ERC-20 Transfer of a pseudo token
(https://ethereum.github.io/execution-apis/ethsimulatev1-notes).

Limit: a token that moves balances without a log is not detected here. Therefore the loss of the
sell token is also measured by its balance.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import msgspec

from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address, BadAddress
from quietswap.rules.tx.keccak import keccak256
from quietswap.rules.tx.signed import UnsignedTransaction

ETHER = Address("0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE")
"""The pseudo token address under which geth and anvil log transfers of ETH."""
SYSTEM = Address("0xffffFFFfFFffffffffffffffFfFFFfffFFFfFFfE")
"""Logs movements of ETH as Transfer, also in blocks (https://eips.ethereum.org/EIPS/eip-7708)."""

_WORD = 32


class EventLog(msgspec.Struct, frozen=True):
    """One log: the contract that emitted it, its topics of 32 bytes each, and its data."""

    address: Address
    topics: tuple[bytes, ...]
    data: bytes


class SwapBounds(msgspec.Struct, frozen=True):
    """The permitted effects of one swap on `wallet`.

    At most `sell_amount` of `sell_token` may leave it. Only the allowance of `router` may change;
    `allowance` is its value before the swap (smallest units). Of ETH exactly `wrapped` wei must
    move to WETH, and exactly `unwrapped` wei from it to the wallet.
    """

    wallet: Address
    router: Address
    sell_token: Address
    sell_amount: int
    allowance: int
    wrapped: int = 0
    unwrapped: int = 0


class _Effect(Enum):
    TRANSFER = "transfer"
    """ERC-20 or ERC-721: (from, to, value or id)."""
    TRANSFER_ALIKE = "transfer alike"
    """Logged by ERC-777 in addition to a Transfer."""
    TRANSFER_OTHER = "transfer of another kind"
    APPROVAL = "approval"
    APPROVAL_OTHER = "approval of another kind"


class _Event(NamedTuple):
    """`owner` is the index of the affected account among the indexed arguments, from 1."""

    effect: _Effect
    owner: int
    topics: int


_SIGNATURES = {
    "Transfer(address,address,uint256)": _Event(_Effect.TRANSFER, 1, 3),
    "Approval(address,address,uint256)": _Event(_Effect.APPROVAL, 1, 3),
    "ApprovalForAll(address,address,bool)": _Event(_Effect.APPROVAL_OTHER, 1, 3),
    "TransferSingle(address,address,address,uint256,uint256)": _Event(_Effect.TRANSFER_OTHER, 2, 4),
    "TransferBatch(address,address,address,uint256[],uint256[])": _Event(
        _Effect.TRANSFER_OTHER, 2, 4
    ),
    "Sent(address,address,address,uint256,bytes,bytes)": _Event(_Effect.TRANSFER_ALIKE, 2, 4),
    "Burned(address,address,uint256,bytes,bytes)": _Event(_Effect.TRANSFER_ALIKE, 2, 3),
    "AuthorizedOperator(address,address)": _Event(_Effect.APPROVAL_OTHER, 2, 3),
    "Approval(address,address,address,uint160,uint48)": _Event(_Effect.APPROVAL_OTHER, 1, 4),
    "Permit(address,address,address,uint160,uint48,uint48)": _Event(_Effect.APPROVAL_OTHER, 1, 4),
}
_EVENTS = {keccak256(text.encode()): event for text, event in _SIGNATURES.items()}
TRANSFER, APPROVAL = list(_EVENTS)[:2]
_TOPICS = frozenset("0x" + topic.hex() for topic in _EVENTS)


def parse_log(address: str, topics: Sequence[str], data: str) -> EventLog:
    """Return a log of a node, given in 0x-prefixed hex. Raises ValueError for other text."""
    if len(topics) > 4:
        raise ValueError("a log has at most 4 topics")
    for text in (*topics, data):
        if not text.startswith("0x"):
            raise ValueError("hex in a log begins with 0x")
    words = tuple([bytes.fromhex(topic[2:]) for topic in topics])
    for word in words:
        if len(word) != _WORD:
            raise ValueError("a topic has 32 bytes")
    try:
        return EventLog(addresses.from_any_case(address), words, bytes.fromhex(data[2:]))
    except BadAddress as error:
        raise ValueError(f"a log's address: {error}") from error


def is_effect(topics: Sequence[str]) -> bool:
    """Return whether `broken_rule` needs a log with these topics, before it is parsed."""
    return bool(topics) and topics[0].lower() in _TOPICS


def wallet_word(wallet: Address) -> str:
    """Return the lower-case hex digits that every log about `wallet` contains.

    Search them in the lower-case text of a log before `parse_log`: most logs are about pools.
    """
    return wallet[2:].lower()


def broken_rule(
    logs: Iterable[EventLog],
    bounds: SwapBounds,
    *,
    balance_before: int | None = None,
    balance_after: int | None = None,
) -> str | None:
    """Return the rule that a swap with these logs breaks, as text; None if it keeps all.

    At most `sell_amount` of the sell token leaves the wallet, by its logs and, if both are given,
    by its balances before and after. Nothing else leaves it, no NFT and no ETH but what is wrapped.
    No allowance grows. `logs` is read up to the first broken rule. A reverted call has no logs.
    """
    sold = 0
    owner = addresses.to_bytes(bounds.wallet).rjust(_WORD, b"\0")
    weth = addresses.to_bytes(WETH).rjust(_WORD, b"\0")
    wrapped: Counter[Address] = Counter()
    unwrapped: Counter[Address] = Counter()
    for log in logs:
        if bounds.wrapped and _moves_ether(log, owner, weth):
            wrapped[log.address] += int.from_bytes(log.data)
            continue
        if bounds.unwrapped and _moves_ether(log, weth, owner):
            unwrapped[log.address] += int.from_bytes(log.data)
        amount_out = _taken(log, owner, bounds)
        if isinstance(amount_out, str):
            return amount_out
        sold += amount_out
    for verb, moved, needed in (
        ("wraps", wrapped, bounds.wrapped),
        ("unwraps", unwrapped, bounds.unwrapped),
    ):
        if needed and set(moved.values()) != {needed}:
            shown = ", ".join(map(str, moved.values())) or "nothing"
            return f"by the logs it {verb} {shown}, not exactly {needed} wei"
    if balance_before is not None and balance_after is not None:
        sold = max(sold, balance_before + bounds.wrapped - balance_after)
    if sold > bounds.sell_amount:
        return (
            f"it takes {sold} of {bounds.sell_token} from the wallet, more than the"
            f" {bounds.sell_amount} to be sold"
        )
    return None


def arrived(logs: Iterable[EventLog], wallet: Address, token: Address) -> int:
    """Return the amount of `token` that `wallet` received by its logs, in smallest units.

    A token with a fee on transfer may credit less than it logs.
    """
    owner = addresses.to_bytes(wallet).rjust(_WORD, b"\0")
    return sum(
        int.from_bytes(log.data)
        for log in logs
        if log.address == token and len(log.topics) == 3 and len(log.data) == _WORD
        if log.topics[0] == TRANSFER and log.topics[2] == owner
    )


def _moves_ether(log: EventLog, source: bytes, recipient: bytes) -> bool:
    """Return whether a node logs by it that ETH moved between these two, left-padded to 32 bytes.

    A node may log one movement twice: by its pseudo token, and by the address of EIP-7708.
    """
    is_ether = log.address in (ETHER, SYSTEM) and len(log.data) == _WORD
    return is_ether and log.topics == (TRANSFER, source, recipient)


def _taken(log: EventLog, owner: bytes, bounds: SwapBounds) -> int | str:
    """Return the sell token amount that leaves the wallet by this log, or the broken rule."""
    event = _EVENTS.get(log.topics[0]) if log.topics else None
    if event is None:
        return 0
    if len(log.topics) != event.topics:
        return _unusual(log, event, owner)
    if log.topics[event.owner] != owner:
        return 0
    is_sell, is_word = log.address == bounds.sell_token, len(log.data) == _WORD
    asset = "ETH" if log.address in (ETHER, SYSTEM) else log.address
    match event.effect:
        case _Effect.TRANSFER if is_sell and is_word:
            return int.from_bytes(log.data)
        case _Effect.TRANSFER_ALIKE if is_sell:
            return 0
        case _Effect.APPROVAL if is_sell and is_word and _only_lowers(log, bounds):
            return 0
        case _Effect.APPROVAL | _Effect.APPROVAL_OTHER:
            return f"it lets others spend the wallet's {asset}"
    return f"it moves {asset} out of the wallet"


def _only_lowers(log: EventLog, bounds: SwapBounds) -> bool:
    """Return whether this Approval only lowers the router's allowance (OpenZeppelin logs it)."""
    spender = addresses.from_bytes(log.topics[2][12:])
    return spender == bounds.router and int.from_bytes(log.data) <= bounds.allowance


def _unusual(log: EventLog, event: _Event, owner: bytes) -> int | str:
    """Judge an event whose number of indexed arguments differs from the standard.

    A Transfer without indexed arguments has them in the data, in order, and may pay the wallet. In
    all other forms the wallet must not appear, because its role is unknown.
    """
    words = (*log.topics[1:], *_words(log.data))
    if owner not in words:
        return 0
    is_plain = event.effect is _Effect.TRANSFER and len(log.topics) == 1 and len(words) == 3
    if is_plain and words[0] != owner:
        return 0
    return f"it may move the wallet's {log.address}: a log of it has an unusual form"


def _words(data: bytes) -> list[bytes]:
    return [data[at : at + _WORD] for at in range(0, len(data), _WORD)]


@dataclass(frozen=True, slots=True)
class Shortfall:
    """What the wallet has and what the transaction needs, in smallest units or wei.

    `address` is the spender without enough allowance, or the missing token; None for ETH.
    """

    actual: int
    needed: int
    address: Address | None = None


class QuoteIssues(msgspec.Struct, frozen=True):
    """The shortfalls of the wallet's current state; None where nothing is missing."""

    allowance: Shortfall | None = None
    balance: Shortfall | None = None
    gas: Shortfall | None = None


def find_issues(
    params: UnsignedTransaction,
    sell_token: Address,
    sell_amount: int,
    *,
    sell_balance: int,
    allowance: int,
    eth_balance: int,
) -> QuoteIssues:
    """Return the wallet's shortfalls; all amounts in smallest units or wei."""
    locked = params.gas_limit * params.max_fee_per_gas + params.value
    return QuoteIssues(
        allowance=_short(allowance, sell_amount, params.to),
        balance=_short(sell_balance, sell_amount, sell_token),
        gas=_short(eth_balance, locked),
    )


def _short(actual: int, needed: int, address: Address | None = None) -> Shortfall | None:
    return Shortfall(actual, needed, address) if actual < needed else None
