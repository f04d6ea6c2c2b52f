"""Text and JSON of the right shape to domain values; each fault has its own code."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from quietswap.rules import amounts, errors
from quietswap.rules import wire as base
from quietswap.rules.contract.request_limits import DEADLINE_END
from quietswap.rules.contract.requests import ANY_KIND, SwapQuoteQuery
from quietswap.rules.errors.base import Details
from quietswap.rules.orders.cancel_transaction import CancelOrderRequest
from quietswap.rules.orders.order import OrderKind, OrderStatus
from quietswap.rules.orders.request import SwapOrderRequest, WrapOrderRequest
from quietswap.rules.quotes.at_least import AtLeast
from quietswap.rules.quotes.request import SwapQuoteRequest, WrapQuoteRequest
from quietswap.rules.quotes.swap_tokens import parse_pair
from quietswap.rules.tokens.token import WETH, WrapOperation
from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import MAINNET
from quietswap.rules.wire import WireStruct
from quietswap.service.api.parsing.body import struct_fields, unwrap
from quietswap.service.api.parsing.query import shown

_OPERATIONS = frozenset(operation.value for operation in WrapOperation)
ID = re.compile(base.ID_PATTERN)


def parse_swap_quote(query: Mapping[str, str]) -> SwapQuoteRequest:
    """Return the swap to quote; the first fault counts, in the order of the interface's table.

    Raises InvalidTokenAddress, NativeEthNotSupported, InvalidAmount, UserAddressRequired,
    InvalidAddress, InvalidParameter.
    """
    sell, buy = parse_pair(query)
    amount = _swap_amount(query)
    if not query.get("userAddress"):
        raise errors.UserAddressRequired
    user = parse_wallet(query["userAddress"])
    parse_int(query, SwapQuoteQuery, "chainId")
    slippage = parse_int(query, SwapQuoteQuery, "slippageBps")
    return SwapQuoteRequest(sell, buy, amount, user, slippage, _conversion(query, sell, buy))


def _conversion(query: Mapping[str, str], sell: Address, buy: Address) -> WrapOperation | None:
    """Return what the batched form does with ETH. Only WETH is wrapped and unwrapped."""
    text = query.get("conversion")
    if text is None:
        return None
    converted = {"wrap": ("sellToken", sell), "unwrap": ("buyToken", buy)}
    field, token = converted.get(text, ("", None))
    if token == WETH:
        return WrapOperation(text)
    reason = f"for {text}, {field} must be WETH" if field else "it must be wrap or unwrap"
    raise errors.InvalidParameter(parameter="conversion", provided=shown(text), reason=reason)


def parse_swap_amounts(query: Mapping[str, str]) -> tuple[Address, Address, int]:
    """Return sell token, buy token and sell amount in smallest units.

    Raises InvalidTokenAddress, NativeEthNotSupported, InvalidAmount.
    """
    return *parse_pair(query), parse_amount(query, "sellAmount")


def _swap_amount(query: Mapping[str, str]) -> int | AtLeast:
    """Return `sellAmount`, or `minBuyAmount` in its place."""
    least = query.get("minBuyAmount")
    if least is None:
        return parse_amount(query, "sellAmount")
    if query.get("sellAmount"):
        reason = "sellAmount is given, too: name exactly one of the two"
        raise errors.InvalidParameter(
            parameter="minBuyAmount", provided=shown(least), reason=reason
        )
    return AtLeast(parse_amount(query, "minBuyAmount"))


def parse_amount(query: Mapping[str, str], field: str) -> int:
    """Return an amount in smallest units. Raises InvalidAmount, also if it is missing."""
    if not (text := query.get(field)):
        reason = "it is missing or empty"
        raise errors.InvalidAmount(field=field, provided="", reason=reason)
    return _amount(text, field, amounts.parse_units)


def _amount(text: str, field: str, read: Callable[[str], int]) -> int:
    try:
        return read(text)
    except amounts.BadAmount as error:
        raise errors.InvalidAmount(field=field, provided=shown(text), reason=str(error)) from error


def parse_wallet(text: str, field: str = "userAddress") -> Address:
    """Return the wallet's address in `field`. Raises InvalidAddress unless it is exact EIP-55."""
    try:
        wallet = addresses.parse(text)
        if int(wallet, 16) == 0:
            raise addresses.BadAddress("the zero address is no wallet")
        return wallet
    except addresses.BadAddress as error:
        raise errors.InvalidAddress(provided=shown(text), reason=str(error), field=field) from error


def parse_required_wallet(query: Mapping[str, str]) -> Address:
    """Return `userAddress` of a query. Raises MissingParameter, InvalidAddress."""
    text = query.get("userAddress")
    if not text:
        raise errors.MissingParameter(field="userAddress")
    return parse_wallet(text)


@lru_cache
def _integer_rule(kind: type[WireStruct], name: str) -> tuple[int, int, int]:
    """Return the default and the limits of an integer of a query."""
    field = next(field for field in struct_fields(kind) if field.encode_name == name)
    int_type = unwrap(field.type)
    assert isinstance(int_type, msgspec.inspect.IntType)
    assert int_type.ge is not None
    assert int_type.le is not None
    return field.default, int_type.ge, int_type.le


