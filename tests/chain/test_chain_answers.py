"""What NodeChain makes of a node that answers half, wrongly or for somebody else."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
from eth_abi import encode
from structlog.testing import capture_logs

from quietswap.rules.chain.block_facts import BlockFacts
from quietswap.rules.chain.records import Block, Head, NodeUnavailable
from quietswap.rules.tokens.erc20 import word
from quietswap.rules.tokens.token import Token
from quietswap.rules.tx.signed import UnsignedTransaction
from quietswap.service.base.http_client import HttpClient
from quietswap.service.node.chain import NodeChain
from quietswap.service.node.rpc import NodeRpcClient
from quietswap.service.observe import registry
from tests.chain.fake_node import FakeNode, Refusal, fake_node
from tests.chain.small_chain import NOBODY, VENUE, WALLET
from tests.defaults import NODE
from tests.manual_clock import ManualClock

HASH, PARENT, TX = "0x" + "aa" * 32, "0x" + "bb" * 32, "0x" + "cc" * 32
HEADER: dict[str, Any] = {
    "number": "0x64",
    "hash": HASH,
    "parentHash": PARENT,
    "timestamp": "0x6afd86cc",
    "gasUsed": "0xe4e1c0",
    "gasLimit": "0x1c9c380",
    "baseFeePerGas": "0x3b9aca00",
}
TRANSACTION: dict[str, Any] = {
    "hash": TX,
    "from": WALLET.lower(),
    "to": None,
    "nonce": "0x7",
    "value": "0x1",
    "input": "0x0102",
}
BLOCK = HEADER | {"transactions": [TRANSACTION]}
RECEIPT: dict[str, Any] = {
    "transactionHash": TX,
    "blockNumber": "0x64",
    "blockHash": HASH,
    "status": "0x1",
    "gasUsed": "0x5208",
    "effectiveGasPrice": "0x3b9aca00",
}


class Scripted:
    """A chain over one scripted node."""

    def __init__(self, node: FakeNode, http: HttpClient) -> None:
        self.node = node
        self.clock = ManualClock()
        self.rpc = NodeRpcClient(http, [node.url], self.clock, **NODE)
        self.chain = NodeChain(self.rpc, self.clock, batch_size=10)

    def says(self, method: str, answer: object) -> NodeChain:
        self.node.answers[method] = answer
        return self.chain


@pytest.fixture
async def scripted() -> AsyncIterator[Scripted]:
    http = HttpClient()
    async with fake_node() as node:
        yield Scripted(node, http)
    await http.close()


def without(record: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != name}


def broken(record: dict[str, Any]) -> dict[str, object]:
    """Every way to break one field, and the whole."""
    ways: dict[str, object] = {f"no {name}": without(record, name) for name in record}
    ways |= {f"{name} is a number": record | {name: 5} for name in record}
    ways |= {f"{name} is junk": record | {name: "0xzz"} for name in record}
    ways |= {f"{name} is empty": record | {name: "0x"} for name in record}
    return ways | {"text": "0x1", "a list": [record]}


async def test_a_head(scripted: Scripted) -> None:
    head = await scripted.says("eth_getBlockByNumber", HEADER).head()
    assert head == Head(100, HASH, PARENT, 0x6AFD86CC, 10**9, 10**9, gas_limit=30_000_000)


async def test_a_head_with_a_block_access_list_is_of_the_fork(scripted: Scripted) -> None:
    header = HEADER | {"blockAccessListHash": HASH}
    assert (await scripted.says("eth_getBlockByNumber", header).head()).is_amsterdam


LATER_S = 1_780_000_000
"""After each fork that this release knows."""


@pytest.mark.parametrize("said", [{"next": None}, {"next": {"activationTime": LATER_S + 900}}])
async def test_a_fork_that_the_node_does_not_name_is_known_by_the_settings(
    scripted: Scripted, said: object
) -> None:
    """geth names none where its blob parameters are the last ones, though Amsterdam is set."""
    scripted.says("eth_config", said)
    told = NodeChain(scripted.rpc, ManualClock(), fork_times=(LATER_S - 5, LATER_S + 600))
    assert await told.next_fork(LATER_S) == LATER_S + 600


async def test_this_release_knows_the_dated_forks(scripted: Scripted) -> None:
    assert await scripted.chain.next_fork(1_764_798_550) == 1_764_798_551


async def test_a_node_that_names_no_fork_is_a_warning_until_the_fork(scripted: Scripted) -> None:
    header = HEADER | {"timestamp": hex(LATER_S)}
    scripted.says("eth_getBlockByNumber", header)
    clock = ManualClock(LATER_S)
    warned = await NodeChain(scripted.rpc, clock).warnings()
    assert "node.fork_times" in warned["fork"]
    assert await NodeChain(scripted.rpc, clock, fork_times=(LATER_S + 1,)).warnings() == {}
    scripted.says("eth_getBlockByNumber", header | {"blockAccessListHash": HASH})
    assert await NodeChain(scripted.rpc, clock).warnings() == {}, "Amsterdam is active"


@pytest.mark.parametrize(
    ("ahead_s", "words"),
    [
        (3600, "the local clock is 3600 s ahead of the newest block"),
        (61, "61 s ahead"),
        (60, None),
        (-5, None),
        (-3600, "the local clock is 3600 s behind the newest block"),
    ],
)
async def test_a_clock_far_from_the_chain_is_a_warning_and_logged_once(
    scripted: Scripted, ahead_s: int, words: str | None
) -> None:
    told = NodeChain(scripted.rpc, ManualClock(LATER_S + ahead_s), fork_times=(2**40,))
    with capture_logs() as lines:
        for number in (100, 101):
            header = HEADER | {"timestamp": hex(LATER_S), "number": hex(number)}
            scripted.says("eth_getBlockByNumber", header)
            warned = await told.warnings()
            await told.head(max_age_s=0)
    assert (words in warned["clock"]) if words else (warned == {})
    assert [line["event"] for line in lines if line["event"] == "clock_off"] == (
        ["clock_off"] if words else []
    )
    gauge = registry.get_sample_value("quietswap_clock_ahead_seconds")
    assert gauge == ahead_s


async def test_the_next_fork_is_asked_once(scripted: Scripted) -> None:
    rules = {"current": {"activationTime": 5}, "next": {"activationTime": 1_790_000_000}}
    chain = scripted.says("eth_config", rules)
    before = 1_790_000_000 - 1
    assert [await chain.next_fork(before) for _ in range(3)] == [1_790_000_000] * 3
    assert await chain.next_fork(1_790_000_000) is None, "it is active"
    assert scripted.node.served == ["eth_config"]


async def test_a_quote_waits_for_the_fork_that_is_being_read(scripted: Scripted) -> None:
    """Or none would be refused in the meantime; without an answer the earlier one stands."""
    chain = scripted.says("eth_config", {"next": {"activationTime": LATER_S + 1}})
    both = await asyncio.gather(chain.next_fork(LATER_S), chain.next_fork(LATER_S))
    assert both == [LATER_S + 1] * 2
    assert scripted.node.served == ["eth_config"]
    scripted.clock.advance(600)
    scripted.says("eth_config", "busy")
    both = await asyncio.gather(chain.next_fork(LATER_S), chain.next_fork(LATER_S))
    assert both == [LATER_S + 1] * 2
    assert scripted.node.served == ["eth_config"] * 2


@pytest.mark.parametrize(
    "answer", [{"next": None}, {}, {"next": {"activationTime": "0x5"}}, [], None]
)
async def test_a_node_that_tells_of_no_fork(scripted: Scripted, answer: object) -> None:
    assert await scripted.says("eth_config", answer).next_fork(LATER_S) is None


async def test_a_node_that_knows_no_forks(scripted: Scripted) -> None:
    """Unknown method, as old nodes answer."""
    assert await scripted.chain.next_fork(LATER_S) is None


@pytest.mark.parametrize(
    ("gas_used", "next_base_fee"),
    [("0x0", 875_000_000), ("0x1c9c380", 1_125_000_000), ("0xe4e1c1", 1_000_000_008)],
)
async def test_the_next_base_fee(scripted: Scripted, gas_used: str, next_base_fee: int) -> None:
    chain = scripted.says("eth_getBlockByNumber", HEADER | {"gasUsed": gas_used})
    assert (await chain.head()).next_base_fee == next_base_fee


async def test_the_next_base_fee_grows_at_least_by_one(scripted: Scripted) -> None:
    low = HEADER | {"gasUsed": "0xe4e1c1", "baseFeePerGas": "0x7"}
    assert (await scripted.says("eth_getBlockByNumber", low).head()).next_base_fee == 8


async def test_one_token_that_cannot_be_read_is_asked_again_and_the_other_not(
    scripted: Scripted,
) -> None:
    views = encode(["(bool,bytes)[]"], [[(True, word(6)), (True, b""), (True, word(0))]])
    fine = "0x" + views.hex()

    def answer(call: dict[str, str], _: str) -> str:
        return "0x1" if NOBODY[2:].lower() in call["data"] else fine

    chain = scripted.says("eth_call", answer)
    with pytest.raises(NodeUnavailable):
        await chain.tokens(VENUE, NOBODY)
    scripted.says("eth_call", fine)
    assert await chain.tokens(VENUE, NOBODY) == [Token(VENUE, 6, ""), Token(NOBODY, 6, "")]
    asked = [batch.count("eth_call") for batch in scripted.node.batches]
    assert asked == [2, 1]


@pytest.mark.parametrize("name", [*broken(HEADER), "null"])
async def test_half_a_head_is_no_head(scripted: Scripted, name: str) -> None:
    chain = scripted.says("eth_getBlockByNumber", broken(HEADER).get(name))
    with pytest.raises(NodeUnavailable):
        await chain.head()
    with pytest.raises(NodeUnavailable):
        await chain.finalized_number()


async def test_a_failed_head_is_not_remembered(scripted: Scripted) -> None:
    with pytest.raises(NodeUnavailable):
        await scripted.says("eth_getBlockByNumber", None).head()
    assert (await scripted.says("eth_getBlockByNumber", HEADER).head()).number == 100


async def test_a_block(scripted: Scripted) -> None:
    block = await scripted.says("eth_getBlockByNumber", BLOCK).block(100)
    assert isinstance(block, Block)
    [one] = block.transactions
    assert (one.hash, one.sender, one.nonce, one.to) == (TX, WALLET, 7, None)
    assert (one.value, one.data_size) == (1, 2)


TITAN = {"extraData": "0x" + b"Titan (titanbuilder.xyz)".hex(), "miner": VENUE}


async def test_a_block_tells_its_fee_its_fullness_and_its_builder(scripted: Scripted) -> None:
    full = BLOCK | TITAN | {"baseFeePerGas": "0x9", "gasUsed": "0xf", "gasLimit": "0x1e"}
    block = await scripted.says("eth_getBlockByNumber", full).block(100)
    assert block is not None
    assert block.facts == BlockFacts(9, 5_000, "Titan")


ODD_FACTS: list[dict[str, object]] = [
    {"gasUsed": None},
    {"gasLimit": "0x0"},
    {"baseFeePerGas": 9},
    {"baseFeePerGas": "0x" + "f" * 65},
    {"extraData": "0xa"},
    {"extraData": [1]},
]


@pytest.mark.parametrize("odd", ODD_FACTS)
async def test_a_block_is_read_without_its_facts(
    scripted: Scripted, odd: dict[str, object]
) -> None:
    """No order depends on them."""
    full = BLOCK | TITAN | {"baseFeePerGas": "0x9", "gasUsed": "0xf", "gasLimit": "0x1e"}
    block = await scripted.says("eth_getBlockByNumber", full | odd).block(100)
    assert block is not None
    assert (len(block.transactions), block.facts) == (1, None)


UNREAD = ("gasUsed", "gasLimit", "baseFeePerGas")
BROKEN_BLOCKS = {k: v for k, v in broken(BLOCK).items() if not any(name in k for name in UNREAD)}
BROKEN_TRANSACTIONS = {
    name: BLOCK | {"transactions": [wrong]}
    for name, wrong in broken(TRANSACTION).items()
    if name not in ("no to", "input is junk")  # only its length is read
}


@pytest.mark.parametrize("name", [*BROKEN_BLOCKS, "another number", "hashes only"])
async def test_half_a_block_is_no_block(scripted: Scripted, name: str) -> None:
    odd = {
        "another number": BLOCK | {"number": "0x65"},
        "hashes only": BLOCK | {"transactions": [TX]},
    }
    chain = scripted.says("eth_getBlockByNumber", (BROKEN_BLOCKS | odd)[name])
    with pytest.raises(NodeUnavailable):
        await chain.block(100)


@pytest.mark.parametrize("name", sorted(set(BROKEN_TRANSACTIONS) - {"input is empty"}))
async def test_half_a_transaction_spoils_the_block(scripted: Scripted, name: str) -> None:
    chain = scripted.says("eth_getBlockByHash", BROKEN_TRANSACTIONS[name])
    with pytest.raises(NodeUnavailable):
        await chain.block_by_hash(HASH)


async def test_a_block_of_another_hash_is_no_answer(scripted: Scripted) -> None:
    chain = scripted.says("eth_getBlockByHash", BLOCK)
    assert await chain.block_by_hash(HASH.upper().replace("X", "x")) is not None
    with pytest.raises(NodeUnavailable):
        await chain.block_by_hash(PARENT)


async def test_a_receipt(scripted: Scripted) -> None:
    chain = scripted.says("eth_getTransactionReceipt", RECEIPT)
    receipt = (await chain.receipts([TX]))[TX]
    assert receipt is not None
    assert (receipt.block_number, receipt.block_hash, receipt.succeeded) == (100, HASH, True)
    assert (receipt.gas_used, receipt.effective_gas_price) == (21_000, 10**9)


@pytest.mark.parametrize(
    "name", [*broken(RECEIPT), "null", "foreign", "pending", "status 2", "null hash"]
)
async def test_half_a_receipt_is_no_receipt(scripted: Scripted, name: str) -> None:
    odd: dict[str, object] = {
        "null": None,
        "foreign": RECEIPT | {"transactionHash": PARENT},
        "pending": RECEIPT | {"blockNumber": None},
        "null hash": RECEIPT | {"blockHash": None},
        "status 2": RECEIPT | {"status": "0x2"},
    }
    chain = scripted.says("eth_getTransactionReceipt", (broken(RECEIPT) | odd)[name])
    assert await chain.receipts([TX]) == {TX: None}


async def test_an_error_is_not_the_absence_of_a_receipt(scripted: Scripted) -> None:
    def lost(*_: object) -> object:
        raise Refusal(-32000, "transaction indexing is in progress")

    chain = scripted.says("eth_getTransactionReceipt", lost)
    assert await chain.receipts([TX]) == {}, "left out: not {TX: None}"
    assert scripted.node.batches[-1] == ["eth_chainId", "eth_blockNumber"], (
        "the node itself answers"
    )


async def test_many_receipts_come_in_bounded_batches(scripted: Scripted) -> None:
    def own(tx_hash: str) -> object:
        return RECEIPT | {"transactionHash": tx_hash}

    hashes = [f"0x{i:064x}" for i in range(25)]
    receipts = await scripted.says("eth_getTransactionReceipt", own).receipts(hashes)
    assert [r and r.tx_hash for r in receipts.values()] == hashes
    sizes = [len(batch) for batch in scripted.node.batches]
    assert sizes == [10, 10, 10, 3], "with block and chain"


Ask = Callable[[NodeChain], Coroutine[Any, Any, object]]
PARAMS = UnsignedTransaction(VENUE, b"", 0, 21_000, 10**9, None)
QUESTIONS: dict[str, Ask] = {
    "head": lambda chain: chain.head(),
    "token": lambda chain: chain.token(VENUE),
    "wallet": lambda chain: chain.wallet(WALLET, VENUE, NOBODY),
    "balances": lambda chain: chain.balances(WALLET, VENUE),
    "estimate": lambda chain: chain.estimate_gas(WALLET, PARAMS),
    "block": lambda chain: chain.block(100),
    "block by hash": lambda chain: chain.block_by_hash(HASH),
    "finalized": lambda chain: chain.finalized_number(),
    "receipts": lambda chain: chain.receipts([TX]),
    "nonces": lambda chain: chain.nonces([WALLET]),
}
METHODS = (
    "eth_getBlockByNumber", "eth_call", "eth_getTransactionCount", "eth_estimateGas",
    "eth_getBlockByHash", "eth_getTransactionReceipt", "eth_blockNumber",
)  # fmt: skip


@pytest.mark.parametrize("name", QUESTIONS)
async def test_a_node_in_trouble_is_no_information(scripted: Scripted, name: str) -> None:
    def overloaded(*_: object) -> object:
        raise Refusal(-32603, "internal error")

    for method in METHODS:
        scripted.node.answers[method] = overloaded
    with pytest.raises(NodeUnavailable):
        await QUESTIONS[name](scripted.chain)


@pytest.mark.parametrize("name", ["token", "wallet", "balances", "estimate", "nonces"])
@pytest.mark.parametrize("junk", ["0x", "0xzz", "", None, 7, [], {"a": 1}, "0x" + "00" * 31])
async def test_junk_is_no_information(scripted: Scripted, name: str, junk: object) -> None:
    for method in METHODS:
        scripted.node.answers[method] = junk
    with pytest.raises(NodeUnavailable):
        await QUESTIONS[name](scripted.chain)


async def test_a_token_that_hides_a_balance_is_no_information(scripted: Scripted) -> None:
    """One of two views reverts, so nobody knows what the wallet holds."""
    from quietswap.sandbox.contracts import abi

    results = [(True, bytes(32)), (False, b"")]
    answer = "0x" + abi.encode("((bool,bytes)[])", (results,)).hex()
    with pytest.raises(NodeUnavailable):
        await scripted.says("eth_call", answer).balances(WALLET, VENUE)


async def test_callers_at_once_share_one_head(scripted: Scripted) -> None:
    import asyncio

    chain = scripted.says("eth_getBlockByNumber", HEADER)
    await asyncio.gather(*(chain.head() for _ in range(10)))
    assert scripted.node.served == ["eth_getBlockByNumber"]


async def test_a_node_that_cannot_run_multicall_makes_no_token_a_stranger(
    scripted: Scripted,
) -> None:
    """ganache: the sandbox's contracts have opcodes that its rules lack."""

    def unknown_opcode(*_: object) -> object:
        raise Refusal(-32000, "VM Exception while processing transaction: invalid opcode", "0x")

    chain = scripted.says("eth_call", unknown_opcode)
    with pytest.raises(NodeUnavailable, match="cannot run Multicall3"):
        await chain.token(VENUE)
