"""The depth of JSON text, counted without decoding it."""

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietswap.rules.json_depth import is_deeper


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        (b"", 0),
        (b"1", 0),
        (b"[]", 1),
        (b"[[],[],{}]", 2),
        (b'{"a":{"b":[1]},"c":[]}', 3),
        (b"[" * 300 + b"]" * 300, 300),
        (b"[]" * 300, 1),
        (b'["[[[", "\\"[[{"]', 1),
        (b'[[["[[[', 3),
    ],
)
def test_the_depth_is_counted_outside_strings(text: bytes, depth: int) -> None:
    assert not is_deeper(text, depth)
    assert depth == 0 or is_deeper(text, depth - 1)


def deepest(text: bytes) -> int:
    """Return the greatest depth, byte by byte."""
    depth = most = 0
    inside = escaped = False
    for byte in text:
        if inside:
            inside = escaped or byte != ord('"')
            escaped = not escaped and byte == ord("\\")
        elif byte in b"[{":
            depth += 1
            most = max(most, depth)
        elif byte in b"]}":
            depth -= 1
        else:
            inside = byte == ord('"')
    return most


TRICKY = st.text('"\\[]{}a', max_size=6)
VALUES = st.recursive(
    TRICKY, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TRICKY, inner, max_size=3)
)


@given(value=VALUES, cut=st.integers(0, 40))
def test_it_is_the_depth_that_is_counted_byte_by_byte(value: object, cut: int) -> None:
    """Also where the text ends before its value does."""
    whole = json.dumps(value).encode()
    for text in (whole, whole[: max(len(whole) - cut, 0)]):
        depth = deepest(text)
        assert not is_deeper(text, depth)
        assert depth == 0 or is_deeper(text, depth - 1)


@pytest.mark.parametrize("opening", [b"[", b'{"":', b'["[[",'])
def test_a_hostile_text_needs_little_memory(opening: bytes) -> None:
    text = opening * (2**20 // len(opening))
    tracemalloc.start()
    try:
        assert is_deeper(text, 200)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20 * len(text)
