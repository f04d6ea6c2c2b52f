"""A lookup of the API's routes by path, in front of Starlette's router."""

from collections.abc import Iterable

from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send


class DirectRoutes:
    """Calls the route of a request without a search; `router` serves every other request.

    For paths that are literal, or end in the only parameter. The answers are the router's; the
    search takes 11 % of a status request (docs/decisions/0026-starlette-edge.md).
    """

    def __init__(self, router: ASGIApp, routes: Iterable[Route]) -> None:
        self._router = router
        self._literal: dict[str, Route] = {}
        self._by_folder: dict[str, tuple[Route, str]] = {}
        for route in routes:
            folder, _, last = route.path.rpartition("/")
            if "{" not in route.path:
                self._literal[route.path] = route
            elif "{" not in folder and last == f"{{{last[1:-1]}}}" and ":" not in last:
                self._by_folder[folder] = route, last[1:-1]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        if scope["type"] != "http" or scope.get("root_path"):
            await self._router(scope, receive, send)
            return
        path = scope["path"]
        route, params = self._literal.get(path), {}
        if route is None:
            folder, _, last = path.rpartition("/")
            found = self._by_folder.get(folder) if last else None
            if found is None:
                await self._router(scope, receive, send)
                return
            route, name = found
            params = {name: last}
        scope["endpoint"], scope["path_params"] = route.endpoint, params
        await route.app(scope, receive, send)
