"""Transactions that a wallet's RPC URL refuses: no relay gets a byte of them."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from quietswap.rules.chain.records import DryRun
from quietswap.rules.clients import ClientLimits
from quietswap.rules.orders.order import (
    Failure,
    FailureCode,
    Inclusion,
    OrderEventType,
    OrderKind,
    Transition,
)
from quietswap.rules.tokens.token import NATIVE, WETH
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import (
    GAS_LIMIT_CAP,
    SIZE_CAP,
    TransactionDecodeError,
    TransactionRuleViolation,
    decode,
)
from quietswap.service.orders.transition import apply_transition
from tests.orders.cancelling import ended
from tests.orders.submitting import Desk, open_desk
from tests.signing import OTHER_WALLET, ROUTER, WALLET, packed, sign, unpacked
from tests.stored_orders import CLIENT_ID, NOW_MS, USDC, swap_quote
from tests.wallet_rpc.wallet_sends import (
    GWEI,
    approve,
    deposit,
    empty,
    only_order,
    reason_of,
    refused,
    token,
    withdraw,
)

_CURVE_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_WORD = "00" * 31 + "01"
_ROUTER_WORD = ROUTER[2:].lower().rjust(64, "0")


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with open_desk() as opened:
        await opened.storage.quotes.save(swap_quote())
        yield opened


def _legacy() -> str:
    fields = {"chainId": 1, "nonce": 7, "to": ROUTER, "value": 0, "gas": 250_000, "data": "0x"}
    signed = WALLET.sign_transaction(fields | {"gasPrice": 30 * GWEI})
    return "0x" + bytes(signed.raw_transaction).hex()


def _access_list() -> str:
    return sign(accessList=[{"address": ROUTER, "storageKeys": []}])


def _malleated() -> str:
    fields = unpacked(sign())
    fields[9] = b"" if fields[9] else b"\x01"
    fields[11] = (_CURVE_ORDER - int.from_bytes(fields[11])).to_bytes(32)
    return packed(fields)


def _altered(place: int, content: bytes) -> str:
    fields = unpacked(sign())
    fields[place] = content
    return packed(fields)


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (_legacy(), "VALIDATION_ERROR"),
        ("0x01" + sign()[4:], "VALIDATION_ERROR"),
        ("0x03" + sign()[4:], "VALIDATION_ERROR"),
        ("0x04" + sign()[4:], "VALIDATION_ERROR"),
        ("0x05" + sign()[4:], "INVALID_SIGNATURE"),
        (_access_list(), "VALIDATION_ERROR"),
        (sign(chainId=5), "VALIDATION_ERROR"),
        (sign(to=""), "VALIDATION_ERROR"),
        (sign(gas=GAS_LIMIT_CAP + 1), "VALIDATION_ERROR"),
        (sign(maxFeePerGas=GWEI, maxPriorityFeePerGas=GWEI + 1), "VALIDATION_ERROR"),
        (_malleated(), "INVALID_SIGNATURE"),
        (_altered(9, b"\x02"), "INVALID_SIGNATURE"),
        (_altered(10, b""), "INVALID_SIGNATURE"),
        (_altered(1, b"\x00\x07"), "INVALID_SIGNATURE"),
        (sign() + "00", "INVALID_SIGNATURE"),
        (sign()[:-2], "INVALID_SIGNATURE"),
        (sign()[2:], "INVALID_SIGNATURE"),
        ("0x", "INVALID_SIGNATURE"),
        ("", "INVALID_SIGNATURE"),
        ("0x02zz", "INVALID_SIGNATURE"),
        ("0x02" + "00" * SIZE_CAP, "INVALID_SIGNATURE"),
        (sign(OTHER_WALLET), "INVALID_SIGNATURE"),
    ],
)
@pytest.mark.parametrize("unmatched", ["refuse", "private"])
async def test_invalid_forms_are_refused_as_by_the_order_endpoints(
    desk: Desk, raw: str, code: str, unmatched: str
) -> None:
    error = await refused(desk, raw, token(unmatched))  # type: ignore[arg-type]
    assert error.code == code
    assert desk.chain.calls.total() == 0
    assert not await desk.storage.orders.watched()


@pytest.mark.parametrize(
    "raw",
    [
        sign(data="0x38ed1739" + "00" * 63 + "01"),
        sign(to=USDC),
        sign(value=1),
        sign(to=USDC, data="0xd505accf" + _ROUTER_WORD + _WORD * 6),
        sign(to=USDC, data="0xa9059cbb" + _ROUTER_WORD + _WORD),
        sign(to=WETH, data="0x39509351" + _ROUTER_WORD + _WORD),
        sign(to=WETH, data="0x", value=10**17),
        sign(to=WETH, data="0xd0e30db0"),
        sign(to=WETH, data="0xd0e30db000", value=10**17),
        sign(to=WETH, data="0x2e1a7d4d" + _WORD, value=1),
        sign(to=WETH, data="0x2e1a7d4d" + _WORD + "00"),
        sign(to=WETH, data="0x2e1a7d4d"),
        empty(),
        sign(to=OTHER_WALLET.address, data="0x", value=10**18),
    ],
)
async def test_what_no_quote_asked_for_is_not_sent_anywhere(desk: Desk, raw: str) -> None:
    assert await reason_of(desk, raw) == "NO_MATCH"


@pytest.mark.parametrize(
    "raw",
    [
        approve(amount=10**18 + 1),
        approve(amount=2**256 - 1),
        approve(spender=OTHER_WALLET.address),
        approve(to=USDC),
        approve(value=1),
        sign(to=WETH, data="0x095ea7b3" + "01" + _ROUTER_WORD[2:] + _WORD),
        sign(to=WETH, data="0x095ea7b3" + _ROUTER_WORD + _WORD + "00"),
        sign(to=WETH, data="0x095ea7b3" + _ROUTER_WORD + _WORD[2:]),
        approve(amount=0, spender=OTHER_WALLET.address),
        approve(amount=0, to=OTHER_WALLET.address),
    ],
)
async def test_an_approval_is_of_the_quotes_token_router_and_amount(desk: Desk, raw: str) -> None:
    assert await reason_of(desk, raw) == "NO_MATCH"


async def test_an_approval_needs_a_live_quote_of_this_client_and_wallet(desk: Desk) -> None:
    error = await refused(desk, approve(), token(client_id="other"))
    assert error.details is not None
    assert error.details["reason"] == "NO_MATCH"
    desk.clock.advance(61)
    assert await reason_of(desk, approve()) == "NO_MATCH"


async def test_an_expired_quote_is_named_as_the_reason(desk: Desk) -> None:
    desk.clock.advance(61)
    assert await reason_of(desk, sign()) == "QUOTE_EXPIRED"


async def test_another_clients_quote_is_no_quote(desk: Desk) -> None:
    assert await reason_of(desk, sign(), token(client_id="other")) == "NO_MATCH"


async def test_a_gas_limit_has_the_floor_of_its_fork(desk: Desk) -> None:
    """After Amsterdam an empty transfer to itself needs 12,000, and each byte of calldata 64."""
    desk.chain.is_amsterdam = True
    assert await reason_of(desk, empty(gas=11_999)) == "GAS_TOO_LOW"
    assert await reason_of(desk, empty(gas=12_000)) != "GAS_TOO_LOW"
    assert await reason_of(desk, approve(gas=15_000 + 64 * 68 - 1)) == "GAS_TOO_LOW"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"gas": 20_999}, "GAS_TOO_LOW"),
        ({"maxFeePerGas": GWEI - 1}, "FEE_TOO_LOW"),
        ({"maxFeePerGas": 1000 * GWEI + 1}, "FEE_TOO_HIGH"),
        ({"nonce": 8}, "NONCE_GAP"),
    ],
)
async def test_the_wallets_own_fields_have_bounds(
    desk: Desk, changes: dict[str, int], reason: str
) -> None:
    desk.chain.facts = replace(desk.chain.facts, eth_balance=10**30)
    error = await refused(desk, sign(**changes))
    assert error.details is not None
    assert error.details["reason"] == reason
    assert error.details["fields"][0]["provided"] == str(next(iter(changes.values())))


@pytest.mark.parametrize("cap", [GWEI, 1000 * GWEI])
async def test_the_bounds_of_the_fee_are_inclusive(desk: Desk, cap: int) -> None:
    desk.chain.facts = replace(desk.chain.facts, eth_balance=10**30)
    assert await desk.send(token(), sign(maxFeePerGas=cap))


async def test_a_used_nonce_is_too_low(desk: Desk) -> None:
    assert (await refused(desk, sign(nonce=6))).code == "NONCE_TOO_LOW"


@pytest.mark.parametrize("raw", [sign(), approve(), deposit(), sign(gas=40_000)])
async def test_what_would_revert_with_the_wallets_gas_is_refused(desk: Desk, raw: str) -> None:
    desk.chain.dry_run = DryRun(False, reason="out of gas")
    error = await refused(desk, raw)
    assert error.details is not None
    assert (error.details["reason"], error.details["revertReason"]) == (
        "WOULD_REVERT",
        "out of gas",
    )


async def test_a_swap_that_would_deliver_too_little_is_refused(desk: Desk) -> None:
    desk.chain.dry_run = DryRun(True, 2_900 * 10**6 - 1)
    assert await reason_of(desk, sign(gas=300_000)) == "WOULD_REVERT"


async def test_without_a_simulation_less_gas_than_quoted_is_refused(desk: Desk) -> None:
    desk.chain.dry_run = DryRun(None, reason="the node cannot simulate")
    assert await reason_of(desk, sign(gas=249_999)) == "GAS_TOO_LOW"
    assert await desk.send(token(), sign())


async def test_an_unmatched_transaction_that_would_revert_is_refused(desk: Desk) -> None:
    desk.chain.dry_run = DryRun(False, reason="no")
    raw = sign(to=USDC, data="0x01")
    assert await reason_of(desk, raw, token("private")) == "WOULD_REVERT"


async def test_money_is_checked(desk: Desk) -> None:
    desk.chain.facts = replace(desk.chain.facts, eth_balance=10**15)
    assert (await refused(desk, sign())).code == "INSUFFICIENT_BALANCE"
    desk.chain.facts = replace(desk.chain.facts, eth_balance=10**19, token_balance=1)
    assert (await refused(desk, sign())).code == "INSUFFICIENT_BALANCE"
    assert (await refused(desk, withdraw())).code == "INSUFFICIENT_BALANCE"
    desk.chain.facts = replace(desk.chain.facts, token_balance=10**19, allowance=1)
    assert (await refused(desk, sign())).code == "INSUFFICIENT_ALLOWANCE"


async def test_one_quote_is_not_paid_twice_at_two_nonces(desk: Desk) -> None:
    await desk.send(token(), sign())
    error = await refused(desk, sign(nonce=8))
    assert error.details is not None
    assert (error.details["reason"], error.details["orderId"]) == ("QUOTE_USED", "ord_1")


async def test_a_quote_of_an_expired_order_is_not_paid_twice(desk: Desk) -> None:
    await desk.send(token(), sign())
    order = await only_order(desk)
    await ended(desk, order, FailureCode.EXPIRED)
    desk.chain.pending = 8  # as if the relay had leaked it
    assert await reason_of(desk, sign(nonce=8)) == "QUOTE_USED"


@pytest.mark.parametrize("succeeded", [True, False])
async def test_a_quote_is_paid_again_once_its_order_is_decided(desk: Desk, succeeded: bool) -> None:
    """An equal new swap at the next nonce: the order endpoint takes it, too."""
    await desk.send(token(), sign())
    order = await only_order(desk)
    block = Inclusion(1_001, "0x01", 150_000, 10**9, NOW_MS, succeeded=succeeded)
    kind = OrderEventType.INCLUDED if succeeded else OrderEventType.REVERTED
    failure = None if succeeded else Failure(FailureCode.REVERTED, "test")
    step = Transition(kind, "test", failure, inclusion=block)
    assert (await apply_transition(desk.storage.orders, order, step, desk.clock.now_ms())).applied
    desk.chain.facts = replace(desk.chain.facts, nonce=8)
    await desk.send(token(), sign(nonce=8))
    desk.chain.facts = replace(desk.chain.facts, nonce=9)
    assert await reason_of(desk, sign(nonce=9)) == "QUOTE_USED"


@pytest.mark.parametrize("is_confirmed", [True, False])
async def test_the_cancel_of_an_order_frees_its_quote(desk: Desk, is_confirmed: bool) -> None:
    await desk.send(token(), sign())
    order = await only_order(desk)
    gone = Failure(FailureCode.USER_CANCELLED, "by an empty transfer")
    step = Transition(OrderEventType.NONCE_TAKEN, "test", gone)
    if is_confirmed:
        assert (await apply_transition(desk.storage.orders, order, step, 1)).applied
    desk.chain.facts = replace(desk.chain.facts, nonce=8)
    if is_confirmed:
        await desk.send(token(), sign(nonce=8))
    else:
        assert await reason_of(desk, sign(nonce=8)) == "QUOTE_USED"


async def test_another_call_does_not_take_the_nonce_of_an_open_order(desk: Desk) -> None:
    await desk.send(token(), sign())
    for raw in (approve(), deposit(), sign(to=USDC, data="0x01", maxFeePerGas=90 * GWEI)):
        assert await reason_of(desk, raw, token("private")) == "NONCE_IN_USE"


@pytest.mark.parametrize("raw", [sign(maxFeePerGas=33 * GWEI - 1), empty(maxFeePerGas=31 * GWEI)])
async def test_a_replacement_raises_the_fee_by_a_tenth(desk: Desk, raw: str) -> None:
    await desk.send(token(), sign())
    assert await reason_of(desk, raw) == "REPLACEMENT_UNDERPRICED"
    assert not desk.relay.cancelled


async def test_nobody_else_cancels_or_speeds_up_an_order(desk: Desk) -> None:
    await desk.send(token(), sign())
    stranger = token(client_id="other")
    for raw in (empty(maxFeePerGas=40 * GWEI), sign(maxFeePerGas=40 * GWEI)):
        assert await reason_of(desk, raw, stranger) == "NO_MATCH"


async def test_a_node_that_does_not_answer_sends_nothing(desk: Desk) -> None:
    desk.chain.failing.add("all")
    error = await refused(desk, sign())
    assert (error.code, error.details) == ("PROVIDER_UNAVAILABLE", {"reason": "NODE_UNAVAILABLE"})


async def test_a_refused_approval_of_a_private_token_is_a_plain_transaction(desk: Desk) -> None:
    await desk.send(token("private"), approve(spender=OTHER_WALLET.address))
    order = await only_order(desk)
    assert (order.kind, order.sell_token, order.sell_amount) == (OrderKind.TRANSACTION, NATIVE, 0)


async def test_a_limit_of_the_client_says_that_nothing_was_sent(desk: Desk) -> None:
    limits = ClientLimits(wallets=frozenset({Address(OTHER_WALLET.address)}))
    await desk.storage.clients.change_limits(CLIENT_ID, lambda _: limits)
    error = await refused(desk, sign())
    assert error.code == "WALLET_NOT_ALLOWED"
    assert error.message.startswith("not sent anywhere")


@pytest.mark.parametrize(
    "raw",
    [
        *("0x03" + "fa" * 131_073, "0x03c0", "0x01c0", "0x04c0"),
        *("0x03" + "00" * 131_073, "0x0300", "0x00c0"),
    ],
    ids=lambda value: value[:12],
)
async def test_bytes_of_another_type_are_refused_alike(desk: Desk, raw: str) -> None:
    with pytest.raises((TransactionRuleViolation, TransactionDecodeError)) as alone:
        decode(raw)
    assert str(alone.value) in (await refused(desk, raw)).message
