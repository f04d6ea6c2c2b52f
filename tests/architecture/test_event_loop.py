"""The tests run on the event loop of the service."""

import ast
import asyncio
import inspect

import uvloop

from quietswap.cli import server


async def test_a_coroutine_is_tested_on_the_loop_of_the_workers() -> None:
    assert isinstance(asyncio.get_running_loop(), uvloop.Loop)
    nodes = ast.walk(ast.parse(inspect.getsource(server)))
    words = [word for node in nodes if isinstance(node, ast.Call) for word in node.keywords]
    assert [ast.unparse(w.value) for w in words if w.arg == "loop"] == ["Loops.uvloop"]
