"""geth refuses what the sandbox's node refuses, in the same words: the stand-in is no invention."""

from typing import Any

import pytest
from eth_account import Account

from quietswap.sandbox.contracts.abi import WALLETS
from quietswap.service.base.http_client import HttpReply
from quietswap.service.relays.answers import RelayOutcome
from quietswap.service.relays.classify_response import classify_response
from tests import loopback
from tests.chain.test_node_answers import SENT
from tests.nodes.town import GethTown
from tests.sandbox.geth_refusals import ANSWERS, FAILED, REFUSED, shape
from tests.waiting import WITHIN_S


@pytest.mark.parametrize("town", ["today"], indirect=True)
@pytest.mark.capability("refusals of calls as in the sandbox")
def test_refusals_are_those_that_the_sandbox_repeats(town: GethTown) -> None:
    def asked(method: str, params: list[Any]) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return loopback.post(town.geth.url, json=body, timeout=WITHIN_S).json()

    for name, call in REFUSED.items():
        head = asked("eth_getBlockByNumber", ["latest", False])["result"]
        answer = asked(*call(head))
        assert "error" in answer, (name, answer)
        assert shape(answer["error"]) == shape(ANSWERS[name]["error"]), name
    for name, call in FAILED.items():
        [block] = asked(*call({}))["result"]
        [expected] = ANSWERS[name]["result"]
        assert block["calls"][0]["error"] == expected["calls"][0]["error"], name


def signed(number: int = 0, **changes: Any) -> str:
    account = Account.create() if number < 0 else Account.from_key(WALLETS[number].private_key)
    plain = {
        "type": 2, "chainId": 1, "nonce": 0, "to": account.address, "value": 0, "data": "0x",
        "gas": 50_000, "maxFeePerGas": 10**11, "maxPriorityFeePerGas": 1,
    }  # fmt: skip
    return "0x" + bytes(account.sign_transaction(plain | changes).raw_transaction).hex()


def answers_to_signed(url: str) -> dict[str, RelayOutcome]:
    """Return what a relay means that hands on this node's answers, by what it was sent."""

    def sent(raw: str) -> RelayOutcome:
        body = {"jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransaction", "params": [raw]}
        reply = loopback.post(url, json=body, timeout=WITHIN_S)
        return classify_response(HttpReply(reply.status_code, reply.content, {})).outcome

    ahead = {"nonce": 10**6}
    first = signed(**ahead)
    assert sent(first) is RelayOutcome.ACCEPTED
    return {
        "already known": sent(first),
        "replacement underpriced": sent(signed(**ahead, value=1)),
        "insufficient": sent(signed(-1)),
        "gas 2^24+1": sent(signed(**ahead, gas=2**24 + 1)),
        "intrinsic": sent(signed(**ahead, gas=9_000)),
        "floor data gas": sent(signed(**ahead, gas=50_000, data="0x" + "11" * 2000)),
        "chain 5": sent(signed(**ahead, chainId=5)),
        "tip>cap": sent(signed(**ahead, maxPriorityFeePerGas=10**12)),
        "oversized": sent(signed(**ahead, gas=2**24, data="0x" + "00" * 140_000)),
        "truncated": sent(first[:-40]),
        "type 5": sent("0x05" + first[4:]),
    }


@pytest.mark.capability("what a relay means by this node's words")
def test_answers_to_signed_transactions_are_understood(town: GethTown) -> None:
    """Among them the floor of calldata, which had no meaning once."""
    answers = answers_to_signed(town.geth.url)
    assert answers == {name: SENT[name] for name in answers}
