"""What the service answers about the key, its client and their limits."""

import json
from typing import Any

import msgspec

from quietswap.rules.clients import ClientLimits, ClientUsage, DayUsage, KeyScope
from quietswap.service.clients.usage import usage_response
from tests.stored_orders import NOW_MS


def usage_answer(
    limits: ClientLimits | None = None, scope: KeyScope = KeyScope.TRADE
) -> dict[str, Any]:
    """Return limits and usage of a key's client."""
    usage = ClientUsage("client-1", limits or ClientLimits(), DayUsage(3, 2, 150), 1, NOW_MS)
    return json.loads(msgspec.json.encode(usage_response(usage, scope, None)))
