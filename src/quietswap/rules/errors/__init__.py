"""One exception class for each error code: HTTP status, details with their types, an example.

Excludes the envelope.
"""

from quietswap.rules.errors.base import *  # noqa: F403  each public name of the three modules
from quietswap.rules.errors.clients import *  # noqa: F403
from quietswap.rules.errors.requests import *  # noqa: F403
