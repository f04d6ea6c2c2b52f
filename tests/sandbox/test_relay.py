"""The relay's protocol over HTTP: endpoints, geth's error messages, status, faults."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from quietswap.sandbox.chain.transactions import Transaction
from quietswap.sandbox.http_server import ComponentServer
from tests import loopback
from tests.sandbox.small_network import ALICE, BOB, GWEI, SmallNetwork, running_small_network
from tests.waiting import WITHIN_S, eventually

_PENDING = "UNKNOWN"  # the protocol has no other status


@pytest.fixture
async def town() -> AsyncIterator[SmallNetwork]:
    async with running_small_network() as running:
        yield running


class Client:
    """A client of the relay."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    async def call(self, method: str, *params: Any, path: str = "/") -> Any:
        """Return the result, or the error object."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        reply = await self.http.post(path, json=body)
        assert reply.status_code == 200
        answer = reply.json()
        return answer["result"] if "result" in answer else answer["error"]

    async def send(self, tx: Transaction, path: str = "/") -> Any:
        """Submit a transaction."""
        return await self.call("eth_sendRawTransaction", "0x" + tx.raw.hex(), path=path)

    async def status(self, tx: Transaction) -> dict[str, Any]:
        """Return the status page of a transaction."""
        page: dict[str, Any] = (await self.http.get(f"/tx/{tx.hash}")).json()
        return page


@pytest.fixture
async def client(town: SmallNetwork) -> AsyncIterator[Client]:
    part = ComponentServer("relay", town.active_faults, town.relay.handle)
    await part.start()
    async with loopback.AsyncClient(base_url=part.url, timeout=WITHIN_S, trust_env=False) as http:
        yield Client(http)
    await part.stop()


@pytest.mark.parametrize("path", ["/", "/fast", "/noreverts", "/fullprivacy"])
async def test_every_endpoint_takes_a_transaction_and_it_is_mined(
    town: SmallNetwork, client: Client, path: str
) -> None:
    tx = await town.signed()
    assert await client.send(tx, path) == tx.hash
    assert await client.send(tx, path) == {"code": -32000, "message": "already known"}
    await town.builder.mine(1)
    assert await town.block_of(tx)
    assert (await client.status(tx))["status"] == "INCLUDED"
    assert (await client.send(tx, path))["message"] == "nonce too low: next nonce 1, tx nonce 0"


async def test_the_query_is_kept(town: SmallNetwork, client: Client) -> None:
    tx = await town.signed()
    query = "?shareSafe=1&referrer=someone&refundRecipient=0xabc"
    await client.send(tx, "/fullprivacy" + query)
    held = town.relay.pool.get(tx.hash)
    assert held is not None
    terms = held.terms
    assert (terms.endpoint, terms.share) == ("fullprivacy", "shareSafe")
    assert (terms.referrer, terms.refund_recipient) == ("someone", "0xabc")
    other = await town.signed(nonce=1)
    await client.send(other, "/?shareAll=1")
    assert (await client.status(other))["referrer"] == "No Referrer"


async def test_the_status_page_has_documented_fields(town: SmallNetwork, client: Client) -> None:
    tx = await town.signed(gas=30_000)
    before = await client.status(tx)
    assert (before["status"], before["rpc_timestamp"]) == ("UNKNOWN", None)
    await client.send(tx, "/noreverts")
    page = await client.status(tx)
    assert page["status"] == _PENDING
    assert page["rpc_timestamp"].endswith("Z")
    assert set(page) == set(before) == {
        "status", "hash", "rpc_timestamp", "transaction", "fastMode", "shared",
        "simulationError", "backruns", "referrer", "refundRecipient", "refund",
    }  # fmt: skip
    assert page["transaction"] == {
        "from": ALICE.address.lower(), "to": BOB.address.lower(),
        "gas": "30000", "nonce": "0", "value": "1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"value": 10**30}, "insufficient funds for gas * price + value: balance 1000"),
        ({"gas": 20_999}, "intrinsic gas too low: gas 20999, minimum needed 21000"),
        ({"gas": 21_003, "data": b"\0"}, "intrinsic gas too low: gas 21003, minimum needed 21004"),
        ({"gas": 21_030, "data": b"\1"}, "insufficient gas for floor data gas cost: gas 21030"),
        ({"gas": 16_777_217}, "transaction gas limit too high (cap: 16777216, tx: 16777217)"),
        ({"tip": 4 * GWEI}, "max priority fee per gas higher than max fee per gas"),
        ({"chain_id": 5}, "invalid sender: invalid chain id for signer: have 5 want 1"),
    ],
)
async def test_refusals_use_the_words_of_geth(
    town: SmallNetwork, client: Client, fields: dict[str, Any], message: str
) -> None:
    error = await client.send(await town.signed(**fields))
    assert error["code"] == -32000
    assert error["message"].startswith(message)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("0x", "typed transaction too short"),
        ("0xf86c", "transaction type not supported"),
        ("0x02", "rlp: value size exceeds available input length"),
        ("0x02c0", "rlp: the transaction has not the shape of type 2"),
        ("0x02" + "c1" * 500, "rlp: value size exceeds available input length"),
        ("02f8", "invalid argument 0: hex string without 0x prefix"),
        ("0xzz", "invalid argument 0: invalid hex string"),
        ("0x02" + "00" * 140_000, "oversized data: transaction size 140001, limit 131072"),
    ],
)
async def test_what_is_no_transaction_is_refused(client: Client, raw: str, message: str) -> None:
    assert (await client.call("eth_sendRawTransaction", raw))["message"] == message


async def test_a_replacement_must_pay_a_tenth_more(town: SmallNetwork, client: Client) -> None:
    first = await town.signed(max_fee=10 * GWEI, tip=GWEI)
    cheap = await town.signed(max_fee=10 * GWEI, tip=2 * GWEI)
    dear = await town.signed(max_fee=11 * GWEI, tip=2 * GWEI)
    await client.send(first)
    assert (await client.send(cheap))["message"] == "replacement transaction underpriced"
    assert await client.send(dear) == dear.hash
    await town.builder.mine(1)
    assert await town.mined() == [dear.hash]


async def test_a_cancelled_transaction_is_not_mined(town: SmallNetwork, client: Client) -> None:
    tx = await town.signed()
    await client.send(tx)
    assert await client.call("eth_cancelTransaction", tx.hash) is True
    assert await client.call("eth_cancelTransaction", tx.hash) is False
    await town.builder.mine(1)
    assert await town.block_of(tx) is None
    assert (await client.status(tx))["status"] == "FAILED"
    assert await client.send(tx) == tx.hash
    await town.builder.mine(1)
    assert await town.block_of(tx)


async def test_a_soft_cancellation_is_never_mined(town: SmallNetwork, client: Client) -> None:
    path = "/noreverts?softCancellations=true"
    tx, cancel = await town.signed(), await town.signed(to=ALICE.address, value=0)
    await client.send(tx, path)
    assert await client.send(cancel, path) == cancel.hash
    await town.builder.mine(1)
    assert await town.mined() == []
    assert (await client.status(tx))["status"] == "FAILED"


async def test_private_transactions_count_as_pending_and_hide_their_signature(
    town: SmallNetwork, client: Client
) -> None:
    txs = [await town.signed(nonce=nonce) for nonce in range(3)]
    for tx in txs:
        await client.send(tx)
    assert await client.call("eth_getTransactionCount", ALICE.address, "pending") == "0x3"
    assert await client.call("eth_getTransactionCount", ALICE.address, "latest") == "0x0"
    shown = await client.call("eth_getTransactionByHash", txs[0].hash)
    assert (shown["hash"], shown["r"], shown["s"], shown["blockHash"]) == (
        txs[0].hash, "0x0", "0x0", None,
    )  # fmt: skip
    await town.builder.mine(1)
    mined = await client.call("eth_getTransactionByHash", txs[0].hash)
    assert mined["blockHash"]


async def test_other_methods_are_proxied_or_unknown(client: Client) -> None:
    assert await client.call("eth_chainId") == "0x1"
    for method in ("eth_sendPrivateTransaction", "anvil_mine", "txpool_content"):
        assert (await client.call(method))["code"] == -32601
    assert (await client.http.get("/")).status_code == 405
    assert (await client.http.post("/elsewhere")).status_code == 404
    assert (await client.http.post("/", content=b"{")).json()["error"]["code"] == -32700


async def test_a_lost_transaction_is_unknown_until_it_is_sent_again(
    town: SmallNetwork, client: Client
) -> None:
    tx = await town.signed()
    town.active_faults.put("relay", "lose")
    assert await client.send(tx) == tx.hash
    assert await client.send(tx) == tx.hash
    await town.builder.mine(2)
    assert (await client.status(tx))["status"] == "UNKNOWN"
    town.active_faults.clear("relay")
    await town.builder.mine(1)
    assert await town.block_of(tx) is None
    assert await client.send(tx) == tx.hash
    await town.builder.mine(1)
    assert await town.block_of(tx)
    held = town.relay.pool.get(tx.hash)
    assert held is not None
    assert held.submissions == 3


async def test_a_refusal_has_the_text_asked_for(town: SmallNetwork, client: Client) -> None:
    tx = await town.signed()
    town.active_faults.put("relay", "refuse:nonce too low: next nonce 8, tx nonce 7")
    assert await client.send(tx) == {
        "code": -32000, "message": "nonce too low: next nonce 8, tx nonce 7",
    }  # fmt: skip
    assert not town.relay.pool.get(tx.hash)


async def test_already_known_although_it_was_not(town: SmallNetwork, client: Client) -> None:
    tx = await town.signed()
    town.active_faults.put("relay", "already_known")
    assert (await client.send(tx))["message"] == "already known"
    await town.builder.mine(1)
    assert await town.block_of(tx)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("answer_lost", (httpx.RemoteProtocolError, httpx.ReadError)),
        ("half_answer", (httpx.RemoteProtocolError,)),
    ],
)
async def test_the_work_is_done_though_the_answer_does_not_arrive(
    town: SmallNetwork, client: Client, fault: str, error: tuple[type[Exception], ...]
) -> None:
    tx = await town.signed()
    town.active_faults.put("relay", fault)
    with pytest.raises(error):
        await client.send(tx)
    await town.builder.mine(1)
    assert await town.block_of(tx)


@pytest.mark.parametrize("fault", ["500", "html", "429", "hang", "garbage"])
async def test_without_work_nothing_is_held(town: SmallNetwork, client: Client, fault: str) -> None:
    tx = await town.signed()
    town.active_faults.put("relay", fault)
    timeout = httpx.Timeout(WITHIN_S, read=0.2 if fault == "hang" else WITHIN_S)
    try:
        await client.http.post("/", json={"method": "eth_sendRawTransaction"}, timeout=timeout)
    except httpx.TimeoutException:
        assert fault == "hang"
    assert not town.relay.pool.get(tx.hash)


async def test_a_late_answer_is_for_work_already_done(town: SmallNetwork, client: Client) -> None:
    tx = await town.signed()
    town.active_faults.put("relay", "delay:2000")
    call = {"id": 1, "method": "eth_sendRawTransaction", "params": ["0x" + tx.raw.hex()]}
    with pytest.raises(httpx.ReadTimeout):
        await client.http.post("/", json=call, timeout=httpx.Timeout(WITHIN_S, read=0.2))

    async def is_known() -> bool:
        return town.relay.pool.get(tx.hash)

    await eventually(is_known)


async def test_reported_failed_then_mined(town: SmallNetwork, client: Client) -> None:
    tx = await town.signed()
    town.active_faults.put("relay", "failed_then_mine:3")
    await client.send(tx)
    page = await client.status(tx)
    assert (page["status"], page["simulationError"]) == ("FAILED", "execution reverted")
    await town.builder.mine(2)
    assert await town.block_of(tx) is None
    await town.builder.mine(1)
    assert (await client.status(tx))["status"] == "INCLUDED"


async def test_answered_as_reverted_and_mined(town: SmallNetwork, client: Client) -> None:
    tx = await town.signed()
    town.active_faults.put("relay", "reverted_then_mine:2")
    assert await client.send(tx) == {"code": 3, "message": "execution reverted"}
    await town.builder.mine(1)
    assert await town.block_of(tx) is None
    await town.builder.mine(1)
    assert await town.block_of(tx) is not None