def parse_int(query: Mapping[str, str], kind: type[WireStruct], name: str) -> int:
    """Return a whole number within the limits that `kind` declares, or the default when absent.

    Raises InvalidParameter; only decimal digits pass, and their number is bounded first.
    """
    default, least, most = _integer_rule(kind, name)
    text = query.get(name)
    if text is None:
        return default
    if text.isascii() and text.isdigit() and len(text) <= 10 and least <= int(text) <= most:
        return int(text)
    rule = (
        f"it must be {least}"
        if least == most
        else f"it must be a whole number from {least} to {most}"
    )
    raise errors.InvalidParameter(parameter=name, provided=shown(text), reason=rule, maximum=most)


def parse_status_filter(query: Mapping[str, str]) -> OrderStatus | None:
    """Return the status to filter by; any of the six. Raises InvalidParameter."""
    if "status" not in query:
        return None
    return OrderStatus(parse_choice(query, "status", tuple(OrderStatus)))


def parse_kind_filter(query: Mapping[str, str]) -> OrderKind | None:
    """Return the kind of orders to list, swaps by default; None: all. Raises InvalidParameter."""
    kind = parse_choice(query, "kind", (*OrderKind, ANY_KIND))
    return None if kind == ANY_KIND else OrderKind(kind)


def parse_choice(query: Mapping[str, str], name: str, choices: Sequence[str]) -> str:
    """Return one of `choices`, by default the first. Raises InvalidParameter."""
    text = query.get(name, choices[0])
    if text not in choices:
        reason = "it must be one of " + ", ".join(choices)
        raise errors.InvalidParameter(parameter=name, provided=shown(text), reason=reason)
    return text


def parse_order_id(text: str) -> str:
    """Return an id that could exist. Raises OrderNotFound for any other text."""
    if not ID.fullmatch(text):
        raise errors.OrderNotFound
    return text


def parse_swap_order(body: dict[str, Any]) -> SwapOrderRequest:
    """Return a signed swap; its values are the use case's to judge against what was issued.

    Raises ValidationError for a deadline in milliseconds: as seconds it would never pass.
    """
    terms = body["orderParams"]
    if terms["deadline"] >= DEADLINE_END:
        name = "orderParams.deadline"
        fault = _mismatch(name, "Unix seconds, of 10 digits", _written(terms["deadline"]))
        text = f"{name} is in milliseconds, or a shorter unit: divide it by 1000"
        raise errors.ValidationError(text, [fault], reason="MALFORMED")
    return SwapOrderRequest(
        terms=terms, raw_hex=body["signedTransaction"], metadata=body["providerMetadata"]
    )


def parse_cancel_order(order: str, body: dict[str, Any]) -> CancelOrderRequest | None:
    """Return a signed cancel; None for a body that asks what to sign.

    Raises MissingParameter when one of the two members is there without the other.
    """
    names = ("signedTransaction", "providerMetadata")
    absent = [name for name in names if body.get(name) is None]
    if len(absent) == len(names):
        return None
    if absent:
        raise errors.MissingParameter(field=absent[0])
    return CancelOrderRequest(order, body["signedTransaction"], body["providerMetadata"])


def parse_wrap_quote(body: dict[str, Any]) -> WrapQuoteRequest:
    """Return the wrap to quote.

    A value of the wrong JSON type gets the code of its own field, not VALIDATION_ERROR: the number
    1.5 is no decimal string, so it is INVALID_AMOUNT (as a JSON number it may already have lost
    digits). Raises InvalidOperation, InvalidAmount, InvalidAddress, InvalidParameter.
    """
    operation = body["operation"]
    if not isinstance(operation, str) or operation not in _OPERATIONS:
        raise errors.InvalidOperation(provided=_written(operation))
    ether = body["amount"]
    if not isinstance(ether, str):
        reason = "it must be a decimal string"
        raise errors.InvalidAmount(field="amount", provided=_written(ether), reason=reason)
    amount = _amount(ether, "amount", amounts.parse_ether)
    user = body["userAddress"]
    if not isinstance(user, str):
        raise errors.InvalidAddress(provided=_written(user), reason="it must be a string")
    address = parse_wallet(user)
    chain = body.get("chainId")
    if chain not in (None, MAINNET):
        raise errors.InvalidParameter(
            parameter="chainId", provided=_written(chain), reason="it must be 1", maximum=MAINNET
        )
    return WrapQuoteRequest(WrapOperation(operation), amount, address)


def _written(value: Any) -> str:
    return shown(value if isinstance(value, str) else msgspec.json.encode(value).decode())


def parse_wrap_order(body: dict[str, Any]) -> WrapOrderRequest:
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
        except amounts.BadAmount:
            faults.append(_mismatch("amount", "the quote's amount in ETH, such as 1.5", text))
    quote_id = body.get("quoteId")
    if quote_id is not None and not ID.fullmatch(quote_id):
        faults.append(_mismatch("quoteId", "the id of an issued quote", quote_id))
    if faults:
        first = f"{faults[0]['field']} must be {faults[0]['expected']}"
        raise errors.ValidationError(f"the order is of no issued quote: {first}", faults)
    return WrapOrderRequest(
        quote_id=quote_id,
        raw_hex=body["signedTransaction"],
        metadata=body["providerMetadata"],
        operation=WrapOperation(operation),
        amount=amount,
    )


def _mismatch(field: str, expected: str, provided: str) -> Details:
    return {"field": field, "expected": expected, "provided": shown(provided)}
