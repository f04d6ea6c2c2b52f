"""Other ways to end a command as Ctrl-C, where it must tell or stop something before it ends."""

import contextlib
import signal
from collections.abc import Iterator


def stopping_signals() -> list[signal.Signals]:
    """Return SIGTERM, and SIGHUP of a closed terminal, unless it is ignored as under nohup."""
    found = [signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        found.append(signal.SIGHUP)
    return found


@contextlib.contextmanager
def signals_as_ctrl_c() -> Iterator[None]:
    """Raise KeyboardInterrupt at `stopping_signals` during the block. Only in the main thread.

    After an interruption they are ignored: a second one, as of a shell and its terminal, would end
    the command while it says what it leaves open.
    """
    before = {name: signal.signal(name, signal.default_int_handler) for name in stopping_signals()}
    try:
        yield
    except KeyboardInterrupt:
        before = dict.fromkeys(before, signal.SIG_IGN)
        raise
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)
