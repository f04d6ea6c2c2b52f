"""The caps of Python's functions for TypeScript: 60 lines and three levels of blocks.

The sources are not parsed: strings, comments and regular expressions are blanked, and brackets are
matched. That is exact enough for sources that a formatter keeps.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

_BLANKED = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\""
    r"|(?<=[(=,:!&|?\[])\s*/(?![/*])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*",
    re.DOTALL,
)
_PAIRS = {"(": ")", "{": "}", "[": "]"}
_BLOCK = re.compile(r"\b(if|for|while|switch|catch|try|else|do|finally)\s*$")
_NAME = re.compile(r"([\w$]+)\s*(?:<[^<>]*>)?\s*$")
_RETURNS = re.compile(r"\)\s*:\s*[^(){};=]*(?:\{[^{}]*\}[^(){};=]*)?$")
_ARROW = re.compile(r"=>\s*$")
_DECLARED = re.compile(r"(?:const|let|function|async)\s+([\w$]+)|([\w$]+)\s*[=:(]")


@dataclass(frozen=True, slots=True)
class Function:
    """A function with a body: the first line of its declaration, its lines and its nesting."""

    name: str
    line: int
    lines: int
    nesting: int


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def _templates(text: str) -> str:
    """Blank the literal parts of template strings; the code in `${}` stays."""
    shown, depth = list(text), 0
    ends: list[int] = []
    for place, char in enumerate(text):
        inside = bool(ends) and ends[-1] == -1
        if char == "`" and text[place - 1] != "\\":
            if inside:
                ends.pop()
            else:
                ends.append(-1)
            shown[place] = " "
        elif inside and text.startswith("${", place):
            ends.append(depth)
            shown[place] = " "
        elif not inside and char in "{}":
            depth += 1 if char == "{" else -1
            if char == "}" and ends and ends[-1] == depth:
                ends.pop()
        elif inside and char != "\n":
            shown[place] = " "
    return "".join(shown)


def _brackets(text: str) -> list[tuple[int, int]]:
    """Return the places of matching brackets, by their opening."""
    opened: list[int] = []
    pairs = []
    for place, char in enumerate(text):
        if char in _PAIRS:
            opened.append(place)
        elif opened and char == _PAIRS[text[opened[-1]]]:
            pairs.append((opened.pop(), place))
    return sorted(pairs)


def _is_block(before: str, opening_of: dict[int, int]) -> bool:
    """Whether `{` after this text opens the block of a statement."""
    head = before.rstrip()
    if head.endswith(")"):
        head = before[: opening_of.get(len(head) - 1, 0)]
    return _BLOCK.search(head) is not None


def _is_function(text: str, place: int, opening_of: dict[int, int]) -> bool:
    """Whether a bracket opens the body of a function."""
    before = text[:place].rstrip()
    if _ARROW.search(before[-8:]):
        return True
    if text[place] == "(" or _is_block(before, opening_of):
        return False
    return before.endswith(")") or _RETURNS.search(before[-300:]) is not None


def _start(text: str, body: int, opening_of: dict[int, int]) -> tuple[int, str]:
    """Return the place and name of the declaration whose body begins at `body`."""
    closing = text.rfind(")", 0, body)
    head = opening_of.get(closing, body)
    begin = text.rfind("\n", 0, head) + 1
    found = _DECLARED.search(text[begin:head])
    return begin, (found[1] or found[2]) if found else "a function"


def functions(source: str) -> Iterator[Function]:
    """Yield the functions of a source."""
    text = _templates(_BLANKED.sub(_blank, source))
    pairs = _brackets(text)
    opening_of = {end: start for start, end in pairs}
    bodies = [(a, b) for a, b in pairs if text[a] in "({" and _is_function(text, a, opening_of)]
    blocks = [
        (a, b) for a, b in pairs if text[a] == "{" and _is_block(text[:a].rstrip(), opening_of)
    ]
    ends = [place for place, char in enumerate(text) if char == "\n"]
    for start, end in bodies:
        inner = [(a, b) for a, b in bodies if start < a and b < end]
        own = [
            (a, b)
            for a, b in blocks
            if start < a and b < end and not any(c < a and b < d for c, d in inner)
        ]
        begin, name = _start(text, start, opening_of)
        first, last = bisect_right(ends, begin - 1), bisect_right(ends, end)
        deepest = max((sum(c <= a and b <= d for c, d in own) for a, b in own), default=0)
        yield Function(name, first + 1, last - first + 1, deepest)
