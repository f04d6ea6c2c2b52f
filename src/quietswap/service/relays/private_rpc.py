"""Any private relay with one JSON-RPC URL that accepts `eth_sendRawTransaction`."""

from quietswap.service.relays.relay import Relay


class PrivateRpc(Relay):
    """It must accept a priority fee of zero, which Flashbots Protect and public nodes refuse.

    Its URL may contain a key, so quotes show only scheme, host and port. It has one endpoint:
    sharing and dropping of reverts depend on the operator's agreement with it.
    """
