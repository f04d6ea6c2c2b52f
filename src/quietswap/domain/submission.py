"""Comparing what was submitted with what was issued, field by field.

Compared are the signed transaction, the terms an order must repeat and `providerMetadata`. Not
compared, because they are the client's own words about the trade and move no money: `deadline`
(checked against the clock), `threatAnalysis`, `transactionValueUsd`, `referrer`, and `dexRoute`'s
`source` and `estimatedGas`. Addresses and calldata are compared as the bytes they spell.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quietswap.domain.address import Address
from quietswap.domain.amounts import format_ether, parse_ether
from quietswap.domain.errors import Details
from quietswap.domain.order import Order, OrderKind, Status
from quietswap.domain.quote import IssuedQuote, Operation
from quietswap.domain.refusals import ValidationError
from quietswap.domain.signed_transaction import SignedTransaction
from quietswap.domain.token import WETH

GRACE_MS = 30_000
"""A quote is taken for so long after its validity: confirming on a hardware wallet takes time."""

SWAP_TERMS = (
    "fromToken", "toToken", "amount", "minReturnAmount", "userAddress", "chainId",
    "slippageBps", "selectedTier", "dexRoute.target", "dexRoute.data",
)  # fmt: skip
_MOST_FIELDS = 50
_LONGEST_SHOWN = 200


def swap_differences(
    signed: SignedTransaction, terms: Mapping[str, Any], metadata: Any, quote: IssuedQuote
) -> list[Details]:
    """Return {field, expected, provided} of everything in which a swap differs from `quote`."""
    found = list(_transaction(signed, quote))
    for name in SWAP_TERMS:
        expected, provided = quote.terms.get(name), _at(terms, name)
        if not _same(expected, provided):
            found.append(_difference(f"orderParams.{name}", expected, provided))
    found.extend(_tree("providerMetadata", quote.metadata, metadata))
    return found[:_MOST_FIELDS]


def wrap_differences(
    signed: SignedTransaction,
    operation: Operation,
    amount: int | None,
    metadata: Any,
    quote: IssuedQuote,
) -> list[Details]:
    """Return the same for a wrap or unwrap; `amount` in wei, None where the client gave none."""
    found = list(_transaction(signed, quote))
    if operation.value != quote.terms["operation"]:
        found.append(_difference("operation", quote.terms["operation"], operation.value))
    if amount is not None and format_ether(amount) != quote.terms["amount"]:
        found.append(_difference("amount", quote.terms["amount"], format_ether(amount)))
    found.extend(_tree("providerMetadata", quote.metadata, metadata))
    return found[:_MOST_FIELDS]


def matching_quote(
    compared: Sequence[tuple[IssuedQuote, Sequence[Details]]], now_ms: int
) -> IssuedQuote:
    """Return the quote without a difference, the one valid longest if there are several.

    Raises ValidationError: with the differences from the nearest quote, with reason NO_QUOTE when
    there is none to compare with, or QUOTE_EXPIRED.
    """
    if not compared:
        raise ValidationError("no quote was issued to this API key for this wallet",
                              reason="NO_QUOTE")  # fmt: skip
    quote, differences = min(compared, key=lambda pair: (len(pair[1]), -pair[0].valid_until_ms))
    if differences:
        raise ValidationError("what was submitted differs from the quote", differences)
    if now_ms > quote.valid_until_ms + GRACE_MS:
        late = (now_ms - quote.valid_until_ms) // 1000
        raise ValidationError(f"the quote expired {late} seconds ago", reason="QUOTE_EXPIRED")
    return quote


def _transaction(signed: SignedTransaction, quote: IssuedQuote) -> Iterator[Details]:
    issued, params = quote.params, signed.params
    pairs = {
        "to": (issued.to, params.to),
        "data": ("0x" + issued.data.hex(), "0x" + params.data.hex()),
        "value": (str(issued.value), str(params.value)),
        "gasLimit": (str(issued.gas_limit), str(params.gas_limit)),
        "maxFeePerGas": (str(issued.max_fee_per_gas), str(params.max_fee_per_gas)),
        "maxPriorityFeePerGas": ("0", str(signed.priority_fee)),
        "nonce": (issued.nonce, params.nonce if issued.nonce is not None else None),
    }
    for name, (expected, provided) in pairs.items():
        if expected != provided:
            yield _difference(f"transaction.{name}", expected, provided)


def _tree(path: str, expected: Any, provided: Any) -> Iterator[Details]:
    """Yield the differences of two JSON values, each by its dotted path.

    It descends only where we issued an object, so a client's own nesting cannot make it deep.
    """
    if not isinstance(expected, dict) or not isinstance(provided, dict):
        if not _same(expected, provided):
            yield _difference(path, expected, provided)
        return
    for key in [*expected, *(key for key in provided if key not in expected)]:
        name, issued, sent = f"{path}.{key}", expected.get(key), provided.get(key)
        if key in expected and key in provided:
            yield from _tree(name, issued, sent)
        else:
            yield _difference(name[:_LONGEST_SHOWN], issued, sent)


def _same(expected: Any, provided: Any) -> bool:
    """Return whether two JSON scalars say the same: 4 is 4.0, but true is not 1."""
    if isinstance(expected, bool) or isinstance(provided, bool):
        return expected is provided
    if isinstance(expected, str) and isinstance(provided, str) and expected.startswith("0x"):
        return expected.lower() == provided.lower()
    return bool(expected == provided)


def _at(tree: Mapping[str, Any], dotted: str) -> Any:
    value: Any = tree
    for part in dotted.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _difference(name: str, expected: Any, provided: Any) -> Details:
    return {"field": name, "expected": _shown(expected), "provided": _shown(provided)}


def _shown(value: Any) -> Any:
    """Return a value short enough for an error; calldata and foreign structures are cut."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    if isinstance(value, str) and len(value) > _LONGEST_SHOWN:
        return f"{value[:_LONGEST_SHOWN]}… ({len(value)} characters)"
    return value


