"""The comparison of a submitted order with the issued quote, field by field.

The signed transaction, the terms that an order must repeat and `providerMetadata` are compared. The
other members of an order move no money and are not compared: `deadline` (checked against the
clock), `threatAnalysis`, `transactionValueUsd`, `referrer`, and `source` and `estimatedGas` of
`dexRoute`. Addresses and calldata are compared without regard to letter case.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quietswap.rules.amounts import format_ether
from quietswap.rules.errors.base import Details
from quietswap.rules.errors.requests import ValidationError, recovered
from quietswap.rules.quotes.issued_quote import IssuedQuote, SwapOrderTerms, WrapOrderTerms
from quietswap.rules.tokens.token import WrapOperation
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.fees import PRIORITY_FEE
from quietswap.rules.tx.signed import MAINNET, SignedTransaction

_MOST_FIELDS = 50
_LONGEST_SHOWN = 200
IF_LOST = (
    "Nothing was sent. If you signed a quote unchanged, the service has lost it, as by a restore of"
    " its database: request a fresh one, and sign it with the same nonce."
)
"""The advice to a caller whose transaction no stored quote has."""


def swap_differences(
    signed: SignedTransaction, order_params: Mapping[str, Any], metadata: Any, quote: IssuedQuote
) -> list[Details]:
    """Return {field, expected, provided} for each difference between a swap order and `quote`.

    `order_params` and `metadata` are `orderParams` and `providerMetadata` as sent.
    """
    differences = list(_transaction(signed, quote))
    for name, expected in swap_members(quote).items():
        provided = _at(order_params, name)
        if not _same(expected, provided):
            differences.append(_difference(f"orderParams.{name}", expected, provided))
    differences.extend(_tree("providerMetadata", quote.metadata, metadata))
    return differences[:_MOST_FIELDS]


def swap_members(quote: IssuedQuote) -> dict[str, Any]:
    """Return the members of `orderParams` that must repeat `quote`, by dotted name."""
    assert isinstance(quote.terms, SwapOrderTerms)
    trade = quote.terms.trade
    return {
        "fromToken": trade.sell_token,
        "toToken": trade.buy_token,
        "amount": str(trade.sell_amount),
        "minReturnAmount": str(trade.min_buy_amount),
        "userAddress": quote.wallet,
        "chainId": MAINNET,
        "slippageBps": quote.terms.slippage_bps,
        "selectedTier": quote.tier,
        "dexRoute.target": quote.params.to,
        "dexRoute.data": "0x" + quote.params.data.hex(),
    }


def wrap_differences(
    signed: SignedTransaction,
    operation: WrapOperation,
    amount: int | None,
    metadata: Any,
    quote: IssuedQuote,
) -> list[Details]:
    """Return the same for a wrap or unwrap; `amount` in wei, None if the client sent none."""
    terms, differences = quote.terms, list(_transaction(signed, quote))
    assert isinstance(terms, WrapOrderTerms)
    if operation is not terms.operation:
        differences.append(_difference("operation", terms.operation.value, operation.value))
    if amount is not None and amount != terms.amount:
        differences.append(_difference("amount", format_ether(terms.amount), format_ether(amount)))
    differences.extend(_tree("providerMetadata", quote.metadata, metadata))
    return differences[:_MOST_FIELDS]


def cancel_differences(
    signed: SignedTransaction, metadata: Any, quote: IssuedQuote
) -> list[Details]:
    """Return the same for a cancel, whose only content is its transaction."""
    differences = [
        *_transaction(signed, quote),
        *_tree("providerMetadata", quote.metadata, metadata),
    ]
    return differences[:_MOST_FIELDS]


def matching_quote(
    compared: Sequence[tuple[IssuedQuote, Sequence[Details]]], signer: Address, now_ms: int
) -> IssuedQuote:
    """Return the quote without a difference; of several, the one that is valid longest.

    Raises ValidationError: with the differences from the closest quote, with reason NO_QUOTE if
    there is none to compare with, or with QUOTE_EXPIRED.
    """
    if not compared:
        message = f"the service knows no quote of this API key for the signer: {recovered(signer)}"
        raise ValidationError(message, reason="NO_QUOTE", suggestion=IF_LOST)
    quote, differences = min(compared, key=lambda pair: (len(pair[1]), -pair[0].valid_until_ms))
    if differences:
        more = f" and {len(differences) - 1} more" if differences[1:] else ""
        first = f"{differences[0]['field']}{more}"
        if first.startswith("transaction."):
            message = f"no known quote has this transaction; the closest one differs in {first}"
            raise ValidationError(message, differences, suggestion=IF_LOST)
        raise ValidationError(f"what was submitted differs from the quote in {first}", differences)
    if not quote.is_live(now_ms):
        late = (now_ms - quote.valid_until_ms) // 1000
        raise ValidationError(f"the quote expired {late} seconds ago", reason="QUOTE_EXPIRED")
    return quote


def _transaction(signed: SignedTransaction, quote: IssuedQuote) -> Iterator[Details]:
    params = signed.params
    issued = quote.form_of(params)
    pairs = {
        "to": (issued.to, params.to),
        "data": ("0x" + issued.data.hex(), "0x" + params.data.hex()),
        "value": (str(issued.value), str(params.value)),
        "gasLimit": (str(issued.gas_limit), str(params.gas_limit)),
        "maxFeePerGas": (str(issued.max_fee_per_gas), str(params.max_fee_per_gas)),
        "maxPriorityFeePerGas": (str(PRIORITY_FEE), str(signed.priority_fee)),
        "nonce": (issued.nonce, params.nonce if issued.nonce is not None else None),
    }
    for name, (expected, provided) in pairs.items():
        if expected != provided:
            yield _difference(f"transaction.{name}", expected, provided)


def _tree(path: str, expected: Any, provided: Any) -> Iterator[Details]:
    """Yield the differences of two JSON values, each by its dotted path.

    The recursion follows the issued object, so nested input of a client cannot make it deep.
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
    """Return whether two JSON scalars are equal: 4 equals 4.0, but true does not equal 1."""
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
    """Return a value short enough for an error; long text and structures are cut."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    if isinstance(value, str) and len(value) > _LONGEST_SHOWN:
        return f"{value[:_LONGEST_SHOWN]}… ({len(value)} characters)"
    return value
