"""Base classes and types of members that all resources share.

Which members an answer always has follows from its Struct:
- Without a default: always sent.
- With a default: always sent by this service. The default is what a client reads where another
  version of the service does not send the member.
- Default None or False in a Struct with `omit_defaults`: absent where the value is not known.

The service builds a Struct only to encode it, so it passes amounts, USD values and times in their
JSON form (see `quietswap.api.responses`): msgspec then encodes without a Python call per value. A
decoded Struct has ints, Decimals and datetimes.
"""

from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

import msgspec
from msgspec import Meta

from quietswap.contract import examples, limits

T = TypeVar("T")

BESIDE_DATA = {"x-beside-data": True}
"""Marks a member of a Struct that is sent in the envelope, beside `data`."""


def doc(description: str, example: Any = None, **schema: Any) -> Meta:
    """Return the documentation of a member; `schema` is further JSON Schema of its value.

    This JSON Schema is not checked when a client decodes: a client reports a wrong value itself.
    """
    examples_ = None if example is None else [example]
    return Meta(description=description, examples=examples_, extra_json_schema=schema or None)


def ref(kind: str) -> dict[str, str]:
    """Return JSON Schema that refers to the Struct with the name `kind`."""
    return {"$ref": f"#/components/schemas/{kind}"}


class WireAmount(int):
    """Whole number of smallest units or wei that is a decimal string in JSON."""


class WireStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of all resources: snake_case in Python, camelCase in JSON."""

    json_schema: ClassVar[dict[str, Any]] = {}
    """JSON Schema of the whole object, beside that of its members."""


class RequestStruct(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all request bodies. null means the same as an absent member."""


Count = Annotated[int, Meta(ge=0, le=limits.MAX_SAFE_INTEGER)]
"""A block, a nonce, gas units, milliseconds or a number of orders."""
AmountText = Annotated[WireAmount, doc("Decimal digits", pattern=limits.AMOUNT_PATTERN)]
AddressText = Annotated[
    str, doc("EIP-55 checksummed", format="eip55", pattern=limits.ADDRESS_PATTERN)
]
"""JSON Schema cannot express a checksum: the format names it."""
EtherText = Annotated[str, doc("Decimal ETH", pattern=limits.ETHER_PATTERN)]
HexText = Annotated[str, doc("0x-prefixed hex", pattern=limits.HEX_PATTERN)]
HashText = Annotated[str, doc("Transaction hash", examples.TX_HASH, pattern=limits.HASH_PATTERN)]
UrlText = Annotated[str, doc("URL", format="uri")]
Figure = Annotated[Decimal, doc("USD or percent, rounded to 6 decimals")]
Timestamp = Annotated[datetime, doc("ISO 8601, UTC", examples.TIME, format="date-time")]

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

RelayName = Annotated[str, doc("Display name of the relay", examples.RELAY)]
Tier = Annotated[
    Count, doc("Protection tier: 2 is the relay, 4 is the operator's second relay", 2, enum=[2, 4])
]
EnvelopeTimestamp = Annotated[Count, doc("Unix time in milliseconds", 1_800_000_000_000)]


class Envelope(WireStruct, Generic[T], frozen=True, kw_only=True):
    """A successful answer."""

    ok: Annotated[bool, doc("Always true", const=True)]
    data: Annotated[T, doc("The answer")]


class RawEnvelope(Envelope[msgspec.Raw], frozen=True, kw_only=True):
    """A successful answer whose `data` is JSON: already encoded, or not decoded yet."""


@lru_cache
def member_names(kind: type[WireStruct]) -> tuple[str, ...]:
    """Return the names of a Struct's members in JSON."""
    return tuple(field.encode_name for field in msgspec.structs.fields(kind))
