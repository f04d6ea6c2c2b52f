"""From text and JSON of the right shape to domain values; each fault has its own code."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from quietswap.api.query import shown
from quietswap.domain import address as addresses
from quietswap.domain import amounts
from quietswap.domain.address import Address
from quietswap.domain.errors import (
    Details,
    InvalidAddress,
    InvalidAmount,
    InvalidOperation,
    InvalidParameter,
    InvalidTokenAddress,
    MissingParameter,
    OrderNotFound,
    UserAddressRequired,
)
from quietswap.domain.order import Status
from quietswap.domain.quote import Operation
from quietswap.domain.refusals import ValidationError
from quietswap.domain.requests import QuoteAsk, SwapSubmission, WrapAsk, WrapSubmission
from quietswap.domain.token import parse_token
from quietswap.domain.transaction import MAINNET

DEFAULT_SLIPPAGE_BPS, MAX_SLIPPAGE_BPS = 50, 5_000
DEFAULT_LIMIT, MAX_LIMIT = 50, 200
MAX_OFFSET = 10**9

_OPERATIONS = frozenset(operation.value for operation in Operation)
_ID = re.compile(r"[!-~]{1,128}")
"""Ids are printable ASCII: anything else exists in no store (and PostgreSQL refuses NUL)."""


def quote_ask(query: Mapping[str, str]) -> QuoteAsk:
    """Return the swap to quote; the first fault counts, in the order of the interface's table.

    Raises InvalidTokenAddress, NativeEthNotSupported, InvalidAmount, UserAddressRequired,
    InvalidAddress, InvalidParameter.
    """
    sell = parse_token(query.get("sellToken"), "sellToken")
    buy = parse_token(query.get("buyToken"), "buyToken")
    if sell == buy:
        raise InvalidTokenAddress(
            field="buyToken", provided=buy, reason="it is the same token as sellToken"
        )
    amount = _sell_amount(query.get("sellAmount"))
    if not query.get("userAddress"):
        raise UserAddressRequired
    user = wallet(query["userAddress"])
    whole(query, "chainId", MAINNET, MAINNET, MAINNET)
    slippage = whole(query, "slippageBps", DEFAULT_SLIPPAGE_BPS, 1, MAX_SLIPPAGE_BPS)
    return QuoteAsk(sell, buy, amount, user, slippage)


def _sell_amount(text: str | None) -> int:
    if not text:
        raise InvalidAmount(field="sellAmount", provided="", reason="it is missing")
    try:
        return amounts.parse_units(text)
    except amounts.BadAmount as error:
        raise InvalidAmount(field="sellAmount", provided=shown(text), reason=str(error)) from error


def wallet(text: str) -> Address:
    """Return a wallet's address. Raises InvalidAddress unless it is spelt exactly as EIP-55."""
    try:
        found = addresses.parse(text)
        if int(found, 16) == 0:
            raise addresses.BadAddress("the zero address is nobody's wallet")
        return found
    except addresses.BadAddress as error:
        raise InvalidAddress(provided=shown(text), reason=str(error)) from error


def required_wallet(query: Mapping[str, str]) -> Address:
    """Return `userAddress` of a query. Raises MissingParameter, InvalidAddress."""
    text = query.get("userAddress")
    if not text:
        raise MissingParameter(field="userAddress")
    return wallet(text)


def whole(query: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    """Return a whole number from `least` to `most`, or `default` when absent.

    Raises InvalidParameter; only decimal digits pass, and their number is bounded first.
    """
    text = query.get(name)
    if text is None:
        return default
    if text.isascii() and text.isdigit() and len(text) <= 10 and least <= int(text) <= most:
        return int(text)
    wanted = f"it must be {least}" if least == most else f"it must be a whole number {least}-{most}"
    raise InvalidParameter(parameter=name, provided=shown(text), reason=wanted, maximum=most)


def status_filter(query: Mapping[str, str]) -> Status | None:
    """Return the status to filter by; any of the six. Raises InvalidParameter."""
    text = query.get("status")
    if text is None:
        return None
    try:
        return Status(text)
    except ValueError as error:
        reason = "it must be one of " + ", ".join(Status)
        raise InvalidParameter(parameter="status", provided=shown(text), reason=reason) from error


def order_id(text: str) -> str:
    """Return an id that could exist. Raises OrderNotFound for any other text."""
    if not _ID.fullmatch(text):
        raise OrderNotFound
    return text


def swap_submission(body: dict[str, Any]) -> SwapSubmission:
    """Return a signed swap; its values are the use case's to judge against what was issued."""
    return SwapSubmission(
        terms=body["orderParams"],
        raw_hex=body["signedTransaction"],
        metadata=body["providerMetadata"],
    )


def wrap_ask(body: dict[str, Any]) -> WrapAsk:
    """Return the wrap to quote.

    A value of the wrong JSON type gets the code of its own field, not VALIDATION_ERROR: the number
    1.5 is no decimal string, so it is INVALID_AMOUNT (as a JSON number it may already have lost
    digits). Raises InvalidOperation, InvalidAmount, InvalidAddress, InvalidParameter.
    """
    operation = body["operation"]
    if not isinstance(operation, str) or operation not in _OPERATIONS:
        raise InvalidOperation(provided=_written(operation))
    amount = _ether(body["amount"])
    user = body["userAddress"]
    if not isinstance(user, str):
        raise InvalidAddress(provided=_written(user), reason="it must be a string")
    address = wallet(user)
    chain = body.get("chainId")
    if chain not in (None, MAINNET):
        raise InvalidParameter(
            parameter="chainId", provided=_written(chain), reason="it must be 1", maximum=MAINNET
        )
    return WrapAsk(Operation(operation), amount, address)


def _ether(value: Any) -> int:
    if not isinstance(value, str):
        raise InvalidAmount(
            field="amount", provided=_written(value), reason="it must be a decimal string"
        )
    try:
        return amounts.parse_ether(value)
    except amounts.BadAmount as error:
        raise InvalidAmount(field="amount", provided=shown(value), reason=str(error)) from error


def _written(value: Any) -> str:
    return shown(value if isinstance(value, str) else msgspec.json.encode(value).decode())


def wrap_submission(body: dict[str, Any]) -> WrapSubmission:
    """Return a signed wrap.

    Values that no quote can have carried are a mismatch like any other: raises ValidationError
    that lists each of them.
    """
    faults: list[Details] = []
    operation = body["operation"]
    if operation not in _OPERATIONS:
        faults.append(_mismatch("operation", "wrap or unwrap", operation))
    amount, text = None, body.get("amount")
    if text is not None:
        try:
            amount = amounts.parse_ether(text)
        except amounts.BadAmount as error:
            faults.append(_mismatch("amount", str(error), text))
    quote_id = body.get("quoteId")
    if quote_id is not None and not _ID.fullmatch(quote_id):
        faults.append(_mismatch("quoteId", "the id of an issued quote", quote_id))
    if faults:
        raise ValidationError("the order does not match any issued quote", faults)
    return WrapSubmission(
        quote_id=quote_id,
        raw_hex=body["signedTransaction"],
        metadata=body["providerMetadata"],
        operation=Operation(operation),
        amount=amount,
    )


def _mismatch(field: str, expected: str, provided: str) -> Details:
    return {"field": field, "expected": expected, "provided": shown(provided)}
