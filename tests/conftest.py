"""Generated examples: the same in every `make test`, new ones in every `make test-long`."""

from hypothesis import settings

from tests.example_counts import LONG

settings.register_profile("suite", derandomize=not LONG, deadline=None, print_blob=LONG)
settings.load_profile("suite")
