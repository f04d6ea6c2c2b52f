"""What the garbage collector leaves alone (https://docs.python.org/3/library/gc.html#gc.freeze)."""

import gc

_COLLECT_EVERY = 20_000
"""New objects before a collection; Python's default is 700."""


def share_with_workers() -> None:
    """Freeze what exists before a worker is forked.

    The collector writes to the header of each object. In either process that copies a page that
    both could share.
    """
    gc.collect()
    gc.freeze()


def settle() -> None:
    """Exclude long-lived objects from garbage collection, and run it less often.

    A request leaves almost no reference cycles.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_EVERY, 20, 50)
