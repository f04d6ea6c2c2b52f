"""The tests run on the event loop of the service."""

import ast
import asyncio
import inspect
import socket

import pytest
import uvloop

from quietswap.service.server import process as server
from tests.conftest import EndingLoop


async def test_a_coroutine_is_tested_on_the_loop_of_the_workers() -> None:
    assert isinstance(asyncio.get_running_loop(), uvloop.Loop)
    nodes = ast.walk(ast.parse(inspect.getsource(server)))
    words = [word for node in nodes if isinstance(node, ast.Call) for word in node.keywords]
    assert [ast.unparse(w.value) for w in words if w.arg == "loop"] == ["Loops.uvloop"]


def test_a_test_that_leaves_a_connection_open_fails_and_ends() -> None:
    loop = EndingLoop()
    ours, theirs = socket.socketpair()
    with theirs:
        loop.run_until_complete(loop.create_connection(asyncio.Protocol, sock=ours))
        with pytest.raises(ResourceWarning, match="unclosed"):
            loop.close()
    assert loop.is_closed()
    assert ours.fileno() == -1
