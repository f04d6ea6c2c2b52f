"""How many generated examples, rows or requests a test takes: fewer without TEST_LONG."""

import os

LONG = bool(os.environ.get("TEST_LONG"))


def examples(most: int, short: int | None = None) -> int:
    """Return `most`, or its short form: `short`, else a fifth of it and at least 20."""
    return most if LONG else short or max(most // 5, 20)
