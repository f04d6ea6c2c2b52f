"""cancel(): it signs nothing but the empty self-transfer, and believes its own node."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from eth_account import Account
from eth_account.typed_transactions import TypedTransaction
from eth_utils import keccak
from hexbytes import HexBytes

from quietswap.client import QuietswapClient
from quietswap.client.errors import (
    ClientError,
    MayBeMined,
    NonceMismatch,
    QuoteDeclined,
    StatusContradiction,
    TransactionHashMismatch,
    UnsafeQuote,
)
from quietswap.client.errors import ValidationError as ClientValidationError
from quietswap.client.flows.cancel import CancelRequest, check_cancel
from quietswap.client.flows.finality import TransactionOutcome
from quietswap.client.signing import hash_of, sign, to_sign
from quietswap.rules.contract.orders import CancelQuoteResponse
from quietswap.rules.contract.transactions import TransactionParams
from quietswap.rules.errors.requests import ValidationError
from quietswap.rules.orders.cancel_transaction import CancelQuote as CancelQuoteValue
from quietswap.rules.orders.cancel_transaction import SubmittedCancel
from quietswap.rules.orders.order import Failure, FailureCode, Order, OrderKind, OrderStatus
from tests.api.scripted_use_cases import cancel_quote
from tests.client.conftest import Do
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_servers import WALLET, Asked, FakeService, Reply, ok, placed, refused
from tests.response_json import cancels, orders
from tests.stored_orders import recorded

ORDER = "ord_1"
SWAP_HASH = "0x" + "5a" * 32
REQUEST = CancelRequest(ORDER, WALLET, nonce=7, tx_hash=SWAP_HASH)
GONE = Failure(FailureCode.USER_CANCELLED, "the wallet cancelled it by an empty transfer")


def quote(**changes: Any) -> CancelQuoteResponse:
    params: dict[str, Any] = {
        "to": WALLET, "data": "0x", "value": 0, "gas_limit": 21_000,
        "max_fee_per_gas": 3 * 10**9, "max_priority_fee_per_gas": 0, "nonce": 7,
        "chain_id": 1, "type": 2,
    }  # fmt: skip
    order_id = changes.pop("order_id", ORDER)
    made = TransactionParams(**(params | changes))
    return CancelQuoteResponse(
        order_id=order_id,
        provider="Test Relay",
        transaction_params=made,
        provider_metadata={},
        valid_until=datetime(2027, 1, 1, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"order_id": "ord_2"}, "another order"),
        ({"to": "0x" + "11" * 20}, "another receiver"),
        ({"data": "0xa9059cbb"}, "calldata"),
        ({"value": 1}, "ETH to be sent along"),
        ({"gas_limit": 20_999}, "a gas limit outside 21000 to 100000"),
        ({"gas_limit": 100_001}, "a gas limit outside 21000 to 100000"),
        ({"gas_limit": 500_000}, "a gas limit outside 21000 to 100000"),
        ({"nonce": None}, "no nonce: not signed"),
        ({"max_priority_fee_per_gas": 1}, "priority fee"),
        ({"chain_id": 10}, "another chain"),
        ({"type": 0}, "another chain or type"),
    ],
)
def test_nothing_but_the_empty_self_transfer_is_signed(changes: dict[str, Any], fault: str) -> None:
    for most in ({}, {"gas_limit": 100_000}):
        check_cancel(quote(**most), REQUEST)
    with pytest.raises(UnsafeQuote, match=fault):
        check_cancel(quote(**changes), REQUEST)


def test_a_nonce_of_ones_own_is_kept_to() -> None:
    check_cancel(quote(), CancelRequest(ORDER, WALLET, nonce=7))
    other = CancelRequest(ORDER, WALLET, nonce=8)
    with pytest.raises(NonceMismatch, match=r"nonce 7, not 8 as the order"):
        check_cancel(quote(), other)
    with pytest.raises(UnsafeQuote, match=r"calldata, nonce 7, not 8 as the order") as found:
        check_cancel(quote(data="0xa9059cbb"), other)
    assert not isinstance(found.value, NonceMismatch)


def test_a_gas_cost_above_the_limit_is_declined() -> None:
    dear = quote(max_fee_per_gas=10**12)
    with pytest.raises(QuoteDeclined, match=r"may cost 21000000000000000 wei, .*--most-fee"):
        check_cancel(dear, REQUEST)
    check_cancel(dear, replace(REQUEST, most_fee_wei=21 * 10**15))


@pytest.mark.parametrize("name", ["most_fee_wei", "nonce"])
@pytest.mark.parametrize("given", [float("nan"), 2.5, -1, True, "1"])
def test_a_bound_that_bounds_nothing(name: str, given: Any) -> None:
    """Nothing is above nan."""
    with pytest.raises(ValueError, match=f"{name} must be an int of 0 or more"):
        replace(REQUEST, **{name: given})


class CancelService(FakeService):
    """Takes a cancel of `ord_1`; both orders end as told once it was taken."""

    order: Order = placed(OrderStatus.MINING)
    ends: Order = placed(OrderStatus.CANCELLED, failure=GONE)
    cancel: Order = placed(OrderStatus.CONFIRMED)
    refuses: Reply | None = None
    issues: CancelQuoteValue = cancel_quote(ORDER)
    taken: str | None = None
    lie: str | None = None
    posts: int = 0

    def reply(self, asked: Asked) -> Reply:
        if asked.path.endswith("/cancel"):
            self.asked.append(asked)
            return self._cancel(asked.body)
        if asked.path.endswith(ORDER):
            ended = self.taken is not None or self.refuses is not None
            return self._record(self.ends if ended else self.order, SWAP_HASH)
        return self._record(self.cancel, self.taken or "")

    def _record(self, order: Order, tx_hash: str) -> Reply:
        stored = replace(order, order_id=ORDER if tx_hash == SWAP_HASH else "cnl_1")
        return ok(orders.order_status_response(recorded(replace(stored, tx_hash=tx_hash))))

    def _cancel(self, body: dict[str, Any]) -> Reply:
        if "signedTransaction" not in body:
            return ok(cancels.cancel_quote_response(self.issues))
        self.posts += 1
        if self.refuses is not None:
            return self.refuses
        self.taken = "0x" + keccak(hexstr=body["signedTransaction"]).hex()
        if self.cancel.inclusion is not None:
            self.mines(self.taken)
        named = self.lie or self.taken
        cancel = replace(self.cancel, order_id="cnl_1", kind=OrderKind.CANCEL, tx_hash=named)
        return ok(
            cancels.cancel_order_response(
                SubmittedCancel(cancel, self.order, "Relay", "https://r.test")
            )
        )


@pytest.fixture
def service(node: FakeChain) -> CancelService:
    return CancelService(mines=node.mine)


@pytest.mark.parametrize(
    ("member", "number", "refusal", "why"),
    [
        ("ether", 1, QuoteDeclined, "holds 1 wei of ETH"),
        ("nonce", 8, UnsafeQuote, "used already"),
        ("refusal", "execution reverted", QuoteDeclined, "own node the cancel would fail"),
        ("gas", 21_011, QuoteDeclined, "the cancel needs 21011 gas, and its limit is 21000"),
    ],
)
def test_a_cancel_that_cannot_be_mined_is_not_signed(
    do_with_node: Do,
    service: CancelService,
    node: FakeChain,
    member: str,
    number: int | str,
    refusal: type[ClientError],
    why: str,
) -> None:
    setattr(node, member, number)
    with pytest.raises(refusal, match=why):
        do_with_node("cancel", REQUEST, ACCOUNT)
    assert service.posts == 0


def signed_by(service: CancelService) -> Any:
    """Return the fields of what was signed."""
    raw = service.asked[-1].body["signedTransaction"]
    assert Account.recover_transaction(raw) == WALLET
    return TypedTransaction.from_bytes(HexBytes(raw)).as_dict()


def test_a_cancel_that_wins(do_with_node: Do, service: CancelService) -> None:
    result = do_with_node("cancel", REQUEST, ACCOUNT)
    assert result.checked
    fields = signed_by(service)
    assert "0x" + fields["to"].hex() == WALLET.lower()
    assert (fields["data"].hex(), fields["value"], fields["gas"]) == ("", 0, 21_000)
    assert (fields["nonce"], fields["maxPriorityFeePerGas"]) == (7, 0)
    assert result.cancelled
    assert result.status.error.code == "USER_CANCELLED"
    assert result.end.status == "confirmed"


def test_another_hash_for_a_cancel(do: Do, service: CancelService) -> None:
    service.lie = "0x" + "ee" * 32
    seen: list[str] = []
    with pytest.raises(MayBeMined, match=f"speaks of transaction {service.lie}") as caught:
        do("cancel", REQUEST, ACCOUNT, lambda event: seen.append(type(event).__name__))
    error = caught.value.__cause__
    assert isinstance(error, TransactionHashMismatch)
    assert (error.signed_hash, error.named_hash) == (service.taken, service.lie)
    assert seen == ["CancelQuoteResponse"]


def test_without_a_node_the_services_word_is_taken(do: Do) -> None:
    result = do("cancel", REQUEST, ACCOUNT)
    assert (result.cancelled, result.checked) == (True, False)


def test_what_counts_as_cancelled(do: Do, do_with_node: Do, service: CancelService) -> None:
    shown = do_with_node("cancel", REQUEST, ACCOUNT)
    assert not replace(shown, swap=object()).cancelled, "the swap is in a block as well"
    assert not replace(shown, fate=TransactionOutcome.OPEN).cancelled
    told = do("cancel", REQUEST, ACCOUNT)
    assert replace(told, end=None).cancelled, "by the state of the order alone"
    assert replace(told, status=told.end).cancelled, "by the block of the cancel alone"
    service.cancel = placed(OrderStatus.CANCELLED, failure=Failure(FailureCode.REPLACED, "no"))
    lost = do("cancel", REQUEST, ACCOUNT).end
    assert not replace(told, end=None, status=lost).cancelled


def test_that_the_swap_won_is_a_result(do: Do, service: CancelService) -> None:
    service.ends = placed(OrderStatus.CONFIRMED)
    service.cancel = placed(
        OrderStatus.CANCELLED, failure=Failure(FailureCode.REPLACED, "its nonce was used")
    )
    result = do("cancel", REQUEST, ACCOUNT)
    assert not result.cancelled
    assert result.status.status == "confirmed"


def test_an_order_that_ended_meanwhile_is_told_as_it_ended(do: Do, service: CancelService) -> None:
    service.refuses = refused(ValidationError("the order has ended", reason="ORDER_ENDED"))
    service.ends = placed(OrderStatus.CONFIRMED)
    result = do("cancel", REQUEST, ACCOUNT)
    assert (result.cancelled, result.submission) == (False, None)


def test_another_refusal_is_raised(do: Do, service: CancelService) -> None:
    service.refuses = refused(ValidationError("the relay refused it", reason="REFUSED"))
    with pytest.raises(MayBeMined, match="may still be mined as long as nonce 7") as caught:
        do("cancel", REQUEST, ACCOUNT)
    error = caught.value
    assert isinstance(error.cause, ClientValidationError)
    assert (error.nonce, error.order_id) == (7, ORDER)
    assert error.tx_hash == hash_of(service.asked[-1].body["signedTransaction"])


def test_cancelled_is_not_believed_where_the_own_node_shows_nothing(
    do_with_node: Do, service: CancelService
) -> None:
    service.mines = lambda _: None
    with pytest.raises(MayBeMined, match="your own node does not show it"):
        do_with_node("cancel", REQUEST, ACCOUNT)


def test_a_swap_that_took_place_all_the_same_is_a_contradiction(
    do_with_node: Do, service: CancelService, node: FakeChain
) -> None:
    service.mines = lambda _: node.mine(SWAP_HASH)
    with pytest.raises(StatusContradiction, match="the swap took place"):
        do_with_node("cancel", REQUEST, ACCOUNT)


def test_a_node_that_fails_after_the_cancel_leaves_its_hash(
    do_with_node: Do, service: CancelService, node: FakeChain
) -> None:
    node.hides = SWAP_HASH
    service.mines = lambda _: node.mine(SWAP_HASH)
    with pytest.raises(MayBeMined, match="missing trie node") as caught:
        do_with_node("cancel", REQUEST, ACCOUNT)
    assert caught.value.tx_hash == service.taken


def test_another_transaction_is_not_signed(do: Do, service: CancelService) -> None:
    usual = service.issues
    service.issues = replace(usual, params=replace(usual.params, value=1))
    with pytest.raises(UnsafeQuote, match="ETH to be sent along"):
        do("cancel", REQUEST, ACCOUNT)
    assert service.posts == 0


def test_the_caller_may_say_no(do: Do, service: CancelService) -> None:
    with pytest.raises(QuoteDeclined):
        do("cancel", replace(REQUEST, accept=lambda _: False), ACCOUNT)
    assert service.posts == 0


def test_the_two_calls_by_themselves(client: QuietswapClient, service: CancelService) -> None:
    issued = client.cancel_quote(ORDER)
    raw = sign(to_sign(issued.transaction_params), ACCOUNT, WALLET)
    service.lie = "0x" + "ee" * 32
    with pytest.raises(TransactionHashMismatch):
        client.submit_cancel(issued, raw)
    service.lie = None
    answer = client.submit_cancel(issued, raw)
    assert (answer.order.order_id, answer.cancel.order_id) == (ORDER, "cnl_1")
    assert answer.cancel.tx_hash == hash_of(raw)
