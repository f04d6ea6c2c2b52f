"""One line of the table: what was measured, beside what, and whether the goal is met."""

from dataclasses import dataclass


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
    figure: float
    beside: str
    goal: Goal

    @property
    def is_met(self) -> bool:
        """Whether the goal is met."""
        return self.goal.met(self.figure)


def shown(figure: float, unit: str) -> str:
    """Return a figure with its unit, to three digits that count."""
    if unit == "%":
        return f"{figure * 100:.0f} %"
    digits = 0 if figure >= 100 else 1 if figure >= 10 else 2
    text = f"{figure:,.{digits}f}".replace(",", " ")
    return f"{text}{'' if unit in ('×',) else ' '}{unit}"
