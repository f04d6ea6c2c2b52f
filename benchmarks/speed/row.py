"""One line of the table: what was measured, beside what, and whether the goal is met."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True, slots=True)
class Spread:
    """One figure of each round; a figure that is measured once has one round."""

    rounds: tuple[float, ...]

    @classmethod
    def of(cls, figures: Iterable[float]) -> "Spread":
        """Return the spread of at least one figure."""
        rounds = tuple(figures)
        if not rounds:
            raise ValueError("a spread needs a round")
        return cls(rounds)

    @property
    def median(self) -> float:
        """The median over the rounds."""
        return median(self.rounds)

    @property
    def least(self) -> float:
        """The smallest figure of a round."""
        return min(self.rounds)

    @property
    def most(self) -> float:
        """The largest figure of a round."""
        return max(self.rounds)


def once(figure: float) -> Spread:
    """Return the spread of a figure that is measured once."""
    return Spread((figure,))


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound on one figure; `least` tells which way is good."""

    bound: float
    unit: str
    least: bool = False

    def met(self, figure: float) -> bool:
        """Return whether `figure` is good enough."""
        return figure >= self.bound if self.least else figure <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.least else '≤'} {shown(self.bound, self.unit)}"


@dataclass(frozen=True, slots=True)
class Row:
    """`figure` is what the goal bounds, in `goal.unit`; `beside` says what it was compared with."""

    what: str
    figure: Spread
    beside: str
    goal: Goal

    @property
    def is_met(self) -> bool:
        """Whether the median meets the goal."""
        return self.goal.met(self.figure.median)

    def kept(self) -> dict[str, Any]:
        """Return what `--json` keeps: `figure` is the median."""
        return {
            "what": self.what,
            "figure": self.figure.median,
            "min": self.figure.least,
            "max": self.figure.most,
            "rounds": len(self.figure.rounds),
            "beside": self.beside,
            "goal": self.goal,
            "met": self.is_met,
        }


def shown(figure: float | Spread, unit: str) -> str:
    """Return a figure with its unit, to three significant digits.

    A spread of several rounds is shown as its median, with least and most in parentheses.
    """
    if isinstance(figure, float | int):
        gap = "" if unit == "×" else " "
        return f"{_digits(figure, unit)}{gap}{unit}"
    if len(figure.rounds) == 1:
        return shown(figure.median, unit)
    least, most = _digits(figure.least, unit), _digits(figure.most, unit)
    return f"{shown(figure.median, unit)} ({least}–{most})"


def _digits(figure: float, unit: str) -> str:
    if unit == "%":
        return f"{figure * 100:.0f}"
    if unit == "trips":
        return f"{figure:.0f}"
    size = abs(figure)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2
    return f"{figure:,.{digits}f}".replace(",", " ")
