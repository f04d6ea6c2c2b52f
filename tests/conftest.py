"""Settings of every run: which examples hypothesis makes, and what Ctrl-C means to a program."""

import signal

from hypothesis import settings

from tests.example_counts import LONG

# The same examples in every `make test`, new ones in every `make test-long`.
settings.register_profile("suite", derandomize=not LONG, deadline=None, print_blob=LONG)
settings.load_profile("suite")

# A shell's background job ignores Ctrl-C, and so do all programs that it starts. Tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
