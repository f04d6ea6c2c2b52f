"""State overrides that give a wallet the balance and the allowance of a swap.

Existing balances and allowances that suffice are not overridden.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from cachetools import TLRUCache

from quietswap.rules.chain.records import AccountState
from quietswap.rules.chain.rpc_wire import RpcCall, RpcErrorObject, hex_bytes, value
from quietswap.rules.quotes.quote import RouteRequest
from quietswap.rules.tokens import erc20
from quietswap.rules.tokens.erc20 import address_word, word
from quietswap.rules.trial import codec
from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.keccak import keccak256
from quietswap.service.base.clock import Clock
from quietswap.service.node.reads import from_block
from quietswap.service.node.rpc import NodeReads, NodeRpcClient

# Storage slots of ERC-20 balances and allowances.
#
# A simulation overrides these slots. One probe finds them: it overrides every known slot with a
# different number, and the number that the token returns identifies the slot. Slots of mapping
# entries are hashes, so the overrides affect nothing else.
#
# Layouts: https://docs.soliditylang.org/en/latest/internals/layout_in_storage.html (Solidity),
# https://docs.vyperlang.org/en/stable/scoping-and-declarations.html (Vyper hashes the slot before
# the key), https://github.com/Vectorized/solady/blob/main/src/tokens/ERC20.sol (Solady),
# https://eips.ethereum.org/EIPS/eip-7201 (the namespace of OpenZeppelin 5's upgradeable ERC-20).

OPENZEPPELIN_5 = 0x52C63247E1F47DB19D5CE0460030C497F067CA4CEBF71BA98EEADABE20BACE00
"""Slot of `balances` of ERC20Upgradeable version 5; `allowances` is the next slot."""

_ROOTS = (*range(121), OPENZEPPELIN_5, OPENZEPPELIN_5 + 1)
"""Old upgradeable tokens have gaps of 50 slots per base contract: 51/52 and 101/102 are common."""

_SOLADY_BALANCE = bytes(8) + bytes.fromhex("87a211a2")
_SOLADY_ALLOWANCE = bytes(8) + bytes.fromhex("7f5e9f20")

_SENTINEL = 0xA5C396E17B2D04 << 16
"""It fits into 72 bits, so that tokens that pack a balance with flags return it unchanged."""

PROBE_OWNER = addresses.from_bytes(keccak256(b"quietswap probe owner")[12:])
PROBE_SPENDER = addresses.from_bytes(keccak256(b"quietswap probe spender")[12:])


class MappingKeyOrder(StrEnum):
    """How a language computes the slot of a mapping entry."""

    SOLIDITY = "solidity"
    VYPER = "vyper"
    SOLADY = "solady"


@dataclass(frozen=True, slots=True)
class MappingSlot:
    """A mapping in storage; `root` is its declared slot (not used by Solady)."""

    order: MappingKeyOrder
    root: int = 0

    def balance(self, holder: Address) -> int:
        if self.order is MappingKeyOrder.SOLADY:
            return _hash(addresses.to_bytes(holder) + _SOLADY_BALANCE)
        return self._entry(self.root, holder)

    def allowance(self, owner: Address, spender: Address) -> int:
        if self.order is MappingKeyOrder.SOLADY:
            parts = (addresses.to_bytes(owner), _SOLADY_ALLOWANCE, addresses.to_bytes(spender))
            return _hash(b"".join(parts))
        return self._entry(self._entry(self.root, owner), spender)

    def _entry(self, slot: int, key: Address) -> int:
        if self.order is MappingKeyOrder.VYPER:
            return _hash(word(slot) + address_word(key))
        return _hash(address_word(key) + word(slot))


@dataclass(frozen=True, slots=True)
class TokenStorageLayout:
    """The slots of one token; None if the probe did not find the slot."""

    balance: MappingSlot | None = None
    allowance: MappingSlot | None = None

    @property
    def is_known(self) -> bool:
        return self.balance is not None and self.allowance is not None


PLACES = (
    *(MappingSlot(MappingKeyOrder.SOLIDITY, root) for root in _ROOTS),
    *(MappingSlot(MappingKeyOrder.VYPER, root) for root in _ROOTS),
    MappingSlot(MappingKeyOrder.SOLADY),
)


@lru_cache(maxsize=1)
def slot_probe() -> Mapping[int, int]:
    """Return slot → marker value for every known layout, for the probe's owner and spender.

    Balance and allowance then show by their value which layout the token uses.
    """
    written: dict[int, int] = {}
    for index, place in enumerate(PLACES):
        written[place.balance(PROBE_OWNER)] = _SENTINEL + 2 * index
        written[place.allowance(PROBE_OWNER, PROBE_SPENDER)] = _SENTINEL + 2 * index + 1
    return written


def identify(balance: int | None, allowance: int | None) -> TokenStorageLayout:
    """Return the layout of a token that returned these two numbers in the probe."""
    return TokenStorageLayout(_place(balance, parity=0), _place(allowance, parity=1))


def _place(read: int | None, *, parity: int) -> MappingSlot | None:
    if read is None:
        return None
    index, odd = divmod(read - _SENTINEL, 2)
    return PLACES[index] if odd == parity and 0 <= index < len(PLACES) else None


def raised_slot(stored: int, current: int, needed: int) -> int | None:
    """Return the word that changes the number of a token from `current` to `needed`.

    It adds the difference, because some tokens store flags above the number (USDC's blacklist is
    the top bit of the balance). A cleared flag would make the simulation wrong. None if the stored
    word cannot contain the number.
    """
    lifted = stored - current + needed
    return lifted if stored >= current and lifted < 2**256 else None


def _hash(preimage: bytes) -> int:
    return int.from_bytes(keccak256(preimage))


_LAYOUT_TTL_S = 3600.0
_UNKNOWN_TTL_S = 600.0
_LAYOUTS_CACHED = 10_000


class SimulationUnsupported(Exception):
    """The node does not support eth_simulateV1."""


@dataclass(frozen=True, slots=True)
class SlotOverride:
    """One storage slot, the word written to it, and the number that the token must then return."""

    slot: int
    word: int
    number: int


@dataclass(frozen=True, slots=True)
class StateOverride:
    """The overrides of one simulation; None for a storage slot that is unknown."""

    balance_lacks: bool = False
    balance: SlotOverride | None = None
    allowances: Mapping[Address, SlotOverride | None] = field(default_factory=dict)

    def obstacle(self, spender: Address) -> str | None:
        """Return why a swap through `spender` cannot be simulated; None if it can."""
        if self.balance_lacks and self.balance is None:
            return "the wallet lacks the sell amount and the token's balance slot is unknown"
        if spender in self.allowances and self.allowances[spender] is None:
            return "the router is not approved and the token's allowance slot is unknown"
        return None

    def words(self, spender: Address) -> dict[int, int]:
        """Return slot → word to override in the sell token for a swap through `spender`."""
        overrides = (self.balance, self.allowances.get(spender))
        return {one.slot: one.word for one in overrides if one}

    def reads_back(self, spender: Address, balance: int | None, allowance: int | None) -> bool:
        """Whether the token returns the overridden numbers for a swap through `spender`."""
        pairs = ((self.balance, balance), (self.allowances.get(spender), allowance))
        return all(one is None or one.number == number for one, number in pairs)


class StorageLayouts:
    """Finds the storage slots of tokens.

    They are cached for an hour, because a proxy may be upgraded, and for ten minutes if unknown.
    """

    def __init__(self, clock: Clock) -> None:
        self._known: TLRUCache[Address, TokenStorageLayout] = TLRUCache(
            _LAYOUTS_CACHED,
            lambda _, layout, now: now + (_LAYOUT_TTL_S if layout.is_known else _UNKNOWN_TTL_S),
            timer=clock.monotonic,
        )

    async def of(self, token: Address, nodes: NodeReads) -> TokenStorageLayout:
        """Return the slots of a token, cached. Raises NodeUnavailable and SimulationUnsupported."""
        layout = self._known.get(token)
        if layout is None:
            layout = self._known[token] = await _probed(token, nodes)
        return layout


class StateOverrideBuilder:
    def __init__(self, rpc: NodeRpcClient, clock: Clock, below: codec.RandBelow) -> None:
        self._rpc = rpc
        self._below = below
        self._clock = clock
        self._layouts = StorageLayouts(clock)

    async def prepare(self, request: RouteRequest, sender: AccountState, tag: str) -> StateOverride:
        """Return the necessary overrides. Raises NodeUnavailable and SimulationUnsupported.

        `sender` is what the wallet has at block `tag`: stored words of another block may contain
        another balance, and the token would then not return the overridden number.

        Overridden amounts are random: the exact sell amount would let a contract detect the
        simulation.
        """
        amount, owner = request.sell_amount, request.wallet
        unapproved = [s for s, allowed in sender.allowances.items() if allowed < amount]
        balance_lacks = sender.sell_balance < amount
        if not balance_lacks and not unapproved:
            return StateOverride()
        layout = await self._layouts.of(request.sell.address, self._rpc)
        places: list[tuple[int, int] | None] = [None] * (1 + len(unapproved))
        if balance_lacks and layout.balance:
            places[0] = layout.balance.balance(owner), sender.sell_balance
        if layout.allowance:
            for i, s in enumerate(unapproved, start=1):
                places[i] = layout.allowance.allowance(owner, s), sender.allowances[s]
        needed = [codec.plausible_amount(amount, self._below) for _ in places]
        balance, *allowances = await self._raised(request.sell.address, places, needed, tag)
        return StateOverride(balance_lacks, balance, dict(zip(unapproved, allowances, strict=True)))

    async def _raised(
        self,
        token: Address,
        places: Sequence[tuple[int, int] | None],
        needed: Sequence[int],
        tag: str,
    ) -> list[SlotOverride | None]:
        """Return the override of each (slot, current number) to the needed number."""
        stored = iter(await self._stored(token, [place[0] for place in places if place], tag))
        raised: list[SlotOverride | None] = []
        for place, number in zip(places, needed, strict=True):
            lifted = raised_slot(next(stored), place[1], number) if place else None
            if place is None or lifted is None:
                raised.append(None)
            else:
                raised.append(SlotOverride(place[0], lifted, number))
        return raised

    async def _stored(self, token: Address, slots: Sequence[int], tag: str) -> list[int]:
        """Return the words at block `tag`, or at the latest if a node does not have that block."""
        calls = [RpcCall("eth_getStorageAt", (token, codec.hex_word(slot), tag)) for slot in slots]
        results = await self._rpc.batch(calls)
        if tag != "latest" and any(isinstance(result, RpcErrorObject) for result in results):
            results = await from_block(self._rpc, self._clock, int(tag, 16), calls)
            if any(isinstance(result, RpcErrorObject) for result in results):
                return await self._stored(token, slots, "latest")
        return [_word(value(result, str)) for result in results]


async def _probed(token: Address, nodes: NodeReads) -> TokenStorageLayout:
    reads = [erc20.balance_of(PROBE_OWNER), erc20.allowance(PROBE_OWNER, PROBE_SPENDER)]
    probe = {codec.hex_word(slot): codec.hex_word(word) for slot, word in slot_probe().items()}
    call = codec.simulation_call(
        {token: {"stateDiff": probe}},
        [{"to": token, "data": "0x" + data.hex(), "gas": hex(codec.VIEW_GAS)} for data in reads],
    )
    [result] = await nodes.batch([call])
    if isinstance(result, RpcErrorObject) and result.is_unsupported:
        raise SimulationUnsupported
    balance, allowance = codec.read_calls(result, len(reads))
    return identify(balance.number, allowance.number)


def _word(text: str) -> int:
    return int.from_bytes(hex_bytes(text))
