"""The JSON-RPC side of the fake servers: what a scripted node says, or does not."""

from collections.abc import Callable
from typing import Any


def rpc_answer(node: Callable[[str, list[Any]], Any], body: Any) -> Any:
    """Return the JSON-RPC answer of a scripted node, to one call or a batch. Raises Swallowed."""
    if isinstance(body, list):
        return [rpc_answer(node, each) for each in body]
    head = {"jsonrpc": "2.0", "id": body["id"]}
    try:
        return {**head, "result": node(body["method"], body["params"])}
    except NodeSays as error:
        return {**head, "error": {"code": error.code, "message": str(error)}}


def methods(body: Any) -> list[str]:
    return [call["method"] for call in (body if isinstance(body, list) else [body])]


class NodeSays(Exception):
    """Raise it in a node to send a JSON-RPC error."""

    def __init__(self, message: str, code: int = 3) -> None:
        super().__init__(message)
        self.code = code


class RawAnswer(Exception):
    """Raise it in a node to send bytes as they are."""

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.body = body


class Swallowed(Exception):
    """Raise it in a node to close the connection without an answer."""
