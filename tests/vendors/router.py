"""A router as tests meet it: its calldata by eth-abi, the oracle, and what its stand-in does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from eth_abi.abi import encode

from quietswap.rules.routers.method import Measure
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.keccak import keccak256
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.vendors.router_calldata import RouterSwap
from tests.hostile.draw import Draw
from tests.hostile.trial import Row

NOBODY = Address("0x" + "0" * 40)
EXECUTOR = Address("0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB")
TRANSFER = "transferFrom(address,address,uint256)"


@dataclass(frozen=True)
class Swap:
    """The terms a test wants written; `recipient` as the router has it.

    Velora alone knows `quoted` (None: 7 above the minimum), `partner` (the packed word without its
    fee, None: some partner with bit 91) and `pools` (None: honest ones); Velora and KyberSwap
    `permit`; Curve's methods `curve`, 1inch's `unoswap` `dex` (None: the pair's first pool).
    """

    sell: Address
    buy: Address
    amount: int
    minimum: int
    recipient: Address
    flags: int = 0
    fee_bps: int = 0
    quoted: int | None = None
    partner: int | None = None
    pools: bytes | None = None
    permit: bytes = b""
    curve: int = 1
    dex: int | None = None

    @property
    def quote(self) -> int:
        """The amount Velora calls quoted."""
        return self.minimum + 7 if self.quoted is None else self.quoted


def call(name: str, types: tuple[str, ...], *values: object) -> bytes:
    """Return selector and arguments of one call."""
    signature = f"{name}({','.join(types)})"
    return keccak256(signature.encode())[:4] + encode(types, values)


Encoder = Callable[[Swap], bytes]


@dataclass(frozen=True)
class Written:
    """The calldata of an accepted method, and how it must be read.

    `dust` is what the router keeps of the minimum, in units. `flags` are the allowed ones (None: it
    has none), `offset` is a word with an offset that the decoder follows, `reads` are further
    terms.
    """

    encode: Encoder
    measure: Measure = Measure.SELF
    dust: int = 0
    zero_is_sender: bool = True
    flags: int | None = None
    offset: int | None = None
    reads: Callable[[Swap], Mapping[str, Any]] = lambda _: {}


@dataclass(frozen=True, kw_only=True)
class RouterCase:
    """`method` is what its API answers with. By name: `others` are accepted as well, `apart` too,
    but their calldata does not have all terms; `refused` are known and refused. `makers` make
    random hostile calldata of each accepted method."""

    method: Written
    makers: Mapping[str, Callable[[Draw], bytes]]
    others: Mapping[str, Written] = field(default_factory=dict)
    apart: Mapping[str, Encoder] = field(default_factory=dict)
    refused: Mapping[str, Encoder] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class StandInCase(RouterCase):
    """A router with a stand-in.

    `places` reads minimum and recipient of its calldata. `short` is the revert data when less than
    the minimum is received, `expired` that after a deadline. `refusals` are words of the service's
    reason, by fault. `rows` are bound calls with a hostile executor.
    """

    places: Callable[[bytes], tuple[int, str]]
    short: Callable[[RouterSwap, int], bytes]
    refusals: Mapping[str, str]
    rows: Mapping[str, Row]
    expired: Callable[[int], bytes] = lambda deadline: abi.call("Expired(uint256)", deadline)


def placed(minimum: int, recipient: int, *within: int) -> Callable[[bytes], tuple[int, str]]:
    """Return a reader of both at these words, of the struct to which the offsets `within` lead."""

    def places(data: bytes) -> tuple[int, str]:
        start = 4
        for at in within:
            start += abi.word(data[start:], at)
        return abi.word(data[start:], minimum), f"0x{abi.word(data[start:], recipient):040x}"

    return places
