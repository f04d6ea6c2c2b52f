"""wrap() and unwrap(): the nonce is the client's, the receipt the end."""

from typing import Any

import pytest
from eth_account import Account
from eth_account.typed_transactions import TypedTransaction
from hexbytes import HexBytes

from quietswap.client import QuietswapClient
from quietswap.client.errors import (
    OrderStillOpen,
    QuoteDeclined,
    TransactionFailed,
    TransactionReplaced,
    UnsafeQuote,
    WrongChain,
)
from quietswap.client.flows.wrap import to_wei
from quietswap.rules import errors
from quietswap.rules.tokens.token import WETH, WrapOperation
from tests.client.conftest import Do, Time
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_node import Swallowed
from tests.client.fake_servers import ETHER, WALLET, FakeService, Reply, ok, refused, wrap_answer


def signed_fields(service: FakeService) -> Any:
    raw = service.bodies("wrap order")[-1]["signedTransaction"]
    assert Account.recover_transaction(raw) == WALLET
    return TypedTransaction.from_bytes(HexBytes(raw)).as_dict()


def test_wrap_sets_the_nonce_and_nothing_else(
    client: QuietswapClient, service: FakeService, node: FakeChain
) -> None:
    node.nonce = 41
    result = client.wrap("2", ACCOUNT)
    signed = signed_fields(service)
    assert (signed["nonce"], signed["value"], signed["maxPriorityFeePerGas"]) == (41, 2 * ETHER, 0)
    assert "0x" + signed["to"].hex() == WETH.lower()
    assert signed["data"].hex() == "d0e30db0"
    assert result.receipt is not None
    assert result.receipt.succeeded


def test_unwrap(client: QuietswapClient, service: FakeService) -> None:
    client.unwrap("0.5", ACCOUNT)
    signed = signed_fields(service)
    assert (signed["value"], signed["data"].hex()) == (0, f"2e1a7d4d{ETHER // 2:064x}")


def test_a_node_of_another_chain_knows_no_nonce(client: QuietswapClient, node: FakeChain) -> None:
    node.chain_id = 10
    with pytest.raises(WrongChain, match="your RPC URL"):
        client.wrap("2", ACCOUNT)


def test_a_nonce_of_ones_own_needs_no_node(do: Do, service: FakeService) -> None:
    result = do("wrap", "2", ACCOUNT, nonce=12)
    assert signed_fields(service)["nonce"] == 12
    assert result.receipt is None


def test_without_node_and_nonce(do: Do) -> None:
    with pytest.raises(ValueError, match="needs an Ethereum node"):
        do("wrap", "2", ACCOUNT)


def test_a_signing_function_must_say_its_wallet(client: QuietswapClient) -> None:
    with pytest.raises(ValueError, match="does not say its wallet"):
        client.wrap("2", lambda _: b"")


def test_waits_until_it_is_mined(client: QuietswapClient, node: FakeChain, time: Time) -> None:
    node.holds = 3
    client.wrap("2", ACCOUNT)
    assert time.pauses == [2, 2, 2]


def test_failures_of_the_node_count_from_its_last_answer(
    client: QuietswapClient, node: FakeChain, time: Time
) -> None:
    usual, looks = node.eth_getTransactionReceipt, iter(["fails", "is open", "fails"])

    def receipt(tx_hash: str) -> Any:
        look = next(looks, "is mined")
        if look == "fails":
            raise Swallowed
        return usual(tx_hash) if look == "is mined" else None

    node.eth_getTransactionReceipt = receipt  # type: ignore[method-assign]
    client.wrap("2", ACCOUNT)
    first = client.polling.first_backoff_s
    assert time.pauses == [first, 2, first]


def test_a_wrap_that_reverts(client: QuietswapClient, node: FakeChain) -> None:
    node.reverts = True
    with pytest.raises(TransactionFailed, match="the unwrap was mined but reverted"):
        client.unwrap("0.5", ACCOUNT)


def test_another_transaction_took_the_nonce(
    client: QuietswapClient, service: FakeService, node: FakeChain
) -> None:
    service.mines = lambda _: None
    node.eth_getTransactionCount = lambda _, block: "0x7" if block == "pending" else "0x8"  # type: ignore[method-assign]
    with pytest.raises(TransactionReplaced):
        client.wrap("2", ACCOUNT)


def test_a_wrap_that_nobody_mines(
    client: QuietswapClient, service: FakeService, time: Time
) -> None:
    service.mines = lambda _: None
    with pytest.raises(OrderStillOpen, match="not mined after 300 s"):
        client.wrap("2", ACCOUNT)
    assert sum(time.pauses) == 300


def test_no_answer_to_the_order_is_asked_again(
    client: QuietswapClient, service: FakeService
) -> None:
    away = refused(errors.ServiceUnavailable("away"))
    service.next("wrap order", Reply(None), away)
    client.wrap("2", ACCOUNT)
    first, second, third = service.bodies("wrap order")
    assert first == second == third


def change(operation: WrapOperation, path: str, value: Any) -> dict[str, Any]:
    quote = wrap_answer(operation, 2 * ETHER)
    if "." not in path:
        quote[path] = value
    else:
        quote["mevProtection"]["transactionParams"][path.split(".")[1]] = value
    return quote


@pytest.mark.parametrize(
    ("operation", "path", "value"),
    [
        ("wrap", "operation", "unwrap"),
        ("wrap", "amountWei", str(2 * ETHER + 1)),
        ("wrap", "tx.to", "0x1111111254EEB25477B68fb85Ed929f73A960582"),
        ("wrap", "tx.data", "0xd0e30db1"),
        ("wrap", "tx.value", str(3 * ETHER)),
        ("unwrap", "tx.value", "1"),
        ("unwrap", "tx.data", f"0x2e1a7d4d{3 * ETHER:064x}"),
        ("wrap", "tx.maxPriorityFeePerGas", "5"),
        ("wrap", "tx.chainId", 5),
    ],
)
def test_nothing_else_is_signed(
    client: QuietswapClient, service: FakeService, operation: str, path: str, value: Any
) -> None:
    service.next("wrap quote", ok({"quote": change(WrapOperation(operation), path, value)}))
    with pytest.raises(UnsafeQuote):
        getattr(client, operation)("2", ACCOUNT)
    assert service.bodies("wrap order") == []


@pytest.mark.parametrize(
    "text", ["0", "-1", "x", "NaN", "Infinity", "0.0000000000000000001", "", "1e3", "1_0", "٣"]
)
def test_amounts_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="is not a"):
        to_wei(text)


def test_amounts_are_exact() -> None:
    assert to_wei("123456789012345678901234567890.123456789012345678") == int(
        "123456789012345678901234567890123456789012345678"
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"refusal": "execution reverted"}, r"by your own node the wrap would fail \(.*reverted\)"),
        ({"gas": 10**6}, "by your own node the wrap needs 1000000 gas, and its limit is"),
    ],
)
def test_what_fails_at_the_own_node_is_not_signed(
    client: QuietswapClient, service: FakeService, node: FakeChain,
    changes: dict[str, Any], words: str,
) -> None:  # fmt: skip
    """The wallet's code (EIP-7702) may refuse ETH, and the service may be silent about it."""
    for name, value in changes.items():
        setattr(node, name, value)
    with pytest.raises(QuoteDeclined, match=words):
        client.wrap("1.5", ACCOUNT)
    assert not service.bodies("wrap order")
