"""The routes of the operator view: everything at and below /operator."""

import re

from starlette.routing import BaseRoute, Route

from quietswap.api.operator.endpoint import OperatorEndpoint
from quietswap.api.operator.request import PATH
from quietswap.api.operator.stream import OperatorStream
from quietswap.api.operator.use_cases import OperatorOptions, OperatorUseCases
from quietswap.api.operator.views import Views
from quietswap.api.options import ApiOptions
from quietswap.api.request_parsing.body_memory import BodyMemory
from quietswap.ports.clock import Clock


def operator_routes(
    use_cases: OperatorUseCases, options: OperatorOptions, api_options: ApiOptions, clock: Clock
) -> list[BaseRoute]:
    """Return the routes. One endpoint serves them: each path has the same checks first."""
    endpoint = OperatorEndpoint(
        use_cases,
        options,
        api_options,
        BodyMemory(api_options.bodies_bytes, api_options.key_bodies_bytes),
        OperatorStream(use_cases.changes, use_cases.is_stopping, clock),
        Views(use_cases, options, clock),
        clock,
    )
    return [_route(PATH, endpoint), _route(f"{PATH}/{{path:path}}", endpoint)]


def _route(path: str, endpoint: OperatorEndpoint) -> Route:
    """Return a route whose pattern has no loophole for line breaks."""
    route = Route(path, endpoint)
    pattern = route.path_regex.pattern.removesuffix("$") + r"\Z"
    route.path_regex = re.compile(pattern, re.DOTALL)
    return route
