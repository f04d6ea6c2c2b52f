"""How many generated examples a test tries: a fifth in `make test`, all in `make test-long`."""

import os

LONG = bool(os.environ.get("TEST_LONG"))


def examples(most: int) -> int:
    """Return `most`, or its short form."""
    return most if LONG else max(most // 5, 20)
