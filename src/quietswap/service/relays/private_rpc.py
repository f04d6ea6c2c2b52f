"""Any private relay with one JSON-RPC URL that accepts `eth_sendRawTransaction`."""

from typing import Any

from quietswap.rules.relays import EndpointType
from quietswap.service.relays.relay import Relay


class PrivateRpc(Relay):
    """It must accept a priority fee of zero, which Flashbots Protect and public nodes refuse.

    Its URL may contain a key, so quotes show only scheme, host and port. It has one endpoint:
    sharing and dropping of reverts depend on the operator's agreement with it. `drops_reverts` says
    what was agreed.
    """

    def __init__(self, *args: Any, drops_reverts: bool = False, **options: Any) -> None:
        super().__init__(*args, **options)
        self._drops_reverts = drops_reverts

    def drops_reverts(self, kind: EndpointType) -> bool:
        return self._drops_reverts and kind is EndpointType.NOREVERTS
