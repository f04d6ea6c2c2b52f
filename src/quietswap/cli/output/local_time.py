"""Times as a person reads them: in this machine's time zone."""

import contextlib
from datetime import datetime


def when(moment: datetime | None) -> str:
    """Return a time in this machine's time zone, empty for None."""
    if moment is None:
        return ""
    with contextlib.suppress(OverflowError):  # the first or the last day that a date can have
        moment = moment.astimezone()
    return moment.strftime("%Y-%m-%d %H:%M:%S")
