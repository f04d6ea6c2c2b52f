"""What was submitted against what was issued."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietswap.rules.errors.requests import ValidationError
from quietswap.rules.orders.comparison import (
    matching_quote,
    swap_differences,
    swap_members,
    wrap_differences,
)
from quietswap.rules.quotes.issued_quote import GRACE_MS, IssuedQuote, WrapOrderTerms
from quietswap.rules.tokens.token import WrapOperation
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import decode
from tests.signing import FIELDS, WALLET, sign
from tests.stored_orders import NOW_MS, PROTECTION, order_params, swap_quote

METADATA = PROTECTION.metadata()
SIGNER = Address(WALLET.address)


def differing(raw: str = "", terms: Any = None, metadata: Any = None) -> list[str]:
    """Return the names of the fields that differ from the issued quote."""
    found = swap_differences(
        decode(raw or sign()), terms or order_params(), metadata or METADATA, swap_quote()
    )
    return [each["field"] for each in found]


def changed_settings(**changes: Any) -> dict[str, Any]:
    """Return the metadata with some relay settings changed."""
    return METADATA | {"mevRelayMetadata": METADATA["mevRelayMetadata"] | changes}


def test_what_was_issued_has_no_difference() -> None:
    assert differing() == []


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"to": "0x" + "11" * 20}, "to"),
        ({"data": FIELDS["data"] + "00"}, "data"),
        ({"data": "0x"}, "data"),
        ({"value": 1}, "value"),
        ({"gas": FIELDS["gas"] - 1}, "gasLimit"),
        ({"maxFeePerGas": FIELDS["maxFeePerGas"] + 1}, "maxFeePerGas"),
        ({"maxPriorityFeePerGas": 1}, "maxPriorityFeePerGas"),
        ({"nonce": 8}, "nonce"),
    ],
)
def test_one_changed_field_of_the_transaction_is_named(change: dict[str, Any], name: str) -> None:
    assert differing(sign(**change)) == [f"transaction.{name}"]


CHANGED_TERMS = {
    "fromToken": "0x" + "11" * 20,
    "toToken": "0x" + "11" * 20,
    "amount": "1",
    "minReturnAmount": "1",
    "userAddress": "0x" + "11" * 20,
    "chainId": 2,
    "slippageBps": 51,
    "selectedTier": 4,
    "dexRoute.target": "0x" + "11" * 20,
    "dexRoute.data": "0x",
}


@pytest.mark.parametrize("name", swap_members(swap_quote()))
@pytest.mark.parametrize("missing", [False, True])
def test_one_changed_or_missing_term_is_named(name: str, missing: bool) -> None:
    terms = order_params()
    holder, _, last = name.rpartition(".")
    part = dict(terms["dexRoute"]) if holder else terms
    part[last] = CHANGED_TERMS[name]
    if missing:
        del part[last]
    terms |= {holder: part} if holder else {}
    assert differing(terms=terms) == [f"orderParams.{name}"]


def test_hex_case_and_json_number_spelling_do_not_differ() -> None:
    data = "0x" + FIELDS["data"][2:].upper()
    terms = order_params(fromToken=order_params()["fromToken"].lower(), selectedTier=2.0)
    terms["dexRoute"] = terms["dexRoute"] | {"data": data}
    assert differing(terms=terms) == []


@pytest.mark.parametrize("value", [True, "2", None, [2], {"2": 2}])
def test_another_json_type_is_another_value(value: Any) -> None:
    assert differing(terms=order_params(selectedTier=value)) == ["orderParams.selectedTier"]
    assert differing(metadata=METADATA | {"tier": value}) == ["providerMetadata.tier"]


def test_the_clients_own_words_are_not_compared() -> None:
    own = {"deadline": 1, "threatAnalysis": {}, "transactionValueUsd": 0, "referrer": "me"}
    assert differing(terms=order_params(**own)) == []


def test_key_order_does_not_matter() -> None:
    turned = dict(reversed(METADATA.items()))
    turned["mevRelayMetadata"] = dict(reversed(METADATA["mevRelayMetadata"].items()))
    assert differing(metadata=turned) == []


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"endpoint": "https://elsewhere.test"}, "endpoint"),
        ({"shareMode": "shareAll"}, "shareMode"),
        ({"revertProtection": 1}, "revertProtection"),
        ({"useBoost": None}, "useBoost"),
        ({"useBoost": 0}, "useBoost"),
        ({"extra": None}, "extra"),
        ({"extra": {"deep": 1}}, "extra"),
    ],
)
def test_a_changed_or_extra_setting_is_named_by_its_path(change: Any, name: str) -> None:
    expected = [f"providerMetadata.mevRelayMetadata.{name}"]
    assert differing(metadata=changed_settings(**change)) == expected


def test_every_missing_setting_is_named() -> None:
    names = {f"providerMetadata.mevRelayMetadata.{n}" for n in METADATA["mevRelayMetadata"]}
    assert set(differing(metadata=METADATA | {"mevRelayMetadata": {}})) == names
    assert differing(metadata=METADATA | {"mevRelayMetadata": 1}) == [
        "providerMetadata.mevRelayMetadata"
    ]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(name=st.sampled_from(sorted(METADATA["mevRelayMetadata"])), value=json_values)
def test_no_foreign_value_passes_as_a_setting(name: str, value: Any) -> None:
    issued = METADATA["mevRelayMetadata"][name]
    same = value == issued and isinstance(value, bool) == isinstance(issued, bool)
    assert (differing(metadata=changed_settings(**{name: value})) == []) == same


def test_differences_show_both_sides_but_never_a_whole_calldata() -> None:
    found = swap_differences(
        decode(sign(data="0x" + "ab" * 5000)), order_params(amount="1"), METADATA, swap_quote()
    )
    assert found[1] == {
        "field": "orderParams.amount",
        "expected": str(10**18),
        "provided": "1",
    }
    assert len(found[0]["provided"]) < 250
    assert found[0]["provided"].endswith("(10002 characters)")


def test_the_number_of_differences_is_bounded() -> None:
    flood = METADATA | {f"key{i}": i for i in range(10_000)}
    assert len(differing(metadata=flood)) == 50


def wrap_quote() -> IssuedQuote:
    """Return a stored wrap quote: no nonce in it."""
    quote = swap_quote()
    return replace(
        quote,
        params=replace(quote.params, nonce=None),
        terms=WrapOrderTerms(WrapOperation.WRAP, 15 * 10**17),
    )


def wrap_names(operation: WrapOperation, amount: int | None, **change: Any) -> list[str]:
    """Return the names of the fields in which a wrap differs."""
    found = wrap_differences(decode(sign(**change)), operation, amount, METADATA, wrap_quote())
    return [each["field"] for each in found]


def test_a_wrap_sets_its_own_nonce_and_nothing_else() -> None:
    assert wrap_names(WrapOperation.WRAP, None, nonce=99) == []
    assert wrap_names(WrapOperation.WRAP, 15 * 10**17, nonce=0) == []
    assert wrap_names(WrapOperation.WRAP, None, value=1) == ["transaction.value"]


def test_a_wrap_must_repeat_its_operation_and_amount() -> None:
    assert wrap_names(WrapOperation.UNWRAP, 1) == ["operation", "amount"]


def test_the_nearest_quote_explains_the_difference() -> None:
    near, far = swap_quote(quote_id="near"), swap_quote(quote_id="far")
    compared = [(far, [{"field": "a"}, {"field": "b"}]), (near, [{"field": "c"}])]
    with pytest.raises(ValidationError) as refused:
        matching_quote(compared, SIGNER, NOW_MS)
    assert refused.value.details == {"reason": "MISMATCH", "fields": [{"field": "c"}]}


def test_of_several_equal_quotes_the_one_valid_longest_counts() -> None:
    old = swap_quote(quote_id="old")
    new = swap_quote(quote_id="new", valid_until_ms=NOW_MS + 90_000)
    assert matching_quote([(old, []), (new, [])], SIGNER, NOW_MS + 80_000) is new


def test_no_quote_at_all_is_its_own_reason() -> None:
    with pytest.raises(ValidationError) as refused:
        matching_quote([], SIGNER, NOW_MS)
    assert refused.value.details == {"reason": "NO_QUOTE", "fields": []}


def test_a_quote_is_good_until_its_grace_is_over() -> None:
    quote = swap_quote()
    last = quote.valid_until_ms + GRACE_MS
    assert matching_quote([(quote, [])], SIGNER, last) is quote
    with pytest.raises(ValidationError) as refused:
        matching_quote([(quote, [])], SIGNER, last + 1)
    assert refused.value.details == {"reason": "QUOTE_EXPIRED", "fields": []}
