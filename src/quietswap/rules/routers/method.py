"""The columns of `methods.METHODS`."""

from dataclasses import dataclass
from enum import StrEnum

BUY_FEE = 0x40
"""KyberSwap's flag for a fee on the bought token."""


class Measure(StrEnum):
    """The balance that the router compares with the minimum.

    With SELF, a token with a fee on transfer delivers less than the minimum to the wallet.
    """

    SELF = "self"
    RECIPIENT = "recipient"


class Confidence(StrEnum):
    """How certain it is that the code that was read is the code that runs."""

    VENDOR = "read there"
    COPY = "read in a public copy of the verified source"
    ADAPTED = "read in a public copy adapted to another chain"


@dataclass(frozen=True, slots=True)
class CalldataLayout:
    """The places of a method's terms, as word indexes of its arguments.

    `within` are the words with the offsets to follow first. `sell` to `quoted` and `pools` count
    from there; `partner`, `permit` and `wrap` from the start of the arguments, but `permit` from
    the terms with `permit_within`. None: the method has no such field.
    """

    sell: int
    amount: int
    minimum: int
    buy: int | None = None
    recipient: int | None = None
    zero_is_sender: bool = True
    within: tuple[int, ...] = ()
    flags: int | None = None
    allowed_flags: int = 0
    permit: int | None = None
    permit_within: bool = False
    quoted: int | None = None
    partner: int | None = None
    dust: int = 0
    """Smallest units of the measured amount that the router keeps."""
    pools: int | None = None
    pool_size: int = 0
    """Bytes per pool in `pools`; with 96 the group names the tokens that move."""
    wrap: int | None = None
    dex: int | None = None
    """The word with the pool, whose address must be derived from a factory."""
    fees: int | None = None
    """The receivers of a fee, which is taken from the sold token without `BUY_FEE` in the flags."""
    deadline: int | None = None
    """The word with the router's deadline: a `multicall`, with the terms in its `nested` calls."""


@dataclass(frozen=True, slots=True)
class RouterMethod:
    """One row: with a `layout` a proof, without one never offered, by the reason in `refuses`."""

    selector: str
    name: str
    refuses: str
    enforced_by: str = ""
    layout: CalldataLayout | None = None
    measure: Measure = Measure.SELF
    source: str = ""
    confidence: Confidence = Confidence.COPY
    nested: str = ""
    """Selector of the nested call whose words hold the terms (0x), or of the accepted ones."""
