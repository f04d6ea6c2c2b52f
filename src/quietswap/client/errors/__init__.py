"""Exceptions of the client: base, one per error code of the API, and those of the flows."""

from quietswap.client.errors.api import *  # noqa: F403  each public name of the three modules
from quietswap.client.errors.base import *  # noqa: F403
from quietswap.client.errors.flow import *  # noqa: F403
