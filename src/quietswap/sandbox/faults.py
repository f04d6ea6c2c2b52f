"""The registry of every fault that a part of the sandbox can have.

A fault is written `name` or `name:argument`, for example `lie:2.0`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import Enum

from quietswap.rules.vendors import OVER_HTTP, VENDORS

VENUES = OVER_HTTP
RELAYS = ("relay", "backup_relay")
NODE = ("node",)
PRICES = ("defillama", "coingecko")
PARTS = (*VENUES, *RELAYS, *NODE, *PRICES)
GROUPS = {"venues": VENUES, "relays": RELAYS, "prices": PRICES}
"""Names that stand for several parts."""


class Takes(Enum):
    """The argument of a fault: its placeholder in the help, and the bounds of a number."""

    NOTHING = "", None
    TEXT = "TEXT", None
    MILLISECONDS = "MS", (0, 600_000)
    BLOCKS = "BLOCKS", (1, 64)
    STATUS = "STATUS", (200, 599)
    FACTOR = "FACTOR", (0, 1000)
    RATE = "RATE", (0, 1)
    ETHER = "ETH", (0, 100)

    def accepts(self, argument: str) -> bool:
        bounds: tuple[int, int] | None = self.value[1]
        if bounds is None:
            return bool(argument) is (self is Takes.TEXT)
        if self not in _FRACTIONS and not argument.isdecimal():
            return False
        try:
            return bounds[0] <= Decimal(argument) <= bounds[1]
        except InvalidOperation:
            return False


_FRACTIONS = frozenset({Takes.FACTOR, Takes.RATE, Takes.ETHER})


@dataclass(frozen=True, slots=True)
class FaultType:
    """A row of the registry. With a `default` the argument is optional."""

    name: str
    text: str
    parts: tuple[str, ...] = PARTS
    takes: Takes = Takes.NOTHING
    default: str | None = None

    @property
    def spelling(self) -> str:
        """The fault as a user writes it, with an optional argument in brackets."""
        if self.takes is Takes.NOTHING:
            return self.name
        argument = f":{self.takes.value[0]}"
        return self.name + (f"[{argument}]" if self.default else argument)


def _some(name: str, text: str) -> FaultType:
    """Return a fault of the vendors whose record names it."""
    return FaultType(name, text, tuple(v.name for v in VENDORS.values() if name in v.faults))


REGISTRY = (
    FaultType("hang", "accepts the request and never answers"),
    FaultType("timeout", "closes the connection after 10 s without sending a byte"),
    FaultType("delay", "processes the request at once, answers later", PARTS, Takes.MILLISECONDS),
    FaultType("drip", "answers with one space every 50 ms, without end"),
    FaultType(
        "half_answer", "processes the request, closes the connection in the middle of the body"
    ),
    FaultType("down", "refuses connections"),
    FaultType("500", "answers with status 500"),
    FaultType("429", "answers with status 429 and a body that is not JSON"),
    FaultType("html", "answers with an HTML page", PARTS, Takes.STATUS, "403"),
    FaultType("garbage", "answers with status 200 and bytes that are not JSON"),
    FaultType("redirect", "answers with a redirect to another port"),
    FaultType("huge_body", "answers with 64 MB of JSON"),
    FaultType("gzip_bomb", "answers with 256 MB compressed to 256 kB"),
    FaultType("deep_json", "answers with 100 000 nested arrays"),
    FaultType("no_route", "has no route, with the vendor's error", VENUES),
    FaultType("unknown_token", "does not know the token, with the vendor's error", VENUES),
    FaultType("rate_limited", "reports a rate limit, with the vendor's error", VENUES),
    FaultType("refused", "denies access, with the vendor's error", VENUES),
    FaultType("lie", "quotes the true output times the factor", VENUES, Takes.FACTOR),
    FaultType("short_minimum", "writes half of the minimum into the calldata", VENUES),
    FaultType("foreign_recipient", "writes another recipient into the calldata", VENUES),
    FaultType("foreign_router", "names another contract as router", VENUES),
    _some("spender_differs", "names a spender that is not the router"),
    FaultType("value_not_zero", "requires 1 ETH with the transaction", VENUES),
    _some("made_up_pool", "swaps on a fake pool that reports enough for every minimum"),
    FaultType("lying_executor", "names an executor that keeps all and reports the minimum", VENUES),
    _some("shy_settler", "names a false Settler that pays only in a simulation"),
    FaultType("drain", "uses a method that takes what the wallet has approved", VENUES),
    _some("partner_takes", "quotes 1 unit, so that a partner takes the surplus"),
    _some("other_token", "names a pool that takes another approved token"),
    _some("partial_fill", "sets the flag that lets the minimum shrink"),
    _some("permit_inside", "puts a permit or Permit2 into the calldata"),
    _some("settlers_removed", "has removed every Settler from its Deployer"),
    FaultType("lose", "accepts transactions and drops them", RELAYS),
    FaultType("withhold", "holds transactions, offers none to the builder", RELAYS),
    FaultType("refuse", "rejects transactions with this message", RELAYS, Takes.TEXT),
    FaultType("already_known", "holds transactions, answers `already known`", RELAYS),
    FaultType("answer_lost", "holds transactions, closes the connection without an answer", RELAYS),
    FaultType(
        "failed_then_mine",
        "reports transactions as failed, includes them in a later block",
        RELAYS,
        Takes.BLOCKS,
        "3",
    ),
    FaultType(
        "reverted_then_mine",
        "answers `execution reverted`, includes transactions in a later block",
        RELAYS,
        Takes.BLOCKS,
        "1",
    ),
    FaultType(
        "refund",
        "pays a refund to each shared swap in its block, and reports it",
        RELAYS,
        Takes.ETHER,
    ),
    FaultType(
        "false_refund",
        "reports a refund for each shared swap, and does not pay it",
        RELAYS,
        Takes.ETHER,
    ),
    FaultType("lag", "answers as if the newest blocks did not exist", NODE, Takes.BLOCKS),
    FaultType("fork", "answers from another fork since that many blocks", NODE, Takes.BLOCKS, "2"),
    FaultType("flap", "fails this share of requests (0 to 1)", NODE, Takes.RATE),
    FaultType("no_simulate", "does not support eth_simulateV1", NODE),
    FaultType("late_receipts", "has no receipts of the newest block yet", NODE),
    FaultType("empty_receipts", "returns receipts without a block and without a status", NODE),
    FaultType("absent", "knows no token", PRICES),
    FaultType("stale", "answers with prices of yesterday", PRICES),
    FaultType("2x", "answers with twice the price", PRICES),
)


class UnknownFault(ValueError):
    """The fault or the part is not in the registry; the message lists what is."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One active fault; a property returns the argument as its type."""

    kind: str
    argument: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.argument}" if self.argument else self.kind

    @property
    def number(self) -> int:
        """The argument as an integer: milliseconds, status or blocks."""
        return int(self.argument)

    @property
    def share(self) -> Decimal:
        """The argument of `lie` or `flap` as a decimal."""
        return Decimal(self.argument)

    @property
    def wei(self) -> int:
        """The argument of `refund` or `false_refund` in wei."""
        return int(Decimal(self.argument).scaleb(18))


