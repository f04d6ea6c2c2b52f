"""The direct lookup of a route finds what Starlette's router finds, or asks the router."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from quietswap.api.endpoint import DirectRoutes, exact_route

_PATHS = ("/a", "/a/b", "/a/{x}", "/a/b/{y}", "/a/{x}/c", "/d/{path:path}")
_SEGMENTS = st.sampled_from(["", "a", "b", "c", "d", "{x}", "x\n", "\n", "a.b", "..", "é"])
_paths = st.lists(_SEGMENTS, max_size=5).map(lambda parts: "/" + "/".join(parts))


class _App:
    """An ASGI application that stores what it was called with."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.scopes: list[Scope] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(scope)


async def _receive() -> dict[str, Any]:
    raise AssertionError


async def _send(_message: object) -> None:
    raise AssertionError


async def _called(scope: Scope) -> tuple[_App, Scope]:
    """Return the application that DirectRoutes calls, and its scope."""
    apps = {path: _App(path) for path in (*_PATHS, "router")}
    routes = [exact_route(path, apps[path]) for path in _PATHS]
    await DirectRoutes(apps["router"], routes)(scope, _receive, _send)
    (found,) = [app for app in apps.values() if app.scopes]
    return found, found.scopes[0]


def _routed(path: str) -> tuple[str, dict[str, str]] | None:
    """Return path and parameters of the first route that matches, as Starlette's router does."""
    for route in map(_route, sorted(_PATHS, key=lambda one: "}/" in one)):
        match, child = route.matches({"type": "http", "method": "GET", "path": path})
        if match is Match.FULL:
            return route.path, child["path_params"]
    return None


def _route(path: str) -> Route:
    return exact_route(path, _App(path))


@given(_paths)
async def test_a_direct_route_is_the_one_that_the_router_finds(path: str) -> None:
    found, scope = await _called({"type": "http", "method": "GET", "path": path})
    if found.name != "router":
        assert (found.name, scope["path_params"]) == _routed(path)
        assert scope["endpoint"] is found


async def test_literal_paths_and_last_parameters_need_no_router() -> None:
    for path, name in (("/a", "/a"), ("/a/b", "/a/b"), ("/a/1", "/a/{x}"), ("/a/b/1", "/a/b/{y}")):
        found, _ = await _called({"type": "http", "method": "GET", "path": path})
        assert found.name == name


async def test_everything_else_is_for_the_router() -> None:
    for scope in (
        {"type": "http", "method": "GET", "path": "/a/1/c"},
        {"type": "http", "method": "GET", "path": "/d/1"},
        {"type": "http", "method": "GET", "path": "/a/"},
        {"type": "http", "method": "GET", "path": "/p/a", "root_path": "/p"},
        {"type": "websocket", "path": "/a"},
    ):
        found, seen = await _called(scope)
        assert found.name == "router"
        assert "endpoint" not in seen
