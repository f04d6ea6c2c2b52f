"""The wrap flow: quote, check, set the nonce, sign, submit, wait for the receipt."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from quietswap.client import calls, chain
from quietswap.client.approvals import require_mainnet
from quietswap.client.errors import Declined, UnsafeQuote
from quietswap.client.flow import Flow, ask
from quietswap.client.polling import Polling, mined, persist
from quietswap.client.safety import check_params
from quietswap.client.signing import Signer, hash_of, require_same, sign, to_sign
from quietswap.client.wrap_resources import WrapOperation, WrapOrder, WrapQuote

WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
"""Canonical WETH9 on Ethereum mainnet."""
_DEPOSIT, _WITHDRAW = "0xd0e30db0", "0x2e1a7d4d"
_ETHER = re.compile(r"([0-9]{1,60})(?:\.([0-9]{1,18}))?")

Event = WrapQuote | WrapOrder | chain.Receipt
Watch = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class WrapRequest:
    """`amount` in ETH; `nonce` None asks the caller's node; `accept` may still say no."""

    operation: WrapOperation
    amount: str
    wallet: str
    nonce: int | None = None
    accept: Callable[[WrapQuote], bool] | None = None


@dataclass(frozen=True, slots=True)
class WrapResult:
    """`receipt` is None when there was no node to wait at."""

    quote: WrapQuote
    order: WrapOrder
    receipt: chain.Receipt | None


def to_wei(amount: str) -> int:
    """Return a decimal ETH amount in wei: digits and at most 18 decimals. Raises ValueError."""
    found = _ETHER.fullmatch(amount)
    wei = int(found[1] + (found[2] or "").ljust(18, "0")) if found else 0
    if wei == 0:
        raise ValueError(f"{amount!r} is not a positive amount of ETH with at most 18 decimals")
    return wei


def check_quote(quote: WrapQuote, request: WrapRequest) -> None:
    """Refuse a quote that does anything but the conversion. Raises UnsafeQuote."""
    params, wei = quote.mev_protection.transaction_params, to_wei(request.amount)
    is_wrap = request.operation == "wrap"
    data = _DEPOSIT if is_wrap else _WITHDRAW + f"{wei:064x}"
    faults = {
        "another operation": quote.operation != request.operation,
        "another amount": quote.amount_wei != wei,
        "another contract than WETH": params.to.lower() != WETH.lower(),
        "another call": params.data.lower() != data,
        "another value": params.value != (wei if is_wrap else 0),
    }
    found = [name for name, is_so in faults.items() if is_so] + check_params(params)
    if found:
        raise UnsafeQuote(f"the quote has {', '.join(found)}: not signed")


def order_call(quote: WrapQuote, signed: str) -> calls.Call[WrapOrder]:
    """Return the call that submits a signed quote; repeating it is harmless."""
    return calls.submit_wrap_order(
        operation=quote.operation,
        signed_transaction=signed,
        provider_metadata=quote.mev_protection.provider_metadata,
        quote_id=quote.quote_id,
        amount=quote.amount,
    )


def place(quote: WrapQuote, signed: str) -> Flow[WrapOrder]:
    """Submit a signed quote once. Raises OtherTransaction."""
    order = yield from ask(order_call(quote, signed))
    require_same(hash_of(signed), order.tx_hash)
    return order


def convert(
    request: WrapRequest, signer: Signer, polling: Polling, watch: Watch, *, has_node: bool
) -> Flow[WrapResult]:
    """Run the whole flow.

    Raises OtherTransaction, and TransactionFailed, Replaced or StillOpen while waiting.
    """
    quote = yield from ask(calls.wrap_quote(request.operation, request.amount, request.wallet))
    check_quote(quote, request)
    nonce = request.nonce
    if nonce is None:
        yield from require_mainnet()
        nonce = yield from ask(chain.nonce(request.wallet))
    quote = quote.with_nonce(nonce)
    watch(quote)
    if request.accept is not None and not request.accept(quote):
        raise Declined("the quote was not accepted")
    params = quote.mev_protection.transaction_params
    signed = sign(to_sign(params), signer, request.wallet)
    order = yield from persist(order_call(quote, signed), polling)
    tx_hash = hash_of(signed)
    require_same(tx_hash, order.tx_hash)
    watch(order)
    if not has_node:
        return WrapResult(quote, order, None)
    receipt = yield from mined(f"the {request.operation}", tx_hash, request.wallet, nonce, polling)
    watch(receipt)
    return WrapResult(quote, order, receipt)
