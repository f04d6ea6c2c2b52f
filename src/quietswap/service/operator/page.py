"""HTML of the operator view: its templates, the values in words, and the headers of its answers."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
from markupsafe import Markup
from starlette.responses import Response

from quietswap import __version__
from quietswap.rules.amounts import difference_bps, format_ether, format_units
from quietswap.rules.foreign_text import HIDDEN
from quietswap.rules.operator.operators import OperatorSession
from quietswap.rules.orders.new_order import action_of, unwrapped_of, with_ether
from quietswap.rules.tokens.token import NATIVE
from quietswap.rules.tokens.token_list import TokenCatalogue
from quietswap.service.operator.value_text import age, cents, listed, moment, share, spread

if TYPE_CHECKING:
    import jinja2

PATH = "/operator"
HOURS = (6, 24, 168)
"""Lengths of time that can be chosen."""
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
_VIEWS = ("Overview", "Orders", "Sources", "Relay", "Node", "Clients", "Health", "Audit")
_LONGEST = 2000
"""Characters of one text. Hostile names and reasons cannot make a page large."""
_LAYOUT = re.compile(r"\n\s*")
"""Line ends and indents of the templates: a value on a page contains no line end."""


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


def _shown(value: object) -> object:
    """Return a value as a page shows it, before it is escaped.

    None is nothing. A text has a bounded length, and � for each character that a person cannot see
    or that turns the direction of text.
    """
    if not isinstance(value, str) or isinstance(value, Markup):
        return "" if value is None else value
    plain = value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"
    if not plain.isprintable():  # quick, and true only without a hidden character
        plain = "".join("�" if unicodedata.category(c) in HIDDEN else c for c in plain)
    return plain


@cache
def _templates() -> "jinja2.Environment":
    """Return the templates. Each value in them goes through `_shown` and is escaped."""
    import jinja2  # here: a tenth of a start, for those who open the view

    env = jinja2.Environment(
        loader=jinja2.PackageLoader("quietswap.service.operator"),
        autoescape=True,
        finalize=_shown,
        undefined=jinja2.StrictUndefined,
        auto_reload=False,
    )
    env.globals |= {one.__name__: one for one in (share, spread, age, listed, cents, moment)}
    env.globals |= {one.__name__: one for one in (difference_bps, format_ether, format_units)}
    env.globals |= {"VIEWS": _VIEWS, "HOURS": HOURS, "NATIVE": NATIVE, "VERSION": __version__}
    env.globals |= {one.__name__: one for one in (action_of, unwrapped_of, with_ether)}
    env.globals["json"] = lambda value: msgspec.json.encode(value).decode()
    env.globals |= vars(env.get_template("macros.html").module)
    return env


def render(template: str, **values: Any) -> Markup:
    """Return a template with these values."""
    html = _templates().get_template(template).render({"request": None, **values})
    return Markup(_LAYOUT.sub("", html))  # noqa: S704  the templates escape each value


def page(template: str, status: int = 200, **values: Any) -> Response:
    """Return a page. One for an operator who is logged in has the `request` among its values."""
    return Response(
        render(template, **values), status, SECURITY_HEADERS, "text/html; charset=utf-8"
    )


def redirect(path: str) -> Response:
    """Return 303 to a page of the view."""
    return Response(status_code=303, headers={**SECURITY_HEADERS, "location": PATH + path})
