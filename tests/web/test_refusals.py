"""What the private URL says of a transaction that no relay got, as the page tells it a person."""

from collections.abc import Callable

import pytest
from eth_account import Account

from quietswap.rules.chain.records import NodeBehind, NodeUnavailable
from quietswap.rules.errors.base import ProviderUnavailable, RequestError
from quietswap.rules.errors.requests import (
    InsufficientAllowance,
    InsufficientBalance,
    InvalidSignature,
    NonceTooLow,
    ValidationError,
)
from quietswap.rules.orders import checks
from quietswap.rules.orders import wallet_transaction as rules
from quietswap.rules.orders.order import OrderKind
from quietswap.rules.orders.preflight import _refuse_batch, node_required
from quietswap.rules.routers import batch
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx.signed import decode
from quietswap.service.orders.submit import decode_signed
from quietswap.service.relays.answers import MEANINGS, RelayOutcome
from quietswap.service.wallet_rpc.dispatch import rejected
from quietswap.service.wallet_rpc.match import _unmatched
from quietswap.service.wallet_rpc.send import NOT_SENT_ANYWHERE
from tests.web.test_trade import call, run

ACCOUNT = Account.create()
FIELDS = {
    "to": WETH, "value": 0, "data": "0x", "gas": 21_000, "nonce": 3,
    "maxFeePerGas": 100, "maxPriorityFeePerGas": 0, "chainId": 1,
}  # fmt: skip
SIGNED = decode("0x" + bytes(ACCOUNT.sign_transaction(FIELDS).raw_transaction).hex())
OTHER_CHAIN = "0x" + bytes(ACCOUNT.sign_transaction(FIELDS | {"chainId": 5}).raw_transaction).hex()


def raised(work: Callable[[], object]) -> RequestError:
    with pytest.raises(RequestError) as refusal:
        work()
    return refusal.value


def _without_node(error: NodeUnavailable) -> Callable[[], None]:
    def refuse() -> None:
        with node_required():
            raise error

    return refuse


REFUSALS: list[tuple[RequestError | Exception, str]] = [
    (rules.unmatched("QUOTE_EXPIRED", "the quote of this transaction has expired"), "had ended"),
    (ValidationError("the quote expired 3 seconds ago", reason="QUOTE_EXPIRED"), "had ended"),
    (rules.quote_used(1, 2), "a second time"),
    (_unmatched(None, is_approval=True), "did not offer"),
    (_unmatched(None, is_approval=False), "did not offer"),
    (raised(lambda: rules.check_nonce_gap(5, 3)), "never sent"),
    (NonceTooLow(provided=2, expected=3), "a block has"),
    (raised(lambda: rules.check_bump(SIGNED, [99])), "rise by a tenth"),
    (raised(lambda: rules.check_fee(SIGNED, 101, 200)), "rose above"),
    (raised(lambda: rules.check_fee(SIGNED, 1, 99)), "above the limit"),
    (raised(lambda: rules.check_gas(SIGNED.params, 21_001)), "another gas limit"),
    (checks.would_revert(checks.RPC_SWAP, "it reverts"), "would fail now"),
    (raised(lambda: _refuse_batch(batch.LATER)), "in separate steps"),
    (InsufficientAllowance(token=WETH, router=WETH, required=2, current=1), "Approve it first"),
    (InsufficientBalance(asset="ETH", required=2, available=1), "too little"),
    (raised(_without_node(NodeUnavailable("no answer"))), "node does not answer"),
    (raised(_without_node(NodeBehind("late"))), "node is behind"),
    (ProviderUnavailable(MEANINGS[RelayOutcome.NOT_SENT].text), "private relay"),
    (InvalidSignature(reason="its sender is a contract, which cannot send"), "is a contract"),
    (InvalidSignature.other_signer(WETH, "a wallet of this RPC URL"), "another account"),
    (raised(lambda: decode_signed(OTHER_CHAIN, OrderKind.SWAP)), "another form"),
]


def test_each_refusal_has_a_sentence_of_the_page() -> None:
    """Also where a wallet wraps it in its own error."""
    texts = []
    for error, _ in REFUSALS:
        assert isinstance(error, RequestError)
        error.message = NOT_SENT_ANYWHERE + error.message
        texts.append(f'Internal JSON-RPC error. {{"message":"{rejected(error).message}"}}')
    told = run(*(call("refusalText", text) for text in texts))
    for sentence, text, (_, words) in zip(told, texts, REFUSALS, strict=True):
        assert words in sentence, text
        assert "nothing was sent" in sentence, text
        assert not {"nonce", "maxFeePerGas", "RPC", "says"} & set(sentence.split()), text


def test_an_answer_without_a_sentence_of_the_page_is_of_the_service() -> None:
    assert run(
        call("refusalText", "not sent anywhere: a new reason"), call("refusalText", "no")
    ) == [
        "Nothing was sent. The service says: A new reason.",
        None,
    ]