NATIVE = Address("0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE")
"""How ETH is written where an order names its tokens."""


@dataclass(frozen=True, slots=True)
class Trade:
    """What an order exchanges, in smallest units."""

    sell_token: Address
    buy_token: Address
    sell_amount: int
    min_buy_amount: int
    buy_amount: int


def swap_trade(quote: IssuedQuote) -> Trade:
    """Return the trade of an issued swap quote."""
    terms = quote.terms
    return Trade(
        sell_token=Address(terms["fromToken"]),
        buy_token=Address(terms["toToken"]),
        sell_amount=int(terms["amount"]),
        min_buy_amount=int(terms["minReturnAmount"]),
        buy_amount=int(terms["buyAmount"]),
    )


def wrap_trade(quote: IssuedQuote) -> Trade:
    """Return the trade of an issued wrap quote: one to one."""
    wei = parse_ether(quote.terms["amount"])
    pair = (NATIVE, WETH) if quote.terms["operation"] == Operation.WRAP else (WETH, NATIVE)
    return Trade(*pair, wei, wei, wei)


def operation_of(order: Order) -> Operation:
    """Return the direction of a wrap order."""
    return Operation.WRAP if order.sell_token == NATIVE else Operation.UNWRAP


@dataclass(frozen=True, slots=True)
class OrderLimits:
    """How long an order is kept alive, and how long a late inclusion is looked for; in ms."""

    expiry_ms: int = 30 * 60 * 1000
    watch_ms: int = 24 * 60 * 60 * 1000


def taken_order(
    order_id: str,
    signed: SignedTransaction,
    quote: IssuedQuote,
    trade: Trade,
    *,
    now_ms: int,
    head: int,
    limits: OrderLimits,
) -> Order:
    """Return the pending order of a submission that was checked at block number `head`."""
    return Order(
        order_id=order_id,
        key_id=quote.key_id,
        kind=OrderKind(quote.kind.value),
        status=Status.PENDING,
        wallet=signed.sender,
        nonce=signed.nonce,
        tx_hash=signed.hash,
        raw=signed.raw,
        sell_token=trade.sell_token,
        buy_token=trade.buy_token,
        sell_amount=trade.sell_amount,
        min_buy_amount=trade.min_buy_amount,
        buy_amount=trade.buy_amount,
        tier=quote.tier,
        endpoint_type=quote.endpoint_type,
        share_mode=quote.share_mode,
        created_at_ms=now_ms,
        expires_at_ms=now_ms + limits.expiry_ms,
        watch_until_ms=now_ms + limits.watch_ms,
        sent_head=head,
        attempts=1,
    )
