"""A node that answers JSON-RPC batches from a table, and misbehaves on demand."""

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from tests.fake_web import Answer, FakeWeb, Request, serving


class Refusal(Exception):
    """Raise it in an answer to send a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, "data": data}


class FakeNode:
    """`answers` maps a method to a value or to a function of its parameters.

    `mangle` gets the list of replies and returns another body.
    """

    def __init__(self) -> None:
        self.web: FakeWeb
        self.height = 100
        self.chain_id = 1
        self.answers: dict[str, Any] = {
            "eth_chainId": lambda: hex(self.chain_id),
            "eth_blockNumber": lambda: hex(self.height),
        }
        self.mangle: Callable[[list[dict[str, Any]]], Answer | bytes] | None = None

    @property
    def url(self) -> str:
        return self.web.url

    @property
    def batches(self) -> list[list[str]]:
        """The methods of every batch it got."""
        return [
            [call["method"] for call in msgspec.json.decode(request.body)]
            for request in self.web.requests
        ]

    @property
    def served(self) -> list[str]:
        """The methods it was asked, but for the questions about its own health."""
        health = ("eth_chainId", "eth_blockNumber")
        return [method for batch in self.batches for method in batch if method not in health]

    def respond(self, request: Request) -> Answer:
        replies = [self._reply(call) for call in msgspec.json.decode(request.body)]
        if self.mangle is None:
            return Answer(msgspec.json.encode(replies))
        mangled = self.mangle(replies)
        return Answer(mangled) if isinstance(mangled, bytes) else mangled

    def _reply(self, call: dict[str, Any]) -> dict[str, Any]:
        reply = {"jsonrpc": "2.0", "id": call["id"]}
        try:
            if call["method"] not in self.answers:
                raise Refusal(-32601, "the method does not exist/is not available")
            answer = self.answers[call["method"]]
            return reply | {"result": answer(*call["params"]) if callable(answer) else answer}
        except Refusal as refusal:
            return reply | {"error": refusal.error}


@contextlib.asynccontextmanager
async def fake_node(**answers: Any) -> AsyncIterator[FakeNode]:
    """Run a node; keyword arguments are its answers by method."""
    node = FakeNode()
    node.answers |= answers
    async with serving(node.respond) as web:
        node.web = web
        yield node
