"""What docs/configuration.md has from the settings themselves."""

import ast
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from quietswap.rules.vendors import NEED_KEY, VENDORS
from quietswap.service import settings as schema
from quietswap.service.server.settings import choices
from quietswap.service.settings import Section, Settings, SourceConfig


def parts() -> dict[str, str]:
    """Return the part of the page."""
    return {"settings": "".join(_section(Settings, ""))}


def _section(kind: type[Section], prefix: str) -> Iterator[str]:
    rows = []
    inner: list[tuple[type[Section], str]] = []
    for field in msgspec.structs.fields(kind):
        nested = _nested(field.type)
        name = prefix + field.name
        if nested is not None:
            inner.append((nested, f"{name}.NAME." if nested is SourceConfig else f"{name}."))
        else:
            rows.append(_row(name, field, _meanings()[kind.__name__][field.name]))
    if prefix:
        summary = " ".join((kind.__doc__ or "").split())
        yield f"\n## `[{prefix.rstrip('.')}]`\n\n{summary}\n"
    if rows:
        yield "\n| setting | environment | default | meaning |\n|---|---|---|---|\n"
        yield from rows
    if kind is SourceConfig:
        yield from _sources()
    for nested, name in inner:
        yield from _section(nested, name)


def _sources() -> Iterator[str]:
    yield "\n### The sources\n\nIn order of preference, with what each vendor publishes.\n"
    yield "\n| source | vendor | key | limit | keeps of a trade | slippage in bps | as of |\n"
    yield "|---|---|---|---|---|---|---|\n"
    for name, vendor in VENDORS.items():
        least, most = import_module(f"quietswap.service.sources.{name}").Adapter.slippage_bps
        terms, slippage = vendor.terms, f"{least} to {most}"
        cells = (vendor.title, terms.key, terms.limit, terms.keeps, slippage, terms.as_of)
        yield f"| `{name}` | {' | '.join(cells)} |\n"


def _nested(kind: Any) -> type[Section] | None:
    if kind == dict[str, SourceConfig]:
        return SourceConfig
    for part in (kind, *getattr(getattr(kind, "__origin__", kind), "__args__", ())):
        bare = getattr(part, "__origin__", part)
        if isinstance(bare, type) and issubclass(bare, Section):
            return bare
    return None


@cache
def _meanings() -> dict[str, dict[str, str]]:
    """Return the description of each setting by its section: the text below it."""
    words = {"vendors": ", ".join(VENDORS), "need_key": " and ".join(NEED_KEY)}
    sections = ast.parse(Path(schema.__file__).read_text("utf-8")).body
    return {
        section.name: {
            ast.unparse(field.target): " ".join(str(text.value.value).split()).format(**words)
            for field, text in pairwise(section.body)
            if isinstance(field, ast.AnnAssign)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
        }
        for section in sections
        if isinstance(section, ast.ClassDef)
    }


def _row(name: str, field: Any, meaning: str) -> str:
    variable = "QUIETSWAP_" + name.upper().replace(".", "__")
    bounds = _bounds(getattr(field.type, "__metadata__", ())) + _values(field.type)
    return f"| `{name}` | `{variable}` | {_default(field.default)} | {meaning}{bounds} |\n"


def _bounds(metas: Any) -> str:
    words = {"gt": "more than", "ge": "at least", "le": "at most"}
    said = [
        f"{word} {getattr(meta, key):g}"
        for meta in metas
        for key, word in words.items()
        if getattr(meta, key) is not None
    ]
    return f" ({', '.join(said)})" if said else ""


def _values(kind: Any) -> str:
    values = choices(kind)
    return f" One of {', '.join(f'`{value}`' for value in values)}." if values else ""


def _default(value: Any) -> str:
    if value is None or value == ():
        return "-"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"
