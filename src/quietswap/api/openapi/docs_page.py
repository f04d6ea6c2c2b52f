"""The documentation page: one HTML file without a script, font or picture from anywhere else."""

from collections.abc import Iterator
from html import escape
from typing import Any

import msgspec

from quietswap.api.openapi.schemas import expanded

_STYLE = """
:root{color-scheme:light dark;--line:#8884;--soft:#8881;--accent:#3a6ea5}
body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem}
code,pre{font-family:ui-monospace,monospace;font-size:.88em}
pre{background:var(--soft);padding:.8rem;overflow:auto;border-radius:4px}
table{border-collapse:collapse;width:100%;margin:.5rem 0}
td,th{border-top:1px solid var(--line);padding:.3rem .6rem .3rem 0;text-align:left;
vertical-align:top}
section{border-top:2px solid var(--line);margin-top:2.5rem}
h2 b{background:var(--accent);color:#fff;padding:.1rem .5rem;border-radius:4px;font-size:.75em}
summary{cursor:pointer} nav li{list-style:none} a{color:var(--accent)}
"""


def page(document: dict[str, Any]) -> str:
    """Return the page of an OpenAPI document."""
    document = expanded(document, document["components"]["schemas"])
    info = document["info"]
    title = f"{info['title']} {info['version']}"
    operations = [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    index = "".join(
        f'<li><a href="#{o["operationId"]}">{escape(o["summary"])}</a></li>'
        for _, _, o in operations
    )
    about = "".join(f"<p>{_prose(part)}</p>" for part in info["description"].split("\n\n"))
    sections = "".join(_section(path, method, o) for path, method, o in operations)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>{_STYLE}</style><h1>{escape(title)}</h1>{about}"
        "<p>Send your key in the <code>X-API-Key</code> header. The same description for programs: "
        '<a href="/openapi.json">openapi.json</a>.</p>'
        f"<nav><ul>{index}</ul></nav>{sections}</html>"
    )


def _section(path: str, method: str, operation: dict[str, Any]) -> str:
    parts = [
        f'<section id="{operation["operationId"]}">',
        f"<h2><b>{method.upper()}</b> <code>{escape(path)}</code></h2>",
        f"<p>{escape(operation['summary'])}.</p>",
    ]
    if "parameters" in operation:
        listed = [
            (p["name"], f"{p['in']}, {kind_of(p['schema'])}", p["required"], p["description"])
            for p in operation["parameters"]
        ]
        parts.append("<h3>Parameters</h3>" + _table(listed))
    if "requestBody" in operation:
        content = operation["requestBody"]["content"]["application/json"]
        parts.append("<h3>Body</h3>" + _table(rows(content["schema"])))
        parts.append(_example("Example", content["example"]))
    for title, schema, example in answers_of(operation):
        parts.append(f"<h3>{title}</h3>" + _table(rows(schema)))
        parts.append(_example("Example", example))
    parts.append("<h3>Errors</h3>" + "".join(_errors(operation["responses"])))
    return "".join(parts) + "</section>"


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


def _table(found: Any) -> str:
    lines = "".join(
        f"<tr><td><code>{escape(name)}</code>{'' if required else ' (optional)'}</td>"
        f"<td>{escape(kind)}</td><td>{_prose(words)}</td></tr>"
        for name, kind, required, words in found
    )
    return f"<table>{lines}</table>"


def _errors(responses: dict[str, Any]) -> Iterator[str]:
    for status, response in responses.items():
        if status == "200":
            continue
        for code, example in response["content"]["application/json"]["examples"].items():
            yield _example(f"{status} {code}: {example['summary']}", example["value"])


def _example(title: str, value: Any) -> str:
    shown = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return f"<details><summary>{escape(title)}</summary><pre>{escape(shown)}</pre></details>"


def _prose(text: str) -> str:
    """Return text with its `code` marked up."""
    pieces = escape(text).split("`")
    return "".join(f"<code>{p}</code>" if n % 2 else p for n, p in enumerate(pieces))
