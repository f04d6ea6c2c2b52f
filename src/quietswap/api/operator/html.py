"""HTML of the operator view. Every value is escaped here, in one place.

`element` escapes each text and each attribute that is not Markup already, and only `element` makes
Markup. Characters that a person cannot see, or that turn the direction of text, are shown as �.
"""

import html
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_VOID = frozenset({"br", "input", "link", "meta"})
_LONGEST = 2000
"""Characters of one text. Hostile names and reasons cannot make a page large."""


class Markup(str):
    """HTML that `element` made."""

    __slots__ = ()


Child = str | int | Iterable["Child"] | None
Attribute = str | int | bool | None


def escaped(text: str) -> str:
    """Return text for a page: escaped, of bounded length, without hidden characters."""
    plain = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    visible = "".join("�" if unicodedata.category(c) in _HIDDEN else c for c in plain)
    return html.escape(visible)


def element(tag: str, *children: Child, **attributes: Attribute) -> Markup:
    """Return an element. `class_` and `data_label` stand for `class` and `data-label`.

    An attribute that is None or False is left out, True is one without a value.
    """
    written = "".join(_attribute(name, value) for name, value in attributes.items())
    inside = "".join(map(_child, children))
    return Markup(f"<{tag}{written}>" if tag in _VOID else f"<{tag}{written}>{inside}</{tag}>")


def joined(*children: Child) -> Markup:
    """Return children one after the other."""
    return Markup("".join(map(_child, children)))


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    spelt = name.rstrip("_").replace("_", "-")
    return f" {spelt}" if value is True else f' {spelt}="{escaped(str(value))}"'


def _child(child: Child) -> str:
    match child:
        case None:
            return ""
        case Markup():
            return child
        case str():
            return escaped(child)
        case int():
            return str(child)
        case _:
            return "".join(map(_child, child))


def link(path: str, text: Child) -> Markup:
    """Return a link to a page of the view or, with a scheme, to another site."""
    outside = {"rel": "noreferrer noopener", "target": "_blank"} if "://" in path else {}
    return element("a", text, href=path, **outside)


def moment(at_ms: int | None, otherwise: str = "–") -> Markup:
    """Return a time in Unix ms as UTC text."""
    if at_ms is None:
        return joined(otherwise)
    try:
        at = datetime.fromtimestamp(at_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return joined(str(at_ms))
    return element(
        "time", f"{at:%Y-%m-%d %H:%M:%S}", datetime=at.isoformat(timespec="milliseconds")
    )


def code(text: str) -> Markup:
    """Return an identifier, which may break anywhere."""
    return element("code", text)


def table(header: Iterable[str], rows: Iterable[Iterable[Child]], *, caption: str) -> Markup:
    """Return a table. Narrow screens show a row as a block, with the header before each cell."""
    names = list(header)
    body = [
        element(
            "tr",
            [
                element("td", cell, data_label=name, role="cell")
                for name, cell in zip(names, row, strict=True)
            ],
            role="row",
        )
        for row in rows
    ]
    if not body:
        return element("p", f"{caption}: none.", class_="none")
    heads = [element("th", name, scope="col", role="columnheader") for name in names]
    return element(
        "table",
        element("caption", caption),
        element("thead", element("tr", heads, role="row"), role="rowgroup"),
        element("tbody", body, role="rowgroup"),
        role="table",
    )


def facts(pairs: Iterable[tuple[str, Child]]) -> Markup:
    """Return names with their values."""
    return element(
        "dl", [element("div", element("dt", name), element("dd", value)) for name, value in pairs]
    )
