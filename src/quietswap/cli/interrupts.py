"""Other ways to end a command as Ctrl-C, where it must tell or stop something before it ends."""

import contextlib
import signal
from collections.abc import Iterator
from typing import Any


def stopping_signals() -> list[signal.Signals]:
    """Return SIGTERM, and SIGHUP of a closed terminal, unless it is ignored as under nohup."""
    signals = [signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signals.append(signal.SIGHUP)
    return signals


@contextlib.contextmanager
def signals_as_ctrl_c() -> Iterator[None]:
    """Raise KeyboardInterrupt at `stopping_signals` during the block. Only in the main thread.

    The first one has the others ignored, at once: a second one, as of a shell and its terminal,
    would interrupt the closing of connections, or end the command while it says what it leaves
    open.
    """

    def interrupt(_number: int, _frame: object) -> None:
        for name in before:
            signal.signal(name, signal.SIG_IGN)
        raise KeyboardInterrupt

    before: dict[signal.Signals, Any] = dict.fromkeys(stopping_signals())
    for name in before:
        before[name] = signal.signal(name, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        before = dict.fromkeys(before, signal.SIG_IGN)
        raise
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)