def members(part: str) -> tuple[str, ...]:
    """Return the parts of a name: itself, or the members of a group. Raises UnknownFault."""
    if part in PARTS:
        return (part,)
    if part not in GROUPS:
        choices = ", ".join((*PARTS, *GROUPS))
        raise UnknownFault(f"there is no part {part}; there are {choices}")
    return GROUPS[part]


def parse(part: str, text: str) -> Fault:
    """Return the fault `text` of a part, or of every part of a group. Raises UnknownFault."""
    parts = set(members(part))
    name, _, argument = text.partition(":")
    kind = next((k for k in REGISTRY if k.name == name and parts <= set(k.parts)), None)
    if kind is None:
        names = ", ".join(k.name for k in REGISTRY if parts <= set(k.parts))
        raise UnknownFault(f"{part} has no fault {name}; it has {names}")
    argument = argument or kind.default or ""
    if not kind.takes.accepts(argument):
        raise UnknownFault(f"{part}={text}: write {kind.spelling}")
    return Fault(kind.name, argument)


def parse_option(option: str) -> tuple[str, Fault]:
    part, equals, text = option.partition("=")
    if not equals:
        raise UnknownFault(f"{option}: write PART=FAULT, such as kyberswap=lie:2.0")
    return part, parse(part, text)


def described() -> Iterator[tuple[str, str, str]]:
    """Yield spelling, parts and text of every fault, for the help and the docs."""
    for kind in REGISTRY:
        parts = "every part" if kind.parts == PARTS else ", ".join(kind.parts)
        yield kind.spelling, "every venue" if kind.parts == VENUES else parts, kind.text


class ActiveFaults:
    """The active fault of each part, at most one.

    Listeners are called at each change, with None at the end.
    """

    def __init__(self, faults: Iterable[tuple[str, Fault]] = ()) -> None:
        self._active_faults = {part: fault for name, fault in faults for part in members(name)}
        self._listeners: list[Callable[[str, Fault | None], None]] = []

    def of(self, part: str) -> Fault | None:
        return self._active_faults.get(part)

    def shows(self, part: str, kind: str) -> bool:
        return self.kind(part) == kind

    def kind(self, part: str) -> str:
        """Return the name of the active fault of `part`; empty without one."""
        fault = self._active_faults.get(part)
        return fault.kind if fault else ""

    def active(self) -> dict[str, str]:
        """Return the spelling of every active fault, by part."""
        return {part: str(fault) for part, fault in sorted(self._active_faults.items())}

    def put(self, part: str, text: str) -> Fault:
        """Replace the fault of a part or of every part of a group. Raises UnknownFault."""
        fault = parse(part, text)
        for member in members(part):
            self._active_faults[member] = fault
            self._notify(member, fault)
        return fault

    def clear(self, part: str) -> None:
        """End the fault of a part or of every part of a group. Raises UnknownFault."""
        for member in members(part):
            self._active_faults.pop(member, None)
            self._notify(member, None)

    def listen(self, listener: Callable[[str, Fault | None], None]) -> None:
        self._listeners.append(listener)

    def _notify(self, part: str, fault: Fault | None) -> None:
        for listener in self._listeners:
            listener(part, fault)
