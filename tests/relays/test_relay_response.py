"""The table of a relay's outcomes: transition and error, without a chain or a database."""

import pytest

from quietswap.rules.errors.base import ProviderUnavailable
from quietswap.rules.errors.requests import InsufficientBalance, NonceTooLow, ValidationError
from quietswap.rules.orders.order import TRANSITIONS, FailureCode, OrderEventType, OrderStatus
from quietswap.rules.tx.signed import decode
from quietswap.service.relays.answers import (
    MEANINGS,
    EarlierSend,
    RelayOutcome,
    RelayResponse,
    SentTransaction,
    answer_transition,
    delivery_error,
)
from tests.signing import sign
from tests.stored_orders import order

ACCEPTED, REFUSED, NOT_SENT = (
    OrderEventType.RELAY_ACCEPTED,
    OrderEventType.REFUSED,
    OrderEventType.NOT_SENT,
)
ROWS = {
    RelayOutcome.ACCEPTED: (ACCEPTED, None),
    RelayOutcome.ALREADY_KNOWN: (ACCEPTED, None),
    RelayOutcome.CONFLICT: (None, NonceTooLow),
    RelayOutcome.NONCE_USED: (None, NonceTooLow),
    RelayOutcome.INSUFFICIENT_FUNDS: (REFUSED, InsufficientBalance),
    RelayOutcome.INVALID: (REFUSED, ValidationError),
    RelayOutcome.WOULD_REVERT: (REFUSED, ValidationError),
    RelayOutcome.BUSY: (None, None),
    RelayOutcome.NOT_SENT: (NOT_SENT, ProviderUnavailable),
    RelayOutcome.NOT_TAKEN: (None, None),
    RelayOutcome.UNKNOWN: (None, None),
}
"""What the response alone decides, and the error once the order has failed by it."""


def test_every_outcome_has_one_row() -> None:
    assert set(MEANINGS) == set(RelayOutcome) == set(ROWS)


@pytest.mark.parametrize("outcome", RelayOutcome)
def test_an_outcome_leads_to_its_transition_and_error(outcome: RelayOutcome) -> None:
    event_type, error_type = ROWS[outcome]
    step = answer_transition(RelayResponse(outcome, "why"), EarlierSend.NONE)
    assert (step and step.event_type) is event_type
    assert step is None or step.event_type in TRANSITIONS[OrderStatus.PENDING]
    if step is None or step.failure is None:
        return
    failed = order(status=OrderStatus.FAILED, failure=step.failure)
    error = delivery_error(failed, outcome, SentTransaction(decode(sign()), 0))
    assert error_type is not None
    assert isinstance(error, error_type)
    assert error.details is not None
    assert error.details.get("mayBeMined") is (True if failed.is_at_large else None)


def test_not_sent_depends_on_an_earlier_send() -> None:
    answer = RelayResponse(RelayOutcome.NOT_SENT)
    steps = {earlier: answer_transition(answer, earlier) for earlier in EarlierSend}
    codes = {e: step.failure and step.failure.code for e, step in steps.items() if step}
    assert codes == {
        EarlierSend.NONE: FailureCode.NOT_SENT,
        EarlierSend.CERTAIN: FailureCode.REFUSED,
    }


def test_a_refused_swap_names_the_code_of_its_failure() -> None:
    step = answer_transition(RelayResponse(RelayOutcome.INVALID, "why"), EarlierSend.NONE)
    assert step is not None
    assert step.failure is not None
    failed = order(status=OrderStatus.FAILED, failure=step.failure)
    sent = SentTransaction(decode(sign()), 0)
    error = delivery_error(failed, RelayOutcome.INVALID, sent)
    assert error is not None
    assert error.details is not None
    assert error.details["reason"] == step.failure.code.value
