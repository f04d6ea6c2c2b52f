"""The frame of every page of the operator view, and the headers of its answers."""

import html
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from starlette.responses import Response

from quietswap.operator.operators import OperatorSession
from quietswap.orders.statistics import Percentiles
from quietswap.tokens.token_list import TokenCatalogue

# HTML of the operator view. Every value is escaped here, in one place.
#
# `element` escapes each text and each attribute that is not Markup already, and only `element`
# makes Markup. Characters that a person cannot see, or that turn the direction of text, are shown
# as �.


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
    if not plain.isprintable():  # quick, and true only without a hidden character
        plain = "".join("�" if unicodedata.category(c) in _HIDDEN else c for c in plain)
    return html.escape(plain)


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


def moment(at_ms: int | None, otherwise: str = "–", form: str = "%Y-%m-%d %H:%M:%S") -> Markup:
    """Return a time in Unix ms as UTC text, in a form of strftime."""
    if at_ms is None:
        return joined(otherwise)
    try:
        at = datetime.fromtimestamp(at_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return joined(str(at_ms))
    return element("time", f"{at:{form}}", datetime=at.isoformat(timespec="milliseconds"))


def code(text: str) -> Markup:
    """Return an identifier, which may break anywhere."""
    return element("code", text)


def table(
    header: Iterable[str], rows: Iterable[Iterable[Child]], *, caption: str, stacks: bool = True
) -> Markup:
    """Return a table. Narrow screens show a row as a block, with the header before each cell.

    Without `stacks` it stays a table there: for few and short columns.
    """
    names = list(header)

    def part(tag: str, *children: Child, role: str, **attributes: Attribute) -> Markup:
        # as blocks, the parts of a table lose their meaning unless it is written
        return element(tag, *children, role=role if stacks else None, **attributes)

    body = [
        part(
            "tr",
            [
                part("td", cell, role="cell", data_label=name if stacks else None)
                for name, cell in zip(names, row, strict=True)
            ],
            role="row",
        )
        for row in rows
    ]
    if not body:
        return element("p", f"{caption}: none.", class_="none")
    heads = [part("th", name, role="columnheader", scope="col") for name in names]
    return part(
        "table",
        element("caption", caption),
        part("thead", part("tr", heads, role="row"), role="rowgroup"),
        part("tbody", body, role="rowgroup"),
        role="table",
        class_="stacks" if stacks else None,
    )


def facts(pairs: Iterable[tuple[str, Child]]) -> Markup:
    """Return names with their values."""
    return element(
        "dl", [element("div", element("dt", name), element("dd", value)) for name, value in pairs]
    )


# A request of the operator view, as its pages know it.


PATH = "/operator"


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What a page needs of a request. `form_token` is the one that its forms hold."""

    path: str
    query: Mapping[str, str]
    session: OperatorSession
    form_token: str
    form: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_text(self) -> bool:
        """Whether path, query and form can be looked for: PostgreSQL refuses U+0000 in a text."""
        texts = (self.path, *self.query.values(), *self.form.values())
        return not any("\0" in text for text in texts)

    def form_field(self) -> Markup:
        """Return the hidden field that each form needs."""
        return element("input", type="hidden", name="token", value=self.form_token)


_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "content-security-policy": _POLICY,
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}
"""`no-referrer` would let browsers send `Origin: null` with forms, which are compared with it."""
VIEWS = (
    ("", "Overview"),
    ("/orders", "Orders"),
    ("/sources", "Sources"),
    ("/relay", "Relay"),
    ("/node", "Node"),
    ("/clients", "Clients"),
    ("/health", "Health"),
    ("/audit", "Audit"),
)


@dataclass(frozen=True, slots=True)
class Page:
    """The title and the content of a page. `above` is not replaced when the page refreshes."""

    title: str
    content: Child
    above: Child = None
    status: int = 200
    is_live: bool = True


def rendered(page: Page, request: PageRequest) -> Response:
    """Return a page for an operator who is logged in."""
    at = f"/{request.path.split('/')[1]}" if request.path else ""
    views = [
        element(
            "li",
            element("a", name, href=PATH + path, aria_current="page" if path == at else None),
        )
        for path, name in VIEWS
    ]
    head = element(
        "header",
        element("p", "quietswap operator", class_="brand"),
        element("nav", element("ul", views), aria_label="Views"),
        element(
            "form",
            request.form_field(),
            element("span", request.session.operator.name),
            element("button", "Log out"),
            method="post",
            action=f"{PATH}/logout",
        ),
    )
    live = element("div", page.content, id="live", data_live="yes" if page.is_live else "no")
    status = element("p", role="status", id="state")
    return _answer(
        page.title, joined(head, _main(page.title, page.above, live, status)), page.status
    )


def bare(title: str, content: Child, status: int = 200) -> Response:
    """Return a page without navigation: login and errors."""
    return _answer(title, _main(title, content), status)


def redirect(path: str) -> Response:
    """Return 303 to a page of the view."""
    return Response(status_code=303, headers={**SECURITY_HEADERS, "location": PATH + path})


def _main(title: str, *content: Child) -> Markup:
    return element("main", element("h1", title), content, id="main")


def _answer(title: str, body: Markup, status: int) -> Response:
    document = element(
        "html",
        element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("title", f"{title} · quietswap operator"),
            element("link", rel="stylesheet", href=f"{PATH}/assets/operator.css"),
            element("script", src=f"{PATH}/assets/operator.js", defer=True),
        ),
        element("body", element("a", "Skip to content", href="#main", class_="skip"), body),
        lang="en",
    )
    return Response(
        f"<!doctype html>\n{document}", status, SECURITY_HEADERS, "text/html; charset=utf-8"
    )


def periods(path: str, hours: int, choices: Sequence[int]) -> Markup:
    """Return links to other lengths of time."""
    names = {hours: f"{hours} hours" if hours < 48 else f"{hours // 24} days" for hours in choices}
    links = [
        element(
            "li",
            element(
                "a",
                name,
                href=f"{PATH}{path}?hours={one}",
                aria_current="true" if one == hours else None,
            ),
        )
        for one, name in names.items()
    ]
    return element("nav", element("ul", links), aria_label="Length of time", class_="periods")


# Values of the view in words, the same on every page.


_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400
_GOOD = frozenset({"ok", "confirmed", "live", "closed", "answered"})
_BAD = frozenset({"failed", "revoked", "open", "down"})


def share(part: int, whole: int) -> str:
    """Return a share in percent; a dash of nothing. 100 % is all of it, and 0 % none."""
    if not whole:
        return "–"
    percent = 100 * part / whole
    if 0 < part < whole:
        percent = min(max(percent, 0.1), 99.9)
    return f"{percent:.1f} %" if part not in (0, whole) else f"{percent:.0f} %"


def spread(found: Percentiles | None, unit: str) -> str:
    """Return median, 90th and 99th percentile."""
    if found is None:
        return "–"
    return f"{found.p50} / {found.p90} / {found.p99} {unit}"


def age(ms: int) -> str:
    """Return a span of time in its largest unit, rounded down."""
    seconds = max(ms, 0) // 1000
    for unit, length in (("d", _DAY_S), ("h", _HOUR_S), ("min", _MINUTE_S)):
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def state(word: str) -> Markup:
    """Return a word of state in its colour. The word itself says it, too."""
    kind = "good" if word in _GOOD else "bad" if word in _BAD else "quiet"
    return element("span", word, class_=kind)


def listed(counts: Sequence[tuple[str, int]]) -> Child:
    """Return names with their counts, the greatest first."""
    ordered = sorted(counts, key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in ordered) or "–"


def cents(amount: int | None) -> str:
    """Return USD cents as an amount."""
    return "–" if amount is None else f"{amount // 100:,}.{amount % 100:02} USD"


@dataclass(frozen=True, slots=True)
class OperatorOptions:
    """`session_s` seconds of a session; `secure`: browsers reach the view over TLS.

    `logins_per_minute`: wrong secrets of one client address; a right one is always accepted.

    `tokens` names tokens and their decimals, for amounts that a person can read.
    """

    sources: tuple[str, ...]
    explorer_url: str
    session_s: int
    logins_per_minute: int
    secure: bool
    tokens: TokenCatalogue
