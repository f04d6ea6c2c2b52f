"""Every error code of the service is an exception class of the client, with typed details."""

import re

import msgspec
import pytest

from quietswap.api.errors import outage
from quietswap.client import outages, refusals
from quietswap.client.errors import ApiError, NoDetails
from quietswap.client.outages import CATALOGUE
from quietswap.domain import errors as theirs
from quietswap.domain import refusals as more_of_theirs
from tests.client.conftest import Do
from tests.client.fake_outside import WALLET, FakeService, Reply, refused
from tests.orders import USDC
from tests.spec import tables

EXAMPLES = [
    theirs.InvalidTokenAddress(field="sellToken", provided="0x1", reason="too short"),
    theirs.NativeEthNotSupported(field="sellToken", provided="0x0", weth="0xC0"),
    theirs.InvalidAmount(field="amount", provided="-1", reason="negative"),
    theirs.UserAddressRequired(),
    theirs.InvalidOperation(provided="melt"),
    theirs.InvalidAddress(provided="0x1", reason="too short"),
    theirs.InvalidParameter(parameter="limit", provided="900", reason="too many", maximum=200),
    theirs.MissingParameter(field="orderParams.amount"),
    theirs.InvalidSignature(reason="high s"),
    theirs.InsufficientAllowance(token=USDC, router="0xR", required=2**200, current=1),
    theirs.InsufficientBalance(asset="ETH", required=2**100, available=5),
    theirs.DeadlineExpired(deadline=5, now=6),
    theirs.NonceTooLow(provided=3, expected=4),
    theirs.InvalidTransaction(reason="type 0", field="type"),
    theirs.Unauthorized(),
    theirs.InsufficientLiquidity(sources=[{"source": "sushi", "outcome": "no_route"}]),
    theirs.TokenNotSupported(token=USDC, reason="denied"),
    theirs.OrderNotFound(),
    more_of_theirs.SignatureReplay(order_id="ord_1"),
    more_of_theirs.ValidationError("differs", [{"field": "to", "expected": 1, "provided": 2}]),
    more_of_theirs.RateLimitExceeded(retry_after=12, limit=300, window=60),
    more_of_theirs.InternalServerError(request_id="req_1"),
    more_of_theirs.ServiceUnavailable("the node is away"),
    more_of_theirs.ProviderUnavailable("the relay is away", {"reason": "NOT_SENT"}),
    more_of_theirs.NotFound(path="/x"),
    more_of_theirs.MethodNotAllowed(method="PUT", allowed=["GET"]),
    more_of_theirs.UnsupportedMediaType(provided="text/plain"),
    more_of_theirs.PayloadTooLarge(limit=262_144),
]
TRANSIENT = {"RATE_LIMIT_EXCEEDED", "INTERNAL_SERVER_ERROR", "SERVICE_UNAVAILABLE"}


def _codes(base: type[theirs.ApiError]) -> set[str]:
    found = {base.code} if "code" in vars(base) else set()
    return found.union(*(_codes(kind) for kind in base.__subclasses__()))


def test_every_code_of_the_service_has_a_class() -> None:
    assert set(CATALOGUE) == _codes(theirs.ApiError)
    assert {example.code for example in EXAMPLES} == set(CATALOGUE)


def test_every_error_row_of_the_interface_has_a_class() -> None:
    assert {code for _, code, *_ in tables.ERRORS} <= set(CATALOGUE)


@pytest.mark.parametrize(("row", "members"), tables.DETAILS)
def test_the_interfaces_details_are_typed(row: str, members: str) -> None:
    code = row.split(maxsplit=1)[0]
    shape = CATALOGUE[code].shape
    typed = {field.encode_name for field in msgspec.structs.fields(shape)}
    assert set(re.findall(r"\w+", re.sub(r"\(.*?\)", "", members))) <= typed


def test_the_catalogue_is_complete() -> None:
    classes = {
        kind
        for module in (refusals, outages)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, ApiError) and kind is not ApiError
    }
    assert classes == set(CATALOGUE.values())


@pytest.mark.parametrize("theirs_error", EXAMPLES, ids=lambda error: error.code)
def test_an_answer_becomes_its_exception(
    do: Do, service: FakeService, theirs_error: theirs.ApiError
) -> None:
    service.next("wrap info", refused(theirs_error))
    with pytest.raises(CATALOGUE[theirs_error.code]) as caught:
        do("wrap_info", WALLET)
    ours = caught.value
    assert (ours.error, ours.message) == (theirs_error.code, theirs_error.message)
    assert ours.suggestion == theirs_error.suggestion
    assert ours.raw_details == theirs_error.details
    assert ours.is_transient == (theirs_error.code in TRANSIENT)
    if ours.shape is not NoDetails:
        assert isinstance(ours.details, ours.shape)


def test_details_are_typed(do: Do, service: FakeService) -> None:
    error = theirs.InsufficientAllowance(token=USDC, router="0xR", required=2**200, current=1)
    service.next("wrap info", refused(error))
    with pytest.raises(refusals.InsufficientAllowance) as caught:
        do("wrap_info", WALLET)
    details = caught.value.details
    assert details is not None
    assert (details.token, details.router) == (USDC, "0xR")
    assert (details.required, details.current) == (2**200, 1)


def test_the_rate_limit_says_how_long(do: Do, service: FakeService) -> None:
    limit = more_of_theirs.RateLimitExceeded(retry_after=12, limit=300, window=60)
    service.next("wrap info", refused(limit))
    with pytest.raises(outages.RateLimitExceeded) as caught:
        do("wrap_info", WALLET)
    assert (caught.value.retry_after, caught.value.limit, caught.value.window) == (12, 300, 60)


def test_an_order_nobody_knows_the_fate_of_may_be_posted_again(
    do: Do, service: FakeService
) -> None:
    service.next("wrap info", refused(outage(["PROVIDER_UNAVAILABLE"])))
    with pytest.raises(outages.ProviderUnavailable) as caught:
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
    with pytest.raises(refusals.NonceTooLow) as caught:
        do("wrap_info", WALLET)
    assert caught.value.details is None
    assert caught.value.raw_details == {"provided": "x"}
