"""Hold answers against the OpenAPI document, with no member beyond what it describes."""

import re
from functools import cache
from typing import Any

import httpx
from jsonschema import Draft202012Validator, FormatChecker

from quietswap.api.error_schemas import error_schema
from quietswap.api.openapi import document

DOCUMENT = document()
_PATHS = {path: re.compile(re.sub(r"{\w+}", "[^/]+", path)) for path in DOCUMENT["paths"]}


def closed(schema: Any) -> Any:
    """Return a schema whose described objects have no other members."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {name: closed(value) for name, value in schema.items()}
    if "properties" in copy and copy.get("type") == "object":
        copy["additionalProperties"] = False
    return copy


_COMPONENTS = {"components": closed(DOCUMENT["components"])}


@cache
def _validator(path: str, method: str, status: str) -> Draft202012Validator:
    responses = DOCUMENT["paths"][path][method]["responses"]
    assert status in responses, f"{method} {path} answered {status}, which is not documented"
    schema = responses[status]["content"]["application/json"]["schema"]
    return Draft202012Validator(closed(schema) | _COMPONENTS, format_checker=FormatChecker())


@cache
def _plain(code: str) -> Draft202012Validator:
    return Draft202012Validator(closed(error_schema(code)))


def check(answer: httpx.Response) -> None:
    """Fail unless the answer is one the document describes for its endpoint."""
    method, path = answer.request.method.lower(), answer.request.url.path
    if method == "head" or not path.startswith("/api/"):
        return
    template = next((t for t, shape in _PATHS.items() if shape.fullmatch(path)), None)
    body = answer.json()
    if template is None or method not in DOCUMENT["paths"][template]:
        _plain(body["error"]).validate(body)
        return
    status = str(answer.status_code)
    _validator(template, method, status).validate(body)
    for name, header in DOCUMENT["paths"][template][method]["responses"][status]["headers"].items():
        needed = DOCUMENT["components"]["headers"][header["$ref"].rpartition("/")[2]]
        assert name in answer.headers or not needed.get("required"), name
