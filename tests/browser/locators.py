"""Ways to name what is on a page."""

Locator = list[str | None]


def css(selector: str) -> Locator:
    """Return the elements of a CSS selector."""
    return ["css", selector]


def label(text: str) -> Locator:
    """Return the control with this label."""
    return ["label", text]


def role(kind: str, name: str | None = None) -> Locator:
    """Return the control with this role, and this exact accessible name.

    A name that begins with ^ is a regular expression.
    """
    return ["role", kind, name]
