"""The service's own connections to the outside, for one command."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from quietswap.clock import SystemClock
from quietswap.server.settings.schema import Settings

if TYPE_CHECKING:
    from quietswap.server.container import ExternalServices


@asynccontextmanager
async def service_adapters(settings: Settings) -> AsyncIterator["ExternalServices"]:
    """Build the adapters of the settings, disable the log, and close them in the end.

    Raises BadSettings.
    """
    from quietswap import observe
    from quietswap.server.container import build_adapters

    observe.log_nothing()
    outside = build_adapters(settings, SystemClock())
    try:
        yield outside
    finally:
        await outside.rpc.close()
        await outside.http.close()
