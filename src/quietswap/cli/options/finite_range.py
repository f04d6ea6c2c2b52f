"""A range of numbers that are numbers: `nan` compares with nothing, so click lets it pass."""

import math
from typing import Any

import click


class FiniteRange(click.FloatRange):
    """click.FloatRange without `nan` and infinities."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number. Raises click.BadParameter."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return number
