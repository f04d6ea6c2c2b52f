"""The documentation page: one HTML file with its style and script, and nothing from elsewhere."""

import base64
import hashlib
from collections.abc import Iterable, Iterator
from html import escape
from importlib import resources
from itertools import groupby
from typing import Any

import msgspec

from quietswap.rules.wire import USUAL
from quietswap.service.server.openapi import expanded

_FILES = resources.files("quietswap.service.server")
_STYLE = _FILES.joinpath("docs.css").read_text("utf-8")
_SCRIPT = _FILES.joinpath("docs.js").read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


POLICY = (
    f"default-src 'none'; script-src {_hash(_SCRIPT)}; style-src {_hash(_STYLE)}; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""The page's content security policy: its own script and style, and requests to its own origin."""


def page(document: dict[str, Any]) -> str:
    document = expanded(document, document["components"]["schemas"])
    info = document["info"]
    title = f"{info['title']} {info['version']}"
    operations = [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    index = "".join(
        f'<div class="group"><h2>{escape(tag)}</h2><ul>{"".join(map(_link, group))}</ul></div>'
        for tag, group in groupby((o for _, _, o in operations), lambda o: o["tags"][0])
    )
    about = "".join(f"<p>{_prose(part)}</p>" for part in info["description"].split("\n\n"))
    sections = "".join(_section(path, method, o) for path, method, o in operations)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>{_STYLE}</style><header><h1>{escape(title)}</h1>{about}"
        "<p>Send your key in the <code>X-API-Key</code> header. The same description for programs: "
        '<a href="/openapi.json">openapi.json</a>.</p></header>'
        '<nav aria-label="Operations"><label>Search operations, fields and error codes'
        '<input id="search" type="search" autocomplete="off"></label><p id="found" role="status">'
        f'</p><details id="list"><summary>All operations</summary>{index}</details></nav>'
        f"<main>{sections}</main><script>{_SCRIPT}</script></html>"
    )


def _link(operation: dict[str, Any]) -> str:
    return f'<li><a href="#{operation["operationId"]}">{escape(operation["summary"])}</a></li>'


def _section(path: str, method: str, operation: dict[str, Any]) -> str:
    parts = [
        f'<section id="{operation["operationId"]}">',
        f"<header><h2><b>{method.upper()}</b> <code>{escape(path)}</code></h2>",
        f"<p>{escape(operation['summary'])}.</p></header>",
        _try(path, method, operation),
    ]
    if "parameters" in operation:
        listed = [
            (p["name"], f"{p['in']}, {kind_of(p['schema'])}", p["required"], p["description"])
            for p in operation["parameters"]
        ]
        parts.append(_block("Parameters", _list(listed)))
    if "requestBody" in operation:
        content = operation["requestBody"]["content"]["application/json"]
        shown = _list(rows(content["schema"])) + _example("Example", content["example"])
        parts.append(_block("Body", shown))
    for title, schema, example in answers_of(operation):
        parts.append(_block(title, _list(rows(schema)) + _example("Example", example)))
    parts.append(_block("Errors", "".join(_errors(operation["responses"]))))
    return "".join(parts) + "</section>"


def _block(title: str, content: str) -> str:
    return f'<div class="block"><h3>{title}</h3>{content}</div>'


def _try(path: str, method: str, operation: dict[str, Any]) -> str:
    """Return the form that sends a request, with the examples of what is required."""
    key = '<input name="X-API-Key" data-in="header" type="password" autocomplete="off" required>'
    fields = [f"<label>Your API key (kept in this page until you close it){key}</label>"]
    fields.extend(map(_field, operation.get("parameters", ())))
    if "requestBody" in operation:
        body = operation["requestBody"]["content"]["application/json"]["example"]
        text = f'<textarea name="body" rows="8" spellcheck="false">{_json(body)}</textarea>'
        fields.append(f"<label>Body{text}</label>")
    real = "" if method == "get" else "<p>This is a real request, not a test.</p>"
    send = '<button>Send</button> <button type="button" hidden>Stop</button>'
    return (
        f'<details class="try"><summary>Try it</summary><form data-method="{method.upper()}"'
        f' data-path="{escape(path)}" autocomplete="off">{"".join(fields)}{real}<div>{send}</div>'
        '<p role="status"></p><pre hidden></pre></form></details>'
    )


def _field(parameter: dict[str, Any]) -> str:
    name, is_required = parameter["name"], parameter["required"]
    attributes = f'name="{name}" data-in="{parameter["in"]}"' + " required" * is_required
    example = escape(str(parameter["example"]))
    if "enum" in parameter["schema"]:
        values = [value for value in parameter["schema"]["enum"] if value is not None]
        options = "".join(f"<option>{escape(str(value))}" for value in ("", *values))
        control = f"<select {attributes}>{options}</select>"
    else:
        is_filled = is_required or USUAL.keys() <= parameter["schema"].keys()
        shown = "value" if is_filled else "placeholder"
        control = f'<input {attributes} {shown}="{example}" spellcheck="false">'
    return f"<label>{name}{'' if is_required else ' (optional)'}{control}</label>"


def answers_of(operation: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Yield title, schema and example of a successful answer; of a stream, those of its events."""
    contents = operation["responses"]["200"]["content"]
    content = contents.get("application/json") or contents["text/event-stream"]
    if "x-data" not in content:
        yield "Answer", content["schema"], content["example"]
        return
    kinds = content["x-data"].get("oneOf", [content["x-data"]])
    for schema, event in zip(kinds, content["example"].strip().split("\n\n"), strict=True):
        fields = dict(line.split(": ", 1) for line in event.split("\n"))
        title = f"Data of the event {fields['event']}" if len(kinds) > 1 else "Data of each event"
        yield title, schema, msgspec.json.decode(fields["data"])


def rows(schema: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str, bool, str]]:
    """Yield name, type, required flag and description of each member of an object.

    The schema has no references. Where it describes several objects, a member that they share is
    yielded once.
    """
    seen: set[tuple[str, str, bool, str]] = set()
    for one in _kinds(schema):
        for name, member in one.get("properties", {}).items():
            row = prefix + name, kind_of(member), name in one["required"], member["description"]
            if row not in seen:
                seen.add(row)
                yield row
            inner = member.get("items", member)
            yield from rows(inner, f"{prefix}{name}{'[]' if inner is not member else ''}.")


def _kinds(schema: dict[str, Any]) -> list[dict[str, Any]]:
    kinds: list[dict[str, Any]] = schema.get("oneOf") or schema.get("anyOf") or [schema]
    return kinds


def kind_of(schema: dict[str, Any]) -> str:
    """Return what values a schema takes, in words."""
    if "const" in schema:
        return f"always {msgspec.json.encode(schema['const']).decode()}"
    if "enum" in schema:
        return "one of " + ", ".join(str(v) for v in schema["enum"] if v is not None)
    if len(_kinds(schema)) > 1:
        return " or ".join(dict.fromkeys(kind_of(one) for one in _kinds(schema)))
    kind = schema.get("type", "any JSON")
    if kind == "array":
        return f"array of {kind_of(schema['items'])}" if schema["items"] else "array"
    text = " or ".join(kind) if isinstance(kind, list) else str(kind)
    if "minimum" in schema:
        text += f" {schema['minimum']} to {schema['maximum']}"
    return text + (f", default {schema['default']}" if "default" in schema else "")


def _list(found: Iterable[tuple[str, str, bool, str]]) -> str:
    lines = "".join(
        f"<div data-part><dt><code>{escape(name)}</code> <span>{escape(kind)}"
        f"{'' if required else ', optional'}</span></dt><dd>{_prose(words)}</dd></div>"
        for name, kind, required, words in found
    )
    return f"<dl>{lines}</dl>"


def _errors(responses: dict[str, Any]) -> Iterator[str]:
    for status, response in responses.items():
        if status != "200":
            for code, example in response["content"]["application/json"]["examples"].items():
                title = f"{status} {code}: {example['summary']}"
                yield f"<div data-part>{_example(title, example['value'])}</div>"


def _example(title: str, value: Any) -> str:
    return f"<details><summary>{escape(title)}</summary><pre>{_json(value)}</pre></details>"


def _json(value: Any) -> str:
    return escape(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def _prose(text: str) -> str:
    """Return text with its `code` marked up."""
    pieces = escape(text).split("`")
    return "".join(f"<code>{p}</code>" if n % 2 else p for n, p in enumerate(pieces))
