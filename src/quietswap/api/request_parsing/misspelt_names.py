"""Detection of misspelt names: else a misspelt parameter is ignored and its default is used."""

from collections.abc import Collection, Iterable, Iterator

_MOST_LETTERS = 2
MOST_UNKNOWN = 50
"""Maximum number of unknown names in one object, because each comparison takes time."""
_UNIT = "Bps"
"""Aggregators take a slippage in percent, as a fraction or in bps, and name it in as many ways."""


class TooManyUnknownNames(Exception):
    """An object has more unknown names than are compared, so a misspelt one could be missed."""


def find_misspelt(names: Iterable[str], known: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield each unknown name with the known name that it resembles.

    Names resemble each other if their Levenshtein distance, ignoring case, is at most 2, or if the
    known one has a unit and the other begins as it does: `slippage` and `slippageBps`. Raises
    TooManyUnknownNames before the first result.
    """
    unknown = [name for name in names if name not in known] if known else []
    if len(unknown) > MOST_UNKNOWN:
        raise TooManyUnknownNames
    for name in unknown:
        distances = [(_spelling_distance(name.lower(), right), right) for right in known]
        least, right = min(distances, default=(_MOST_LETTERS + 1, ""))
        if least <= _MOST_LETTERS:
            yield name, right


def _spelling_distance(lowered: str, right: str) -> int:
    """Return how far an unknown name, in lower case, is from a known one."""
    if right.endswith(_UNIT) and lowered.startswith(right.removesuffix(_UNIT).lower()):
        return 0
    return _distance(lowered, right.lower())


def _distance(one: str, other: str) -> int:
    """Return the Levenshtein distance if it is at most `_MOST_LETTERS`, else any larger number."""
    if abs(len(one) - len(other)) > _MOST_LETTERS:
        return _MOST_LETTERS + 1
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, 1):
        last, row = row, [number]
        for place, right in enumerate(other):
            changed = last[place] + (letter != right)
            row.append(min(changed, last[place + 1] + 1, row[place] + 1))
        if min(row) > _MOST_LETTERS:
            return _MOST_LETTERS + 1
    return row[-1]
