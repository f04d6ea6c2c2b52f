"""Base classes and types of members that all resources share.

Which members an answer always has follows from its Struct:
- Without a default: always sent.
- With a default: always sent by this service. The default is what a client reads where another
  version of the service does not send the member.
- Default None or False in a Struct with `omit_defaults`: absent where the value is not known.

The service builds a Struct only to encode it, so it passes amounts, USD values and times in their
JSON form (see `quietswap.service.api.json`): msgspec then encodes without a Python call per value.
A decoded Struct has ints, Decimals and datetimes.
"""

from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

import msgspec
from msgspec import Meta

# Values for the examples of the documentation
USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
ROUTER = "0x6131B5fae19EA4f9D964eAc0408E4408b66337b5"
DELEGATE = "0x000000009B1D0aF20D8C6d0A44e162d11F9b8f00"
CALLDATA = "0xe21fd0e9"
SIGNED = "0x02f8b0018080"
TX_HASH = "0x" + "5c" * 32
ORDER_ID = "ord_01"
WRAP_QUOTE_ID = "weth_wrap_1800000000000_4f3a9c"
ONE_ETHER = "1000000000000000000"
RELAY = "MEV Blocker"
TIME = "2027-01-15T08:00:00.000Z"
SWAP_METADATA: dict[str, Any] = {
    "provider": "mev_relay",
    "tier": 2,
    "mevRelayMetadata": {
        "endpoint": "https://rpc.mevblocker.io/noreverts?shareSafe=1&referrer=quietswap",
        "endpointType": "noreverts",
        "shareMode": "shareSafe",
        "revertProtection": True,
        "useBoost": False,
        "expectedRebate": 0.04,
    },
}
WRAP_METADATA: dict[str, Any] = {
    "provider": "mev_relay",
    "tier": 2,
    "mevRelayMetadata": {
        "endpoint": "https://rpc.mevblocker.io/fullprivacy?referrer=quietswap",
        "endpointType": "fullprivacy",
        "shareMode": "none",
        "revertProtection": False,
        "useBoost": False,
    },
}

POLLING_INTERVAL_S = 10
MAX_SAFE_INTEGER = 2**53 - 1
"""The largest integer that every JSON reader holds exactly."""

ADDRESS_PATTERN = "^0x[0-9a-fA-F]{40}$"
AMOUNT_PATTERN = "^[0-9]+$"
ETHER_PATTERN = "^[0-9]+([.][0-9]{1,18})?$"
HASH_PATTERN = "^0x[0-9a-f]{64}$"
HEX_PATTERN = "^0x([0-9a-f]{2})*$"
ID_PATTERN = "^[!-~]{1,128}$"
"""Printable ASCII: no store holds another id, and PostgreSQL refuses NUL."""
SEQUENCE_PATTERN = "^[0-9]{1,15}$"
UINT256_PATTERN = "^[0-9]{1,78}$"

T = TypeVar("T")

USUAL = {"x-usual": True}
"""Marks an optional parameter that most requests have: a form begins with its example."""
BESIDE_DATA = {"x-beside-data": True}
"""Marks a member of a Struct that is sent in the envelope, beside `data`."""


def doc(description: str, example: Any = None, **schema: Any) -> Meta:
    """Return the documentation of a member; `schema` is further JSON Schema of its value.

    `enum` may be a StrEnum. This JSON Schema is not checked when a client decodes: a client reports
    a wrong value itself.
    """
    if "enum" in schema:
        schema["enum"] = [getattr(each, "value", each) for each in schema["enum"]]
    examples = None if example is None else [example]
    return Meta(description=description, examples=examples, extra_json_schema=schema or None)


def ref(kind: str) -> dict[str, str]:
    """Return JSON Schema that refers to the Struct with the name `kind`."""
    return {"$ref": f"#/components/schemas/{kind}"}


class WireAmount(int):
    """Whole number of smallest units or wei that is a decimal string in JSON."""


class WireFigure(Decimal):
    """USD value or percentage that is a number in JSON."""


MAX_AMOUNT = 2**256 - 1
"""The largest EVM integer; larger amounts cannot exist."""
_MOST_DIGITS = len(str(MAX_AMOUNT))
_MOST_USD, _LEAST_USD = Decimal(10) ** 18, Decimal(10) ** -30


