"""What is told while the node is behind a block that it had shown: it answers, and it is late."""

from collections.abc import Callable

import httpx

from tests import loopback
from tests.spec.api_client import ApiClient
from tests.spec.wire import data
from tests.waiting import WITHIN_S

Call = Callable[[], tuple[int, str]]
"""Gives the status and the message of an answer."""


def _told(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json().get("message", "")


def _swap(desk: ApiClient) -> Call:
    swap = desk.swap(desk.wallet())
    return lambda: _told(desk.submit(swap))


def _balances(desk: ApiClient) -> Call:
    wallet = desk.wallet()
    desk.quote(wallet)
    params = {"userAddress": wallet.address}
    return lambda: _told(desk.api.get("/api/v1/mev/wrap/info", params=params))


def _by_rpc_url(desk: ApiClient) -> Call:
    wallet = desk.wallet()
    access = data(desk.api.post("/api/v1/mev/rpc", json={"wallets": [wallet.address]}))
    call = {"jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransaction"}
    call |= {"params": [desk.wrap(wallet).raw]}

    def told() -> tuple[int, str]:
        answer = loopback.post(access["token"]["url"], json=call, timeout=WITHIN_S).json()
        error = answer.get("error")
        return (503, error["message"]) if error else (200, "")

    return told


def test_a_node_that_is_behind_is_not_said_to_be_silent(desk: ApiClient) -> None:
    told = list[tuple[int, str]]()

    def are_refused() -> bool:
        """Ask once: after a slot, which a busy machine may take, the late node is the chain."""
        calls = [ask(desk) for ask in (_swap, _by_rpc_url, _balances)]
        desk.town.fault("node", "lag:5")
        try:
            told[:] = [call() for call in calls]
        finally:
            desk.town.heal("node")
        return all(status == 503 for status, _ in told)

    with desk.no_blocks():
        desk.until(are_refused)
    desk.until(desk.is_well)
    for _, message in told:
        assert "the Ethereum node is behind" in message, told
        assert "does not answer" not in message, told
