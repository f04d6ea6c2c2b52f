"""Exceptions of the codes of the event stream. Details are Structs of the contract."""

from quietswap.client.errors.base import ApiError
from quietswap.contract.error_details import EventsPrunedDetails, TooManyStreamsDetails


class EventsPruned(ApiError[EventsPrunedDetails]):
    """The events that follow are no longer stored. The status of each order still is."""

    code = "EVENTS_PRUNED"


class TooManyStreams(ApiError[TooManyStreamsDetails]):
    """This client has as many open streams as it may have."""

    code = "TOO_MANY_STREAMS"
    is_transient = True