def amount(text: str) -> int:
    """Return an amount of smallest units or wei. Raises ValueError unless it fits into 256 bits."""
    if not (text.isascii() and text.isdigit()) or len(text) > _MOST_DIGITS:
        raise ValueError("expected a decimal string of at most 78 digits")
    number = int(text)
    if number > MAX_AMOUNT:
        raise ValueError("an amount is at most 2^256 - 1")
    return number


def from_json(kind: type, value: object) -> object:
    """Return a JSON value as the type of the contract that msgspec asks for (`dec_hook`).

    Raises ValueError for a text where a number is expected, a number where digits are, and for
    USD values and percentages outside any realistic range.
    """
    if kind is WireAmount and isinstance(value, str):
        return WireAmount(amount(value))
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is not WireFigure or not is_number:
        raise ValueError("expected a number" if kind is WireFigure else "expected a decimal string")
    number = WireFigure(repr(value))
    if number and not _LEAST_USD <= abs(number) <= _MOST_USD:
        raise ValueError("expected a number between -10^18 and 10^18, of at most 30 decimals")
    return number


class WireStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of all resources: snake_case in Python, camelCase in JSON."""

    json_schema: ClassVar[dict[str, Any]] = {}
    """JSON Schema of the whole object, beside that of its members."""


class RequestStruct(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all request bodies. null means the same as an absent member."""


Count = Annotated[int, Meta(ge=0, le=MAX_SAFE_INTEGER)]
"""A block, a nonce, gas units, milliseconds or a number of orders."""
AmountText = Annotated[WireAmount, doc("Decimal digits", pattern=AMOUNT_PATTERN)]
AddressText = Annotated[str, doc("EIP-55 checksummed", format="eip55", pattern=ADDRESS_PATTERN)]
"""JSON Schema cannot express a checksum: the format names it."""
EtherText = Annotated[str, doc("Decimal ETH", pattern=ETHER_PATTERN)]
HexText = Annotated[str, doc("0x-prefixed hex", pattern=HEX_PATTERN)]
HashText = Annotated[str, doc("Transaction hash", TX_HASH, pattern=HASH_PATTERN)]
UrlText = Annotated[str, doc("URL", format="uri")]
Figure = Annotated[WireFigure, doc("USD or percent, rounded to 6 decimals")]
Timestamp = Annotated[datetime, doc("ISO 8601, UTC", TIME, format="date-time")]

WrapOperation = Annotated[
    Literal["wrap", "unwrap"], doc("Direction of the conversion", "wrap", type="string")
]
OrderState = Annotated[
    Literal["pending", "submitted", "mining", "confirmed", "failed", "cancelled"],
    doc("Order status", "submitted", type="string"),
]
OrderKindName = Annotated[
    Literal["swap", "wrap", "cancel", "approval", "transaction"],
    doc("What the order's transaction does", "approval", type="string"),
]
OrderKindFilter = OrderKindName | Literal["any"]
TERMINAL: frozenset[OrderState] = frozenset(("confirmed", "failed", "cancelled"))

RelayName = Annotated[str, doc("Display name of the relay", RELAY)]
Tier = Annotated[
    Count, doc("Protection tier: 2 is the relay, 4 is the operator's second relay", 2, enum=[2, 4])
]
ExecutableUntil = Annotated[
    Timestamp | None,
    doc(
        "The router executes it in no block after this time (ISO 8601, UTC); null if the router"
        " has no deadline",
        TIME,
    ),
]
EnvelopeTimestamp = Annotated[Count, doc("Unix time in milliseconds", 1_800_000_000_000)]


class Envelope(WireStruct, Generic[T], frozen=True, kw_only=True):
    """A successful answer."""

    ok: Annotated[bool, doc("Always true", const=True)]
    data: Annotated[T, doc("The answer")]

    def __post_init__(self) -> None:
        if self.ok is not True:
            raise ValueError("a successful answer has ok: true")


@lru_cache
def member_names(kind: type[WireStruct]) -> tuple[str, ...]:
    """Return the names of a Struct's members in JSON."""
    return tuple(field.encode_name for field in msgspec.structs.fields(kind))
