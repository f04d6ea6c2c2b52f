"""Reads the body of a request, limited in size, time and memory."""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

import msgspec
import msgspec.inspect

from quietswap.rules.clients import party_of
from quietswap.rules.contract.requests import OWN_CODE
from quietswap.rules.errors.base import Details, PayloadTooLarge, UnsupportedMediaType
from quietswap.rules.errors.requests import MissingParameter, ValidationError
from quietswap.rules.json_depth import is_deeper
from quietswap.service.api.parsing.query import (
    MOST_UNKNOWN,
    TooManyUnknownNames,
    find_misspelt,
    shown,
)


# Limits the memory of request bodies: of each client, and of all clients together.
#
# A body counts from its first byte until its request is answered. Without the limit one client
# could start hundreds of large bodies and finish none, and each would stay in memory until its
# timeout.
class BodyMemoryFull(Exception):
    """A limit would be exceeded: that of one client if `of_client`, else that of all clients."""

    def __init__(self, *, of_client: bool, limit: int) -> None:
        super().__init__(f"more than {limit} bytes of bodies at a time")
        self.of_client = of_client
        self.limit = limit


class BodyMemory:
    """The bytes of bodies: `held` now, at most `total` and `per_client`. One per process.

    Visitors of the web page hold at most half of them, those of one address as much as a client.
    """

    def __init__(self, total: int, per_client: int) -> None:
        self._total = total
        self._per_client = per_client
        self.held = 0
        self._by_client: Counter[str] = Counter()
        self._by_visitors = 0

    @contextmanager
    def reserve(self, client_id: str) -> Iterator[Callable[[int], None]]:
        """Yield what reserves more bytes for one body. At the end of the block all are released."""
        sizes: list[int] = []

        def grow(size: int) -> None:
            self.take(client_id, size)
            sizes.append(size)

        try:
            yield grow
        finally:
            self.take(client_id, -sum(sizes))

    def take(self, client_id: str, size: int) -> None:
        """Reserve `size` more bytes, or release them if it is negative.

        Raises BodyMemoryFull and then reserves none.
        """
        party = party_of(client_id)
        if self._by_client[party.member] + size > self._per_client:
            raise BodyMemoryFull(of_client=True, limit=self._per_client)
        if party.is_visitors and self._by_visitors + size > self._total // 2:
            raise BodyMemoryFull(of_client=True, limit=self._total // 2)
        if self.held + size > self._total:
            raise BodyMemoryFull(of_client=False, limit=self._total)
        self.held += size
        self._by_client[party.member] += size
        self._by_visitors += size * party.is_visitors
        if not self._by_client[party.member]:
            del self._by_client[party.member]


_decoder = msgspec.json.Decoder()
_MOST_LEVELS = 100
"""Far beyond any body of the interface."""


class Kind(Enum):
    """The JSON types of body fields, by the Python types they decode to."""

    STRING = (str,)
    NUMBER = (int, float)
    OBJECT = (dict,)
    ARRAY = (list,)


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a body, derived from its contract Struct.

    `has_own_code` leaves a wrong JSON type to the check of the value, where the interface has a
    code of its own for it. `inside` are the members of an object; other members are tolerated,
    unless their name is nearly a known one. `untyped` are known members of any JSON type.
    """

    name: str
    kind: Kind
    required: bool
    has_own_code: bool = False
    inside: tuple["Field", ...] = ()
    untyped: tuple[str, ...] = ()


def struct_fields(kind: type[msgspec.Struct]) -> tuple[msgspec.inspect.Field, ...]:
    """Return the members of a Struct with their types and limits."""
    struct_type = msgspec.inspect.type_info(kind)
    assert isinstance(struct_type, msgspec.inspect.StructType)
    return struct_type.fields


def unwrap(type_: msgspec.inspect.Type) -> msgspec.inspect.Type:
    """Return the type of a member without its documentation and without null."""
    while isinstance(type_, msgspec.inspect.Metadata | msgspec.inspect.UnionType):
        if isinstance(type_, msgspec.inspect.Metadata):
            type_ = type_.type
        else:
            type_ = next(t for t in type_.types if not isinstance(t, msgspec.inspect.NoneType))
    return type_


_KINDS: dict[type[msgspec.inspect.Type], Kind] = {
    msgspec.inspect.StrType: Kind.STRING,
    msgspec.inspect.FloatType: Kind.NUMBER,
    msgspec.inspect.CustomType: Kind.NUMBER,  # WireFigure: amounts of bodies are plain texts
    msgspec.inspect.StructType: Kind.OBJECT,
    msgspec.inspect.DictType: Kind.OBJECT,
    msgspec.inspect.ListType: Kind.ARRAY,
}


@lru_cache
def body_fields(kind: type[msgspec.Struct]) -> tuple[Field, ...]:
    """Return the typed members of a body or of an object inside it."""
    return tuple(
        _field(member)
        for member in struct_fields(kind)
        if not isinstance(unwrap(member.type), msgspec.inspect.AnyType)
    )


def _field(member: msgspec.inspect.Field) -> Field:
    inner_type = unwrap(member.type)
    inside: tuple[Field, ...] = ()
    untyped: tuple[str, ...] = ()
    if isinstance(inner_type, msgspec.inspect.StructType):
        inside = body_fields(inner_type.cls)
        names = {field.name for field in inside}
        untyped = tuple(n.encode_name for n in inner_type.fields if n.encode_name not in names)
    kind, own = _KINDS[type(inner_type)], _has_own_code(member.type)
    return Field(member.encode_name, kind, member.required, own, inside, untyped)


def _has_own_code(type_: msgspec.inspect.Type) -> bool:
    while isinstance(type_, msgspec.inspect.Metadata):
        if OWN_CODE in (type_.extra or {}):
            return True
        type_ = type_.type
    return False


def parse_body(raw: bytes, kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the body once its shape is right; null counts as absent.

    Raises ValidationError (reason MALFORMED) for misspelt members and for an object with more
    unknown ones than are looked at; MissingParameter with the dotted
    path of the first required field that is absent; else ValidationError (reason MALFORMED) with
    the path of each field of a wrong JSON type.
    """
    body, fields = _decoded(raw), body_fields(kind)
    slips = list(_slips(body, fields, (), ""))
    if slips:
        raise malformed(slips)
    missing: list[str] = []
    faults: list[Details] = []
    _compare(body, fields, "", missing, faults)
    if missing:
        raise MissingParameter(field=missing[0])
    if faults:
        raise malformed(faults)
    return body


def _slips(
    value: dict[str, Any], fields: Sequence[Field], untyped: Sequence[str], prefix: str
) -> Iterator[Details]:
    field_names = {field.name for field in fields} | set(untyped)
    try:
        for name, right in find_misspelt(value, field_names):
            yield {"field": prefix + name, "expected": prefix + right, "provided": name}
    except TooManyUnknownNames:
        most = f"at most {MOST_UNKNOWN} unknown members"
        yield {"field": prefix.rstrip(".") or "$", "expected": most, "provided": "more"}
    for field in fields:
        inner = value.get(field.name)
        if field.inside and isinstance(inner, dict):
            yield from _slips(inner, field.inside, field.untyped, f"{prefix}{field.name}.")


_IN_WORDS = {"object": "an object", "array": "an array", "null": "null"}


def malformed(faults: Sequence[Details]) -> ValidationError:
    first = faults[0]
    where = "it" if first["field"] == "$" else first["field"]
    expected, provided = first["expected"], first["provided"]
    if provided == "more":
        text = f"{where} has more than {expected.removeprefix('at most ')}"
    elif provided == "two":
        text = f"{where} is given twice"
    elif where == "it":
        text = f"it must be {expected}; received: {provided}"
    elif where.endswith(provided):
        text = f"{where} is not a known field: did you mean {expected}?"
    else:
        right, wrong = (_IN_WORDS.get(kind, f"a {kind}") for kind in (expected, provided))
        text = f"{where} must be {right}, not {wrong}"
    if faults[1:]:
        text += f"; see also {', '.join(fault['field'] for fault in faults[1:])}"
    return ValidationError(f"the body is malformed: {text}", faults, reason="MALFORMED")


def _decoded(raw: bytes) -> dict[str, Any]:
    if is_deeper(raw, _MOST_LEVELS):
        most = f"at most {_MOST_LEVELS} nested arrays and objects"
        raise malformed([{"field": "$", "expected": most, "provided": "more"}])
    try:
        body = _decoder.decode(raw)
    except msgspec.DecodeError as error:
        raise _not_json(_text_fault(raw) or str(error)) from error
    except UnicodeDecodeError as error:  # msgspec lets it through for bytes inside a string
        raise _not_json("text that is not UTF-8") from error
    if not isinstance(body, dict):
        raise _not_json(_type_name(body))
    repeated = _repeated(raw)
    if repeated is not None:
        once = {"field": shown(repeated), "expected": "one member of this name", "provided": "two"}
        raise malformed([once])
    return body


def _repeated(raw: bytes) -> str | None:
    """Return the name of a member that an object of valid JSON text has twice; None: none has.

    Readers differ in which of the two they take, and msgspec does not say that there are two.
    """
    repeated: list[str] = []

    def note(members: list[tuple[str, object]]) -> None:
        names = Counter(name for name, _ in members)
        repeated.extend(name for name, count in names.items() if count > 1)

    def skip(_: str) -> None:
        """Convert no number: nothing is read but names."""

    json.loads(raw, object_pairs_hook=note, parse_int=skip, parse_float=skip, parse_constant=skip)
    return repeated[0] if repeated else None


def _text_fault(raw: bytes) -> str | None:
    """Return what is wrong with text that the decoder refuses; None: its own words say it."""
    if not raw.strip():
        return "it is empty"
    try:
        json.dumps(json.loads(raw), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "a string with half of a surrogate pair"
    except json.JSONDecodeError as error:
        return "it ends too early" if error.pos >= len(error.doc.rstrip()) else None
    except ValueError:
        return None
    return None


def _not_json(provided: str) -> ValidationError:
    fault = {"field": "$", "expected": "a JSON object", "provided": provided}
    message = f"the body is not a JSON object ({provided})"
    return ValidationError(message, [fault], reason="MALFORMED")


def _compare(
    value: dict[str, Any],
    fields: Sequence[Field],
    prefix: str,
    missing: list[str],
    faults: list[Details],
) -> None:
    for field in fields:
        path = prefix + field.name
        member = value.get(field.name)
        if member is None:
            if field.required:
                missing.append(path)
        elif type(member) in field.kind.value:
            _compare(member, field.inside, path + ".", missing, faults)
        elif not field.has_own_code:
            expected = field.kind.name.lower()
            faults.append({"field": path, "expected": expected, "provided": _type_name(member)})


def _type_name(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return next(kind.name.lower() for kind in Kind if type(value) in kind.value)


Headers = Mapping[bytes, bytes]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


def check_media_type(headers: Headers) -> None:
    """Raise UnsupportedMediaType unless the body is plain `application/json` in UTF-8."""
    provided = headers.get(b"content-type", b"").decode("latin-1")
    encoding = headers.get(b"content-encoding", b"identity").decode("latin-1")
    media, *options = (part.strip().lower() for part in provided.split(";"))
    charset = next(
        (o.partition("=")[2].strip('"') for o in options if o.startswith("charset=")), ""
    )
    if media != "application/json" or charset not in ("", "utf-8", "utf8"):
        raise UnsupportedMediaType(provided=shown(provided))
    if encoding.strip().lower() != "identity":
        named = shown(f"Content-Encoding: {encoding}")
        raise UnsupportedMediaType(provided=named, is_compressed=True)


async def read_body(
    headers: Headers, receive: Receive, limit: int, timeout_s: float, grow: Callable[[int], None]
) -> bytes:
    """Return a body of at most `limit` bytes.

    `grow` reserves its bytes. Raises PayloadTooLarge, BodyMemoryFull and ValidationError.

    A declared length above the limit is refused before a byte is read. A body is complete at its
    declared length: the closing empty message of the server is not awaited. A body that is cut off
    or late is malformed (ValidationError), so a slow client cannot hold a connection.
    """
    length = headers.get(b"content-length", b"")
    declared = int(length[:20]) if length.isdigit() else None
    if declared is not None and declared > limit:
        raise PayloadTooLarge(limit=limit)
    try:
        async with asyncio.timeout(timeout_s):
            return await _received(receive, declared, limit, grow)
    except TimeoutError as error:
        raise _incomplete(f"a part of it in {timeout_s:g} seconds") from error


def _incomplete(provided: str) -> ValidationError:
    return malformed([{"field": "$", "expected": "a whole body", "provided": provided}])


async def _received(
    receive: Receive, declared: int | None, limit: int, grow: Callable[[int], None]
) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _incomplete("a part of it")
        chunk: bytes = message.get("body", b"")
        grow(len(chunk))
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:
            raise PayloadTooLarge(limit=limit)
        if size == declared or not message.get("more_body", False):
            return b"".join(chunks)
