"""Every error code of the service is an exception class of the client, with typed details."""

import re

import msgspec
import pytest

from quietswap.client import errors
from quietswap.client.errors import ERROR_CLASSES, ApiError
from quietswap.rules import errors as theirs
from quietswap.rules.errors.base import NoDetails
from quietswap.service.api.json import unavailable_error
from quietswap.service.server.openapi import EXAMPLES
from tests.client.conftest import Do
from tests.client.conftest import either_manner as manner
from tests.client.fake_servers import WALLET, FakeService, Reply, refused
from tests.spec import tables
from tests.stored_orders import USDC

__all__ = ["manner"]

TRANSIENT = {
    "TOO_MANY_STREAMS",
    "RATE_LIMIT_EXCEEDED",
    "INTERNAL_SERVER_ERROR",
    "SERVICE_UNAVAILABLE",
}


def test_every_error_row_of_the_interface_has_a_class() -> None:
    assert {code for _, code, *_ in tables.ERRORS} <= set(ERROR_CLASSES)


@pytest.mark.parametrize(("row", "members"), tables.DETAILS)
def test_the_interfaces_details_are_typed(row: str, members: str) -> None:
    code = row.split(maxsplit=1)[0]
    shape = ERROR_CLASSES[code].shape
    typed = {field.encode_name for field in msgspec.structs.fields(shape)}
    assert set(re.findall(r"\w+", re.sub(r"\(.*?\)", "", members))) <= typed


@pytest.mark.parametrize("theirs_error", EXAMPLES.values(), ids=lambda error: error.code)
def test_an_answer_becomes_its_exception(
    do: Do, service: FakeService, theirs_error: theirs.RequestError
) -> None:
    service.next("wrap info", refused(theirs_error))
    with pytest.raises(ERROR_CLASSES[theirs_error.code]) as caught:
        do("wrap_info", WALLET)
    ours = caught.value
    assert (ours.error, ours.message) == (theirs_error.code, theirs_error.message)
    assert ours.suggestion == theirs_error.suggestion
    assert ours.raw_details == theirs_error.details
    assert ours.is_transient == (theirs_error.code in TRANSIENT)
    if ours.shape is not NoDetails and theirs_error.details is not None:
        assert isinstance(ours.details, ours.shape)


def test_details_are_typed(do: Do, service: FakeService) -> None:
    error = theirs.InsufficientAllowance(token=USDC, router="0xR", required=2**200, current=1)
    service.next("wrap info", refused(error))
    with pytest.raises(errors.InsufficientAllowance) as caught:
        do("wrap_info", WALLET)
    details = caught.value.details
    assert details is not None
    assert (details.token, details.router) == (USDC, "0xR")
    assert (details.required, details.current) == (2**200, 1)


def test_the_rate_limit_says_how_long(do: Do, service: FakeService) -> None:
    limit = theirs.RateLimitExceeded(retry_after=12, limit=300, window=60)
    service.next("wrap info", refused(limit))
    with pytest.raises(errors.RateLimitExceeded) as caught:
        do("wrap_info", WALLET)
    assert (caught.value.retry_after, caught.value.limit, caught.value.window) == (12, 300, 60)


def test_an_order_nobody_knows_the_fate_of_may_be_posted_again(
    do: Do, service: FakeService
) -> None:
    service.next(
        "wrap info", refused(unavailable_error(["PROVIDER_UNAVAILABLE"], "the database is away"))
    )
    with pytest.raises(errors.ProviderUnavailable) as caught:
        do("wrap_info", WALLET)
    assert caught.value.is_transient


def test_a_code_of_the_future(do: Do, service: FakeService) -> None:
    service.next(
        "wrap info", Reply({"ok": False, "error": "MOON_TOO_FULL", "message": "wait"}, 418)
    )
    with pytest.raises(ApiError, match="MOON_TOO_FULL: wait") as caught:
        do("wrap_info", WALLET)
    assert type(caught.value) is ApiError
    assert caught.value.status == 418


def test_details_of_another_shape_are_kept_raw(do: Do, service: FakeService) -> None:
    body = {"ok": False, "error": "NONCE_TOO_LOW", "message": "m", "details": {"provided": "x"}}
    service.next("wrap info", Reply(body, 409))
    with pytest.raises(errors.NonceTooLow) as caught:
        do("wrap_info", WALLET)
    assert caught.value.details is None
    assert caught.value.raw_details == {"provided": "x"}


def test_a_star_import_takes_names_of_the_client_only() -> None:
    taken: dict[str, object] = {}
    exec("from quietswap.client import *", taken)
    assert taken.keys() >= {"ERROR_CLASSES", "InsufficientBalance", "QuietswapClient", "WETH"}
    assert not taken.keys() & {"Any", "ErrorEnvelope", "codes", "errors", "msgspec", "wire"}
