"""The error of a read whose node or database does not answer."""

from collections.abc import Iterator
from contextlib import contextmanager

from quietswap.domain.errors.availability import ServiceUnavailable
from quietswap.ports.chain import NodeUnavailable
from quietswap.ports.stores import StoreUnavailable


@contextmanager
def service_unavailable() -> Iterator[None]:
    """Turn NodeUnavailable and StoreUnavailable into ServiceUnavailable: nothing has been sent."""
    try:
        yield
    except NodeUnavailable as error:
        raise ServiceUnavailable("the Ethereum node does not answer") from error
    except StoreUnavailable as error:
        raise ServiceUnavailable("the database does not answer") from error
