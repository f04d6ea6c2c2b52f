"""The frame of every page of the operator view, and the headers of its answers."""

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import Response

from quietswap.api.operator.html import Child, Markup, element, joined
from quietswap.api.operator.request import PATH, PageRequest

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
