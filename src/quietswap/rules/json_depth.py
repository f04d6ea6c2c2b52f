"""Nesting depth of JSON text, measured without decoding it.

The JSON decoder stops at the interpreter's recursion limit (`Py_EnterRecursiveCall`). A library
that raises this limit would let 10^5 brackets overflow the C stack and end the process.
"""

import sys
from itertools import accumulate

_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_OTHERS = bytes(byte for byte in range(256) if byte not in b'"[{]}')

_SAFE_RECURSION = 1_500
"""The decoder takes about 310 bytes of C stack for a level (measured); the smallest default stack
of a thread is 512 KiB. CPython's own limit is 1,000."""
_LEVELS_BEYOND = 200


def may_overflow(text: bytes) -> bool:
    """Return whether decoding could overflow the stack.

    Under a usual recursion limit it cannot: the decoder raises RecursionError, and no text is
    scanned. Under a raised one more than 200 levels are too many.
    """
    return sys.getrecursionlimit() > _SAFE_RECURSION and is_deeper(text, _LEVELS_BEYOND)


def is_deeper(text: bytes, levels: int) -> bool:
    """Return whether JSON text has more than `levels` nested arrays and objects.

    Brackets inside strings do not count. The answer is never False for text that a decoder enters
    more deeply before it refuses it; other text that is no JSON gets any answer.
    """
    if text.count(b"[") + text.count(b"{") <= levels:
        return False
    escaped = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    # Two adjacent quotes can go: all that follows stays inside or outside of a string.
    marks = escaped.translate(None, _OTHERS).replace(b'""', b"")
    outside = b"".join(marks.split(b'"')[::2])
    steps = memoryview(outside.translate(_STEPS)).cast("b")
    return max(accumulate(steps), default=0) > levels
