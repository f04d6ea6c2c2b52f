"""Every fault a part of the sandbox can show, in one closed registry, and which are switched on.

A fault is written `name` or `name:argument`, for example `lie:2.0`; a part shows one at a time.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import Enum

VENUES = ("kyberswap", "velora", "sushi", "openocean", "zeroex", "oneinch")
WITH_SPENDER = ("velora", "zeroex")
"""The vendors whose answer names a spender beside the router."""
RELAYS = ("relay", "backup_relay")
NODE = ("node",)
PRICES = ("defillama", "coingecko")
PARTS = (*VENUES, *RELAYS, *NODE, *PRICES)
GROUPS = {"venues": VENUES, "relays": RELAYS, "prices": PRICES}
"""Names that stand for several parts at once."""


class Takes(Enum):
    """What stands behind the colon of a fault; the value is how help writes it."""

    NOTHING = ""
    MILLISECONDS = "MS"
    FACTOR = "FACTOR"
    BLOCKS = "BLOCKS"
    RATE = "RATE"
    STATUS = "STATUS"
    TEXT = "TEXT"


_BETWEEN = {
    Takes.MILLISECONDS: (Decimal(0), Decimal(600_000)),
    Takes.BLOCKS: (Decimal(1), Decimal(64)),
    Takes.STATUS: (Decimal(200), Decimal(599)),
    Takes.FACTOR: (Decimal(0), Decimal(1000)),
    Takes.RATE: (Decimal(0), Decimal(1)),
}


@dataclass(frozen=True, slots=True)
class Kind:
    """A row of the registry; with a `default` the argument may be left out."""

    name: str
    text: str
    parts: tuple[str, ...] = PARTS
    takes: Takes = Takes.NOTHING
    default: str | None = None

    @property
    def spelling(self) -> str:
        """How it is written, with the argument in brackets when it may be left out."""
        if self.takes is Takes.NOTHING:
            return self.name
        argument = f":{self.takes.value}"
        return self.name + (f"[{argument}]" if self.default else argument)


REGISTRY = (
    Kind("hang", "takes the request and never answers"),
    Kind("timeout", "closes the connection after 10 s without having sent a byte"),
    Kind("delay", "does its work at once, answers late", takes=Takes.MILLISECONDS),
    Kind("drip", "answers with one blank every 50 ms, without end"),
    Kind("half_answer", "does its work, closes the connection in the middle of the body"),
    Kind("down", "refuses connections"),
    Kind("500", "answers with status 500"),
    Kind("429", "answers with status 429 and a text that is not JSON"),
    Kind("html", "answers with a web page", takes=Takes.STATUS, default="403"),
    Kind("garbage", "answers with status 200 and bytes that are not JSON"),
    Kind("redirect", "answers with a redirect to another port"),
    Kind("huge_body", "answers with 64 MB of JSON"),
    Kind("gzip_bomb", "answers with 256 MB packed into 256 kB"),
    Kind("deep_json", "answers with 100 000 nested arrays"),
    Kind("no_route", "knows no route, in the vendor's words", VENUES),
    Kind("unknown_token", "does not know the token, in the vendor's words", VENUES),
    Kind("rate_limited", "asks to slow down, in the vendor's words", VENUES),
    Kind("refused", "refuses the caller, in the vendor's words", VENUES),
    Kind("lie", "promises the truth times the factor", VENUES, Takes.FACTOR),
    Kind("short_minimum", "writes half of the minimum into the calldata", VENUES),
    Kind("foreign_recipient", "writes a stranger into the calldata as recipient", VENUES),
    Kind("foreign_router", "names a stranger's contract as router", VENUES),
    Kind("spender_differs", "names a spender that is not the router", WITH_SPENDER),
    Kind("value_not_zero", "asks for 1 ETH with the transaction", VENUES),
    Kind("lose", "accepts transactions and forgets them", RELAYS),
    Kind("withhold", "keeps transactions, puts none into a block while it lasts", RELAYS),
    Kind("refuse", "refuses transactions with this text", RELAYS, Takes.TEXT),
    Kind("already_known", "keeps transactions, says it knew them before", RELAYS),
    Kind("answer_lost", "keeps transactions, closes the connection without an answer", RELAYS),
    Kind(
        "failed_then_mine",
        "reports transactions as failed, puts them into a later block all the same",
        RELAYS,
        Takes.BLOCKS,
        "3",
    ),
    Kind("lag", "answers as if the newest blocks were not there yet", NODE, Takes.BLOCKS),
    Kind("fork", "answers from another fork since that many blocks", NODE, Takes.BLOCKS, "2"),
    Kind("flap", "fails this share of requests (0 to 1)", NODE, Takes.RATE),
    Kind("no_simulate", "does not know eth_simulateV1", NODE),
    Kind("late_receipts", "has no receipts of the newest block yet", NODE),
    Kind("empty_receipts", "shows receipts without a block and without a status", NODE),
    Kind("absent", "knows no token", PRICES),
    Kind("stale", "answers with prices of yesterday", PRICES),
    Kind("2x", "answers with twice the price", PRICES),
)


class BadFault(ValueError):
    """The fault or the part is not in the registry; the message says what is."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault as it is switched on; read the argument by the property of its type."""

    kind: str
    argument: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.argument}" if self.argument else self.kind

    @property
    def number(self) -> int:
        """The argument of `delay` (ms), `lag`, `fork`, `failed_then_mine` or `html`."""
        return int(self.argument)

    @property
    def share(self) -> Decimal:
        """The argument of `lie` or `flap`."""
        return Decimal(self.argument)


