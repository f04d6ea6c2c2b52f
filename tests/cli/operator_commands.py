"""How tests run the commands of an operator."""

import json
from collections.abc import Callable
from typing import Any

from click.testing import Result

Run = Callable[..., Result]
"""Of the fixture `operate`: words of a command, and the expected exit `code`."""


def told(done: Result) -> Any:
    """Return the JSON that a command printed."""
    return json.loads(done.stdout)
