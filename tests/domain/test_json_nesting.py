"""The depth of JSON text, counted without decoding it."""

import pytest

from quietswap.domain.json_nesting import is_deeper


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