def members(part: str) -> tuple[str, ...]:
    """Return the parts a name stands for, itself or a group's. Raises BadFault."""
    if part in PARTS:
        return (part,)
    if part not in GROUPS:
        known = ", ".join((*PARTS, *GROUPS))
        raise BadFault(f"there is no part {part}; there are {known}")
    return GROUPS[part]


def parse(part: str, text: str) -> Fault:
    """Return the fault `text` for a part or for a group's every part. Raises BadFault."""
    parts = set(members(part))
    name, _, argument = text.partition(":")
    kind = next((k for k in REGISTRY if k.name == name and parts <= set(k.parts)), None)
    if kind is None:
        known = ", ".join(k.name for k in REGISTRY if parts <= set(k.parts))
        raise BadFault(f"{part} has no fault {name}; it has {known}")
    argument = argument or kind.default or ""
    if not _fits(kind.takes, argument):
        raise BadFault(f"{part}={text}: write {kind.spelling}")
    return Fault(kind.name, argument)


def parse_option(option: str) -> tuple[str, Fault]:
    """Return part and fault of a command line's `PART=FAULT`. Raises BadFault."""
    part, equals, text = option.partition("=")
    if not equals:
        raise BadFault(f"{option}: write PART=FAULT, such as kyberswap=lie:2.0")
    return part, parse(part, text)


def _fits(takes: Takes, argument: str) -> bool:
    low, high = _BETWEEN.get(takes, (None, None))
    if low is None or high is None:
        return bool(argument) is (takes is Takes.TEXT)
    whole = takes not in (Takes.FACTOR, Takes.RATE)
    return (argument.isdecimal() or not whole) and _is_between(argument, low, high)


def _is_between(argument: str, low: Decimal, high: Decimal) -> bool:
    try:
        return low <= Decimal(argument) <= high
    except InvalidOperation:
        return False


def described() -> Iterator[tuple[str, str, str]]:
    """Yield spelling, parts and text of every fault: the table of the help and the docs."""
    for kind in REGISTRY:
        parts = "every part" if kind.parts == PARTS else ", ".join(kind.parts)
        yield kind.spelling, "every venue" if kind.parts == VENUES else parts, kind.text


Listener = Callable[[str, Fault | None], None]


class FaultBoard:
    """Which part shows which fault now; listeners hear of each change, with None when it ends."""

    def __init__(self, faults: Iterable[tuple[str, Fault]] = ()) -> None:
        self._faults = {part: fault for name, fault in faults for part in members(name)}
        self._listeners: list[Listener] = []

    def of(self, part: str) -> Fault | None:
        """Return what `part` shows now."""
        return self._faults.get(part)

    def shows(self, part: str, kind: str) -> bool:
        """Whether `part` shows the fault named `kind`."""
        fault = self._faults.get(part)
        return fault is not None and fault.kind == kind

    def active(self) -> dict[str, str]:
        """Return part and spelling of everything switched on."""
        return {part: str(fault) for part, fault in sorted(self._faults.items())}

    def put(self, part: str, text: str) -> Fault:
        """Switch a fault on, in place of the last one, for a part or a group. Raises BadFault."""
        fault = parse(part, text)
        for member in members(part):
            self._faults[member] = fault
            self._tell(member, fault)
        return fault

    def clear(self, part: str) -> None:
        """Switch off what a part or a group shows. Raises BadFault for an unknown name."""
        for member in members(part):
            self._faults.pop(member, None)
            self._tell(member, None)

    def listen(self, listener: Listener) -> None:
        """Call `listener` with part and fault at every change from now on."""
        self._listeners.append(listener)

    def _tell(self, part: str, fault: Fault | None) -> None:
        for listener in self._listeners:
            listener(part, fault)
